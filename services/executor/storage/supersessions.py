"""Cancels executions that a newer one of the same lane supersedes.

The newer execution is stored as pending, then older ones are cancelled, then it is marked as done; after a crash in
between, a sweep finishes the work. Which execution survives depends only on the order of (created_at, id), so the work
is idempotent: of two concurrent starts each looks after it was stored, so the later look sees both.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta

from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.mongo import Document
from services.executor.model.executions import CancelPrevious, Execution, Lane, lane_of
from services.executor.storage.records import OPEN_STATUSES, execution_of
from services.executor.storage.schema import EXECUTIONS
from services.executor.storage.transactions import ExecutionTransactions

# How long the process that stored an execution has to cancel older ones itself.
START_GRACE = timedelta(seconds=5)
_NEWEST_FIRST = [("created_at", -1), ("_id", -1)]
_CONCURRENCY = 16


class MongoSupersessions:
    """The port `Supersessions` on MongoDB."""

    def __init__(self, transactions: ExecutionTransactions) -> None:
        self._transactions = transactions
        self._executions = transactions.mongo.collection(EXECUTIONS)

    async def pending(self, limit: int) -> list[Execution]:
        before = await self._transactions.now() - START_GRACE
        query = {"cancel_previous": CancelPrevious.PENDING.value, "created_at": {"$lt": before}}
        documents = await self._executions.find(query).sort("created_at", 1).limit(limit).to_list(None)
        return [execution_of(document) for document in documents]

    async def supersede(self, execution: Execution) -> None:
        lane = lane_of(execution)
        newest = await self._newest(lane) if lane else None
        if lane is not None and newest is not None:
            await self._cancel(await self._earlier(lane, newest), newest.id)
        pending = {"_id": execution.id, "cancel_previous": CancelPrevious.PENDING.value}
        await self._executions.update_one(pending, {"$set": {"cancel_previous": CancelPrevious.DONE.value}})

    async def _newest(self, lane: Lane) -> Execution | None:
        """The newest execution with cancel_previous."""
        query = {**_in_lane(lane), "cancel_previous": {"$exists": True}}
        document = await self._executions.find_one(query, sort=_NEWEST_FIRST)
        return None if document is None else execution_of(document)

    async def _earlier(self, lane: Lane, newest: Execution) -> list[str]:
        older = {
            "$or": [
                {"created_at": {"$lt": newest.created_at}},
                {"created_at": newest.created_at, "_id": {"$lt": newest.id}},
            ]
        }
        query = {**_in_lane(lane), **older, "status": {"$in": OPEN_STATUSES}, "cancel_requested_at": None}
        return [document["_id"] for document in await self._executions.find(query, {"_id": 1}).to_list(None)]

    async def _cancel(self, execution_ids: Sequence[str], superseded_by: str) -> None:
        for first in range(0, len(execution_ids), _CONCURRENCY):
            some = execution_ids[first : first + _CONCURRENCY]
            await asyncio.gather(*(self._cancel_one(id_, superseded_by) for id_ in some))

    async def _cancel_one(self, execution_id: str, superseded_by: str) -> None:
        with suppress(FailedPrecondition, NotFound):  # it ended meanwhile
            await self._transactions.cancel(execution_id, superseded_by)


def _subject(lane: Lane) -> Document:
    if lane.workflow_id is not None:
        return {"workflow_id": lane.workflow_id}
    return {"name": lane.name}


def _in_lane(lane: Lane) -> Document:
    """Matches the executions of a lane; attributes that CI did not send must be absent."""
    return {
        "org_id": lane.org_id,
        **_subject(lane),
        "shard": None if lane.shard is None else asdict(lane.shard),
        "ci.repository": lane.repository,
        "ci.pr_number": lane.pr_number,
        **({} if lane.branch is None else {"ci.branch": lane.branch}),
    }
