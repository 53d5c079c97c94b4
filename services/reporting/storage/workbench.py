"""The operation on the generations in MongoDB: where it stands, the generation that it builds, and the swap."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from pymongo import ReturnDocument

from services.chassis.errors import Aborted
from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.batch import Batch
from services.reporting.model.fold import Rules
from services.reporting.model.operations import Difference, Operation, Phase, State
from services.reporting.model.retention import expire
from services.reporting.model.tables import Tables
from services.reporting.operation_ports import Compared
from services.reporting.ports import FoldTransaction, Wanted
from services.reporting.storage.comparing import COLLECTIONS, compared, differences
from services.reporting.storage.documents import RUNS
from services.reporting.storage.folds import MongoFolds
from services.reporting.storage.generations import (
    Generations,
    generation_of,
    named,
    read,
    write,
)
from services.reporting.storage.schema import create_generation
from services.reporting.storage.sums import discrepancies
from services.reporting.usecases.folding import Folding

OPERATIONS = "_operations"
DIFFERENCES = "_differences"
CURRENT = "current"


class MongoWorkbench:
    """The port `Workbench`. Each write shows the number that `take_over` drew, and fails when another was drawn."""

    def __init__(self, mongo: Mongo, rules: Rules) -> None:
        self._mongo = mongo
        self._rules = rules
        self._fence = 0

    async def take_over(self) -> State | None:
        document = await self._mongo.collection(OPERATIONS).find_one_and_update(
            {"_id": CURRENT}, {"$inc": {"fence": 1}}, upsert=True, return_document=ReturnDocument.AFTER
        )
        self._fence = document["fence"]
        state = _state_of(document) if "phase" in document else None
        return None if state is None or state.phase is Phase.DONE else state

    async def begin(self, operation: Operation) -> State:
        async def work(session: Session) -> State:
            known = await read(self._mongo, session)
            document = await self._mongo.collection(OPERATIONS).find_one({"_id": CURRENT}, session=session)
            generation = 1 + max(document.get("generation", 0), known.serving, known.building or 0)
            state = State(operation, generation, await self._now(session))
            await self._write(session, state)
            await write(self._mongo, Generations(known.serving), session)
            await self._mongo.collection(DIFFERENCES).delete_many({}, session=session)
            return state

        state = await self._mongo.transaction(work)
        await self._drop_unused(state.generation - 1)
        return state

    async def prepare(self, state: State) -> None:
        await create_generation(self._mongo, state.generation)

        async def work(session: Session) -> None:
            await self._write(session, state)
            known = await read(self._mongo, session)
            await write(self._mongo, replace(known, building=state.generation), session)

        await self._mongo.transaction(work)

    async def fold(self, state: State, batch: Batch) -> None:
        async with _said():
            await Folding(self._folds(state), self._rules).apply_events(batch)
        await self.keep(state)

    async def expire(self, state: State, limit: int) -> tuple[int, str]:
        serving = self._mongo.collection(named(RUNS.collection, (await read(self._mongo)).serving))
        runs = serving.find({"_id": {"$gt": state.token}}, {"listed_at": 1}).sort("_id", 1).limit(limit)
        found = await runs.batch_size(limit).to_list(None)
        ids = [document["_id"] for document in found if "listed_at" not in document]

        async def work(transaction: FoldTransaction) -> None:
            tables = Tables()
            await transaction.load(tables, Wanted(runs=ids))
            expire(tables, ids)
            await transaction.save(tables)

        if ids:
            async with _said():
                await self._folds(state).transaction(work)
        return len(ids), found[-1]["_id"] if len(found) == limit else ""

    async def keep(self, state: State, found: Sequence[Difference] = ()) -> None:
        await self._mongo.transaction(lambda session: self._write(session, state, found))

    async def told(self) -> Sequence[Difference]:
        rows = await self._mongo.collection(DIFFERENCES).find({}, {"_id": 0}).to_list(None)
        return [Difference(**row) for row in rows]

    async def sizes(self, state: State) -> Mapping[str, int]:
        found = {}
        for name in COLLECTIONS:
            built = self._mongo.collection(named(name, state.generation))
            found[name] = int(await built.estimated_document_count())
        return found

    async def compare(self, state: State, limit: int) -> Compared:
        serving = (await read(self._mongo)).serving
        return await compared(self._mongo, state.place, (serving, state.generation), state.token, limit)

    async def differences(self, state: State, ids: Sequence[str]) -> Sequence[Difference]:
        serving = (await read(self._mongo)).serving
        return await differences(self._mongo, state.place, (serving, state.generation), ids)

    async def discrepancies(self, state: State) -> Sequence[Difference]:
        return await discrepancies(self._mongo, state.generation)

    async def swap(self, state: State) -> State:
        async def work(session: Session) -> State:
            swapped = replace(state, swapped_at=await self._now(session))
            await self._write(session, swapped)
            await write(self._mongo, Generations(state.generation), session)
            return swapped

        return await self._mongo.transaction(work)

    async def since_swap(self, state: State) -> timedelta:
        return timedelta() if state.swapped_at is None else await self._now() - state.swapped_at

    async def finish(self, state: State, found: Sequence[Difference] = ()) -> None:
        async def work(session: Session) -> None:
            await self._write(session, state, found)
            await write(self._mongo, Generations((await read(self._mongo, session)).serving), session)

        await self._mongo.transaction(work)
        await self._drop_unused(state.generation)

    async def _now(self, session: Session = None) -> datetime:
        """By the database's clock."""
        [document] = await self._mongo.aggregate(OPERATIONS, [{"$set": {"now": "$$NOW"}}], session=session)
        now: datetime = document["now"]
        return now

    def _folds(self, state: State) -> "_OneGeneration":
        return _OneGeneration(self._mongo, state.generation, self._check)

    async def _check(self, session: Session) -> None:
        """A write, so that nobody else can take over before it is committed. Where the operation stands is written
        when all of a batch is folded: it may be folded in parts."""
        ours = {"_id": CURRENT, "fence": self._fence}
        written = await self._mongo.collection(OPERATIONS).update_one(ours, {"$inc": {"folds": 1}}, session=session)
        if not written.matched_count:
            raise _TakenOver

    async def _write(self, session: Session, state: State, found: Sequence[Difference] = ()) -> None:
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
        used = (await read(self._mongo)).folded
        for name in await self._mongo.database.list_collection_names():
            plain, generation = generation_of(name)
            if plain in COLLECTIONS and generation <= newest and generation not in used:
                await self._mongo.database.drop_collection(name)


async def current(mongo: Mongo) -> State | None:
    """Where the newest operation stands or ended; None when there never was one."""
    document = await mongo.collection(OPERATIONS).find_one({"_id": CURRENT})
    return _state_of(document) if document and "phase" in document else None


class _OneGeneration(MongoFolds):
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
async def _said() -> AsyncIterator[None]:
    """Folding takes Aborted for a batch that is too large, so that somebody took over is said only out here."""
    try:
        yield
    except _TakenOver:
        raise _taken_over() from None


def _taken_over() -> Aborted:
    return Aborted("Somebody else has taken this operation over", reason="OPERATION_TAKEN_OVER")


def _document(state: State) -> Document:
    return {**asdict(state), "operation": state.operation.value, "phase": state.phase.value, "place": str(state.place)}


def _state_of(document: Document) -> State:
    values = {name: document[name] for name in State.__dataclass_fields__}
    values |= {"operation": Operation(document["operation"]), "phase": Phase(document["phase"])}
    return State(**values)
