"""The waiting runs of the caller's organisation, read from the index of the fair queue."""

from collections.abc import Mapping, Sequence

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.chassis.mongo import Document, Mongo
from services.executor.model.claim_order import LAST_RANK
from services.executor.model.runs import Run
from services.executor.ports.executions import PageRequest
from services.executor.storage.fair_queue import IN_ORDER, queue_name
from services.executor.storage.records import run_of
from services.executor.storage.schema import RUNS


class MongoWaitingRuns:
    """The port `WaitingRuns` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def counts(self) -> Mapping[tuple[Platform, int], int]:
        queues = _own_queues()
        by_queue = {"$group": {"_id": "$queue", "runs": {"$sum": 1}}}
        found = await self._mongo.aggregate(RUNS, [{"$match": _in(queues)}, by_queue])
        return {queues[document["_id"]]: document["runs"] for document in found}

    async def page(self, page: PageRequest) -> Sequence[Run]:
        waiting = self._mongo.collection(RUNS).find(_in(_own_queues())).sort(list(IN_ORDER.items()))
        documents = await waiting.skip((page.number - 1) * page.size).limit(page.size).to_list(None)
        return [run_of(document) for document in documents]


def _own_queues() -> Mapping[str, tuple[Platform, int]]:
    """The names of all queues that the caller's organisation can have, with their platforms and ranks."""
    org_id = current().org_id
    return {queue_name(p, rank, org_id): (p, rank) for p in Platform for rank in range(LAST_RANK + 1)}


def _in(queues: Mapping[str, object]) -> Document:
    return {"queue": {"$in": list(queues)}}
