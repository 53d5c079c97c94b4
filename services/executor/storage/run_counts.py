"""How many runs organisations have started today (UTC), and have stored: some rows for each organisation.

A row is written in the transaction that stores the runs, so no crash makes the sums wrong. Processes write to different
rows, because their transactions would conflict in a common one.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from random import randrange

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError

from services.chassis.mongo import Document, Mongo, Session, below
from services.executor.model.executions import Execution
from services.executor.model.organisation_limits import StartedRuns
from services.executor.storage.list_fields import fill_missing_list_fields
from services.executor.storage.schema import EXECUTIONS, RUN_COUNTS

SHARDS = 64
# How long after a migration processes of an older version, which count nothing, may still start runs.
UPGRADE = timedelta(hours=1)
# The document that says when to count again.
_DUE = "recount"
# The row of an organisation that `recount` changes.
_CORRECTION = "correction"
_RUNS: Document = {"$sum": {"$max": [1, "$counts.total", "$counted_runs"]}}


class MongoRunCounts:
    """Counts runs of all organisations."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._counts = mongo.collection(RUN_COUNTS)
        self._row = str(randrange(SHARDS))  # noqa: S311 - no secret

    async def add(self, executions: Sequence[Execution], session: Session) -> None:
        """Count the runs of new executions, which are stored in the same transaction."""
        runs: Counter[tuple[str, str]] = Counter()
        for execution in executions:
            counted = max(1, execution.counts.total, execution.counted_runs)
            runs[execution.org_id, execution.created_at.date().isoformat()] += counted
        changes = [self._addition(org_id, day, number) for (org_id, day), number in sorted(runs.items())]
        await self._counts.bulk_write(changes, session=session)

    def _addition(self, org_id: str, day: str, number: int) -> UpdateOne:
        is_new_day = {"$lt": [{"$ifNull": ["$day", ""]}, day]}
        fields = {
            "org_id": org_id,
            "stored": {"$add": [{"$ifNull": ["$stored", 0]}, number]},
            "today": {"$cond": [is_new_day, number, {"$add": ["$today", number]}]},
            "day": {"$max": ["$day", day]},
        }
        return UpdateOne({"_id": f"{org_id}/{self._row}"}, [{"$set": fields}], upsert=True)

    async def of(self, org_id: str, today: date) -> StartedRuns:
        rows = await self._counts.find(_rows_of(org_id)).to_list(None)
        of_today = (row["today"] for row in rows if row.get("day") == today.isoformat())
        return StartedRuns(sum(of_today), sum(row["stored"] for row in rows))

    async def plan_recount(self, after: timedelta = UPGRADE) -> None:
        """Let `recount_if_due` count again after that time."""
        due_at = {"$add": ["$$NOW", after // timedelta(milliseconds=1)]}
        await self._counts.update_one({"_id": _DUE}, [{"$set": {"due_at": due_at}}], upsert=True)

    async def recount_if_due(self) -> int | None:
        """As `recount`, once when it is due; lists find what older processes have stored from then on, too. None: it is
        not.
        """
        due = {"_id": _DUE, "$expr": {"$lte": ["$due_at", "$$NOW"]}}
        if await self._counts.find_one(due) is None:
            return None
        corrected = await self.recount()
        await fill_missing_list_fields(self._mongo)
        await self._counts.delete_one(due)
        return corrected

    async def recount(self) -> int:
        """Count the stored runs of all organisations again; how many organisations had another number."""
        org_ids: list[str] = await self._mongo.collection(EXECUTIONS).distinct("org_id")
        return sum([await self._correct(org_id) for org_id in org_ids])

    async def _correct(self, org_id: str) -> bool:
        """Whether the sum was wrong. If another process corrects it at the same time, that one's correction stands."""
        id_ = f"{org_id}/{_CORRECTION}"
        runs: list[Document] = [{"$match": {"org_id": org_id}}, {"$group": {"_id": None, "runs": _RUNS}}]

        async def read(session: Session) -> tuple[int, dict[str, int]]:
            actual = await self._mongo.aggregate(EXECUTIONS, runs, session=session)
            rows = await self._counts.find(_rows_of(org_id), session=session).to_list(None)
            return sum(row["runs"] for row in actual), {row["_id"]: row["stored"] for row in rows}

        actual, counted = await self._mongo.snapshot(read)
        before, missing = counted.get(id_, 0), actual - sum(counted.values())
        if missing:
            change = {"$set": {"org_id": org_id, "stored": before + missing}}
            with suppress(DuplicateKeyError):
                await self._counts.update_one({"_id": id_, "stored": before}, change, upsert=id_ not in counted)
        return missing != 0


def _rows_of(org_id: str) -> Document:
    return {"_id": below(org_id)}
