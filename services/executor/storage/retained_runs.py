"""Ended runs whose artifacts are kept, and the bytes of these artifacts: a row for each organisation and day (UTC).

`count` adds the runs that have ended since, in the order of their ends; `expire` subtracts. Each changes the rows in a
transaction with the runs, so the sums are exact for what has been counted.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from pymongo import UpdateOne

from mobiletest_automation.model.results import ArtifactGone
from services.chassis.mongo import Document, Session, below
from services.executor.artifacts import ArtifactKey
from services.executor.ports.runs import CountedEvidence
from services.executor.storage.schema import (
    ARTIFACTS_KEPT_SINCE,
    EVIDENCE,
    EVIDENCE_OF_ORGANISATION,
    RUNS,
)
from services.executor.storage.transactions import ExecutionTransactions

# Longer than a transaction takes: no run gets an end that is earlier than what has been counted.
COUNTED_AFTER = timedelta(seconds=30)
# How much is counted in one transaction.
WINDOW = timedelta(minutes=5)
# The document that says up to which end of runs has been counted.
_COUNTED = "counted"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_BYTES: Document = {"$sum": {"$map": {"input": "$attempts", "in": {"$sum": "$$this.artifacts.size_bytes"}}}}


class MongoRetainedRuns:
    """The ports `RetainedRuns` and `EvidenceBytes` on MongoDB."""

    def __init__(self, transactions: ExecutionTransactions) -> None:
        self._transactions = transactions
        self._mongo = transactions.mongo
        self._runs = transactions.mongo.collection(RUNS)
        self._evidence = transactions.mongo.collection(EVIDENCE)

    async def now(self) -> datetime:
        return await self._transactions.now()

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        query = {ARTIFACTS_KEPT_SINCE: {"$lt": moment}}
        runs = self._runs.find(query, {"_id": 1}).sort(ARTIFACTS_KEPT_SINCE, 1).limit(limit)
        return [document["_id"] for document in await runs.to_list(None)]

    async def expire(self, run_ids: Sequence[str]) -> None:
        gone = {"attempts.$[].artifacts.$[].gone": ArtifactGone.EXPIRED.value}
        of_runs = {"_id": {"$in": list(run_ids)}}

        async def expire(session: Session) -> None:
            counted = {**of_runs, ARTIFACTS_KEPT_SINCE: {"$lte": await self._counted_until(session)}}
            await self._add(await self._sums(counted, session), -1, session)
            change = {"$set": gone, "$unset": {ARTIFACTS_KEPT_SINCE: ""}}
            await self._runs.update_many(of_runs, change, session=session)

        await self._mongo.transaction(expire)

    async def is_kept(self, run_id: str) -> bool:
        kept = [{"completed_at": {"$exists": False}}, {ARTIFACTS_KEPT_SINCE: {"$exists": True}}]
        return await self._runs.find_one({"_id": run_id, "$or": kept}, {"_id": 1}) is not None

    async def mark_missing(self, key: ArtifactKey) -> None:
        """Note that the artifact was given up.

        Does nothing when the run lists no such artifact: its attempt may have ended without reporting it.
        """
        await self._runs.update_one(
            {"_id": key.run_id},
            {"$set": {"attempts.$[attempt].artifacts.$[artifact].gone": ArtifactGone.MISSING.value}},
            array_filters=[{"attempt.number": key.attempt}, {"artifact.name": key.name}],
        )

    async def count(self) -> CountedEvidence:
        latest = await self.now() - COUNTED_AFTER

        async def count(session: Session) -> CountedEvidence:
            after = await self._counted_until(session)
            beyond = {ARTIFACTS_KEPT_SINCE: {"$gt": after, "$lte": latest}}
            first = await self._runs.find_one(
                beyond, {ARTIFACTS_KEPT_SINCE: 1}, sort=[(ARTIFACTS_KEPT_SINCE, 1)], session=session
            )
            if first is None:
                return CountedEvidence()
            until = min(first[ARTIFACTS_KEPT_SINCE] + WINDOW, latest)
            sums = await self._sums({ARTIFACTS_KEPT_SINCE: {"$gt": after, "$lte": until}}, session)
            await self._add(sums, 1, session)
            await self._evidence.update_one({"_id": _COUNTED}, {"$set": {"until": until}}, upsert=True, session=session)
            return CountedEvidence(frozenset(each["_id"]["org_id"] for each in sums), complete=until == latest)

        return await self._mongo.transaction(count)

    async def _counted_until(self, session: Session | None = None) -> datetime:
        document = await self._evidence.find_one({"_id": _COUNTED}, session=session)
        until: datetime = document["until"] if document is not None else _BEGINNING
        return until

    async def _sums(self, query: Document, session: Session) -> list[Document]:
        """The bytes of the artifacts of these runs, by organisation and the day on which the run has ended."""
        day = {"$dateToString": {"date": f"${ARTIFACTS_KEPT_SINCE}", "format": "%Y-%m-%d"}}
        sums = {"_id": {"org_id": "$org_id", "day": day}, "bytes": {"$sum": _BYTES}}
        return await self._mongo.aggregate(RUNS, [{"$match": query}, {"$group": sums}], session=session)

    async def _add(self, sums: Sequence[Document], sign: int, session: Session) -> None:
        changes = [
            UpdateOne(
                {"_id": f"{each['_id']['org_id']}/{each['_id']['day']}"},
                {"$inc": {"bytes": sign * each["bytes"]}, "$setOnInsert": each["_id"]},
                upsert=True,
            )
            for each in sums
            if each["bytes"]
        ]
        if changes:
            await self._evidence.bulk_write(changes, session=session)

    async def organisations(self) -> Sequence[str]:
        org_ids: list[str] = await self._evidence.distinct("org_id", {"org_id": {"$gt": ""}})
        return org_ids

    async def used_bytes(self, org_id: str) -> int:
        total = {"$group": {"_id": None, "bytes": {"$sum": "$bytes"}}}
        sums = await self._mongo.aggregate(EVIDENCE, [{"$match": _days_of(org_id)}, total])
        return int(sums[0]["bytes"]) if sums else 0

    async def oldest(self, org_id: str, excess: int, limit: int) -> list[str]:
        counted = {"org_id": org_id, ARTIFACTS_KEPT_SINCE: {"$lte": await self._counted_until()}}
        in_order: list[Document] = [{"$match": counted}, {"$sort": {ARTIFACTS_KEPT_SINCE: 1}}, {"$limit": limit}]
        rows = await self._mongo.aggregate(
            RUNS, [*in_order, {"$project": {"bytes": _BYTES}}], hint=EVIDENCE_OF_ORGANISATION
        )
        chosen: list[str] = []
        for document in rows:
            if excess <= 0:
                break
            chosen.append(document["_id"])
            excess -= document["bytes"]
        return chosen

    async def forget(self, org_id: str) -> None:
        await self._evidence.delete_many(_days_of(org_id))

    async def forget_days_before(self, day: date) -> None:
        await self._evidence.delete_many({"day": {"$lt": day.isoformat()}})


def _days_of(org_id: str) -> Document:
    return {"_id": below(org_id)}
