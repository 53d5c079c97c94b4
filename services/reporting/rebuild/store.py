"""The operation on the generations in MongoDB: where it stands, the generation that it builds, and the swap."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from pymongo import ReturnDocument

from services.chassis.errors import Aborted
from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.batch import Batch
from services.reporting.model.projection import Rules
from services.reporting.model.retention import expire_runs
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction, RowKeys
from services.reporting.rebuild.comparison import COLLECTIONS, compare_page, find_differences
from services.reporting.rebuild.consistency_checks import find_inconsistencies
from services.reporting.rebuild.ports import ComparisonPage
from services.reporting.rebuild.state import Difference, JobState, Operation, Phase
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
from services.reporting.usecases.projector import Projector

OPERATIONS = "_operations"
DIFFERENCES = "_differences"
CURRENT = "current"


class MongoRebuildStore:
    """The port `Workbench`. Each write shows the number that `take_over` drew, and fails when another was drawn."""

    def __init__(self, mongo: Mongo, rules: Rules) -> None:
        self._mongo = mongo
        self._rules = rules
        self._fence = 0

    async def take_over(self) -> JobState | None:
        document = await self._mongo.collection(OPERATIONS).find_one_and_update(
            {"_id": CURRENT}, {"$inc": {"fence": 1}}, upsert=True, return_document=ReturnDocument.AFTER
        )
        self._fence = document["fence"]
        state = _state_of(document) if "phase" in document else None
        return None if state is None or state.phase is Phase.DONE else state

    async def begin(self, operation: Operation) -> JobState:
        async def work(session: Session) -> JobState:
            known = await read_generations(self._mongo, session)
            document = await self._mongo.collection(OPERATIONS).find_one({"_id": CURRENT}, session=session)
            generation = 1 + max(document.get("generation", 0), known.serving, known.building or 0)
            state = JobState(operation, generation, await self._now(session))
            await self._write(session, state)
            await write_generations(self._mongo, Generations(known.serving), session)
            await self._mongo.collection(DIFFERENCES).delete_many({}, session=session)
            return state

        state = await self._mongo.transaction(work)
        await self._drop_unused(state.generation - 1)
        return state

    async def prepare(self, state: JobState) -> None:
        await create_generation(self._mongo, state.generation)

        async def work(session: Session) -> None:
            await self._write(session, state)
            known = await read_generations(self._mongo, session)
            await write_generations(self._mongo, replace(known, building=state.generation), session)

        await self._mongo.transaction(work)

    async def fold(self, state: JobState, batch: Batch) -> None:
        async with _raising_aborted():
            await Projector(self._folds(state), self._rules).apply_events(batch)
        await self.keep(state)

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        serving = self._mongo.collection(
            collection_name(RUNS.collection, (await read_generations(self._mongo)).serving)
        )
        runs = serving.find({"_id": {"$gt": state.token}}, {"listed_at": 1}).sort("_id", 1).limit(limit)
        found = await runs.batch_size(limit).to_list(None)
        ids = [document["_id"] for document in found if "listed_at" not in document]

        async def work(transaction: ProjectionTransaction) -> None:
            tables = Tables()
            await transaction.load(tables, RowKeys(runs=ids))
            expire_runs(tables, ids)
            await transaction.save(tables)

        if ids:
            async with _raising_aborted():
                await self._folds(state).transaction(work)
        return len(ids), found[-1]["_id"] if len(found) == limit else ""

    async def keep(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        await self._mongo.transaction(lambda session: self._write(session, state, found))

    async def told(self) -> Sequence[Difference]:
        rows = await self._mongo.collection(DIFFERENCES).find({}, {"_id": 0}).to_list(None)
        return [Difference(**row) for row in rows]

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        found = {}
        for name in COLLECTIONS:
            built = self._mongo.collection(collection_name(name, state.generation))
            found[name] = int(await built.estimated_document_count())
        return found

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        serving = (await read_generations(self._mongo)).serving
        return await compare_page(self._mongo, state.place, (serving, state.generation), state.token, limit)

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        serving = (await read_generations(self._mongo)).serving
        return await find_differences(self._mongo, state.place, (serving, state.generation), ids)

    async def discrepancies(self, state: JobState) -> Sequence[Difference]:
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

    async def finish(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        async def work(session: Session) -> None:
            await self._write(session, state, found)
            await write_generations(
                self._mongo, Generations((await read_generations(self._mongo, session)).serving), session
            )

        await self._mongo.transaction(work)
        await self._drop_unused(state.generation)

    async def _now(self, session: Session = None) -> datetime:
        """By the database's clock."""
        [document] = await self._mongo.aggregate(OPERATIONS, [{"$set": {"now": "$$NOW"}}], session=session)
        now: datetime = document["now"]
        return now

    def _folds(self, state: JobState) -> "_OneGenerationProjections":
        return _OneGenerationProjections(self._mongo, state.generation, self._check)

    async def _check(self, session: Session) -> None:
        """A write, so that nobody else can take over before it is committed. Where the operation stands is written
        when all of a batch is folded: it may be folded in parts."""
        ours = {"_id": CURRENT, "fence": self._fence}
        written = await self._mongo.collection(OPERATIONS).update_one(ours, {"$inc": {"folds": 1}}, session=session)
        if not written.matched_count:
            raise _TakenOver

    async def _write(self, session: Session, state: JobState, found: Sequence[Difference] = ()) -> None:
        ours = {"_id": CURRENT, "fence": self._fence}
        written = await self._mongo.collection(OPERATIONS).update_one(ours, {"$set": _document(state)}, session=session)
        if not written.matched_count:
            raise _taken_over()
        if found:
            rows = [asdict(difference) for difference in found]
            await self._mongo.collection(DIFFERENCES).insert_many(rows, session=session)

    async def _drop_unused(self, newest: int) -> None:
        """Those up to this number: whoever has taken over meanwhile, which nothing here would notice, makes newer ones.

        A fold that began before may still write to what is dropped here, which makes it anew: rubbish, dropped by the
        next operation."""
        used = (await read_generations(self._mongo)).folded
        for name in await self._mongo.database.list_collection_names():
            plain, generation = split_collection_name(name)
            if plain in COLLECTIONS and generation <= newest and generation not in used:
                await self._mongo.database.drop_collection(name)


async def newest_state(mongo: Mongo) -> JobState | None:
    """Where the newest operation stands or ended; None when there never was one."""
    document = await mongo.collection(OPERATIONS).find_one({"_id": CURRENT})
    return _state_of(document) if document and "phase" in document else None


class _OneGenerationProjections(MongoProjections):
    """Folds into one generation, whatever else is folded; `ours` is part of each transaction."""

    def __init__(self, mongo: Mongo, generation: int, ours: Callable[[Session], Awaitable[None]]) -> None:
        super().__init__(mongo)
        self._generation = generation
        self._ours = ours

    async def generations(self, session: Session) -> Sequence[int]:
        await self._ours(session)
        return (self._generation,)


class _TakenOver(Exception):
    """The number that is shown is no longer the newest."""


@asynccontextmanager
async def _raising_aborted() -> AsyncIterator[None]:
    """Folding takes Aborted for a batch that is too large, so that somebody took over is said only out here."""
    try:
        yield
    except _TakenOver:
        raise _taken_over() from None


def _taken_over() -> Aborted:
    return Aborted("Somebody else has taken this operation over", reason="OPERATION_TAKEN_OVER")


def _document(state: JobState) -> Document:
    return {**asdict(state), "operation": state.operation.value, "phase": state.phase.value, "place": str(state.place)}


def _state_of(document: Document) -> JobState:
    values = {name: document[name] for name in JobState.__dataclass_fields__}
    values |= {"operation": Operation(document["operation"]), "phase": Phase(document["phase"])}
    return JobState(**values)
