"""The state of the rebuild job and its generation in MongoDB."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from pymongo import ReturnDocument

from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.batch import Batch
from services.reporting.model.list_positions import expire_runs
from services.reporting.model.projection import ProjectionRules, RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction
from services.reporting.rebuild.comparison import COLLECTIONS, compare_page, find_differences, find_inconsistencies
from services.reporting.rebuild.ports import ComparisonPage, TakenOver
from services.reporting.rebuild.state import Difference, JobKind, JobState, Phase
from services.reporting.storage.documents import RUNS
from services.reporting.storage.generations import (
    Generations,
    collection_name,
    read_generations,
    split_collection_name,
    write_generations,
)
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.schema import create_generation
from services.reporting.storage.subdocuments import decode_fields, encode_fields
from services.reporting.usecases.projector import Projector

OPERATIONS = "_operations"
DIFFERENCES = "_differences"
CURRENT = "current"


class MongoRebuildStore:
    """See ports.RebuildStore. `take_over` draws a fencing number, and each write fails when a newer one was drawn."""

    def __init__(self, mongo: Mongo, rules: ProjectionRules) -> None:
        self._mongo = mongo
        self._rules = rules
        self._fence = 0

    async def take_over(self) -> JobState | None:
        document = await self._mongo.collection(OPERATIONS).find_one_and_update(
            {"_id": CURRENT}, {"$inc": {"fence": 1}}, upsert=True, return_document=ReturnDocument.AFTER
        )
        self._fence = document["fence"]
        state = _decode(document)
        return None if state is None or state.phase is Phase.DONE else state

    async def begin(self, operation: JobKind) -> JobState:
        known = await read_generations(self._mongo)
        document = await self._mongo.collection(OPERATIONS).find_one({"_id": CURRENT})
        # Numbers are never reused: a fold that began earlier may still write to a generation that was dropped.
        generation = 1 + max(document.get("generation", 0), known.serving, known.building or 0)
        state = JobState(operation, generation, await self._now())
        await create_generation(self._mongo, generation)

        async def work(session: Session) -> None:
            await self._write(session, state)
            await write_generations(self._mongo, Generations(known.serving, generation), session)
            await self._mongo.collection(DIFFERENCES).delete_many({}, session=session)

        await self._mongo.transaction(work)
        await self._drop_unused(generation - 1)
        return state

    async def fold(self, state: JobState, batch: Batch) -> None:
        await Projector(self._projections(state), self._rules).apply_events(batch)
        await self.save(state)

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        serving = self._mongo.collection(collection_name(RUNS.collection, await self._serving()))
        runs = serving.find({"_id": {"$gt": state.token}}, {"listed_at": 1}).sort("_id", 1).limit(limit)
        documents = await runs.batch_size(limit).to_list(None)
        expired = [document["_id"] for document in documents if "listed_at" not in document]

        async def work(transaction: ProjectionTransaction) -> None:
            tables = Tables()
            await transaction.load(tables, RowKeys(runs=expired))
            expire_runs(tables, expired)
            await transaction.save(tables)

        if expired:
            await self._projections(state).transaction(work)
        return len(expired), documents[-1]["_id"] if len(documents) == limit else ""

    async def save(self, state: JobState, differences: Sequence[Difference] = ()) -> None:
        await self._mongo.transaction(lambda session: self._write(session, state, differences))

    async def finish(self, state: JobState, differences: Sequence[Difference] = ()) -> None:
        async def work(session: Session) -> None:
            await self._write(session, state, differences)
            known = await read_generations(self._mongo, session)
            await write_generations(self._mongo, Generations(known.serving), session)

        await self._mongo.transaction(work)
        await self._drop_unused(state.generation)

    async def reported(self) -> Sequence[Difference]:
        rows = await self._mongo.collection(DIFFERENCES).find({}, {"_id": 0}).to_list(None)
        return [Difference(**row) for row in rows]

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        counts = {}
        for name in COLLECTIONS:
            collection = self._mongo.collection(collection_name(name, state.generation))
            counts[name] = int(await collection.estimated_document_count())
        return counts

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        generations = (await self._serving(), state.generation)
        return await compare_page(self._mongo, state.stage, generations, state.token, limit)

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        return await find_differences(self._mongo, state.stage, (await self._serving(), state.generation), ids)

    async def inconsistencies(self, state: JobState) -> Sequence[Difference]:
        return await find_inconsistencies(self._mongo, state.generation)

    async def swap(self, state: JobState) -> JobState:
        async def work(session: Session) -> JobState:
            swapped = replace(state, swapped_at=await self._now(session))
            await self._write(session, swapped)
            await write_generations(self._mongo, Generations(state.generation), session)
            return swapped

        return await self._mongo.transaction(work)

    async def since_swap(self, state: JobState) -> timedelta:
        return timedelta() if state.swapped_at is None else await self._now() - state.swapped_at

    async def _serving(self) -> int:
        return (await read_generations(self._mongo)).serving

    async def _now(self, session: Session = None) -> datetime:
        """By the database's clock."""
        [document] = await self._mongo.aggregate(OPERATIONS, [{"$set": {"now": "$$NOW"}}], session=session)
        now: datetime = document["now"]
        return now

    def _projections(self, state: JobState) -> MongoProjections:
        return _FencedProjections(self._mongo, state.generation, self._check_fence)

    async def _check_fence(self, session: Session) -> None:
        """A write, so that nobody can take over before the transaction is committed.

        It does not save the state: a batch may be folded in parts, and the state is saved after the last of them.
        """
        await self._update(session, {"$inc": {"folds": 1}})

    async def _write(self, session: Session, state: JobState, differences: Sequence[Difference] = ()) -> None:
        await self._update(session, {"$set": encode_fields(state)})
        if differences:
            rows = [encode_fields(difference) for difference in differences]
            await self._mongo.collection(DIFFERENCES).insert_many(rows, session=session)

    async def _update(self, session: Session, update: Document) -> None:
        own = {"_id": CURRENT, "fence": self._fence}
        result = await self._mongo.collection(OPERATIONS).update_one(own, update, session=session)
        if not result.matched_count:
            raise TakenOver

    async def _drop_unused(self, newest: int) -> None:
        """Drop the unused generations up to this number: a process that has taken over meanwhile creates newer ones.

        A fold that began earlier may still write to a dropped collection and so recreate it; the next job drops it.
        """
        used = (await read_generations(self._mongo)).written
        for name in await self._mongo.database.list_collection_names():
            plain, generation = split_collection_name(name)
            if plain in COLLECTIONS and generation <= newest and generation not in used:
                await self._mongo.database.drop_collection(name)


async def newest_state(mongo: Mongo) -> JobState | None:
    """The state of the newest job, finished or not; None if there has never been one."""
    document = await mongo.collection(OPERATIONS).find_one({"_id": CURRENT})
    return _decode(document) if document else None


class _FencedProjections(MongoProjections):
    """Folds into one generation only; `check` is part of each transaction."""

    def __init__(self, mongo: Mongo, generation: int, check: Callable[[Session], Awaitable[None]]) -> None:
        super().__init__(mongo)
        self._generation = generation
        self._check = check

    async def generations(self, session: Session) -> Sequence[int]:
        await self._check(session)
        return (self._generation,)


def _decode(document: Document) -> JobState | None:
    """None before a job has begun."""
    if "phase" not in document:
        return None
    operation, phase = JobKind(document["operation"]), Phase(document["phase"])
    return decode_fields(JobState, document, operation=operation, phase=phase)
