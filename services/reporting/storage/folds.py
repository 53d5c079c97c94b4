"""The fold's transaction on MongoDB."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any

from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.errors import OperationFailure

from services.chassis.errors import Aborted
from services.chassis.mongo import Mongo, Session
from services.reporting.model.tables import Table, Tables
from services.reporting.ports import FoldTransaction, Wanted
from services.reporting.storage.documents import COUNTERS, KINDS, Kind, counter_id, joined
from services.reporting.storage.generations import named, read

_GIVEN_UP = (112, 251, 356)
"""WriteConflict, NoSuchTransaction, TransactionTooLargeForCache: how MongoDB ends a transaction that lost a race, lasts
longer than transactionLifetimeLimitSeconds, or changes more than its cache bears. Only the first passes by itself."""


class MongoFolds:
    """Folds of all organisations: events say whose they are, so no caller's organisation narrows them."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def transaction(self, work: Callable[[FoldTransaction], Awaitable[None]]) -> None:
        """Run `work` in a transaction; a lost race or a passing error runs it again on what is stored then.

        While a generation is being built, once for each: both see the same events from then on. Aborted when MongoDB
        goes on ending it: less at once may work.
        """

        async def fold(session: Session) -> None:
            for generation in await self.generations(session):
                await work(MongoTransaction(self._mongo, session, generation))

        try:
            await self._mongo.transaction(fold)
        except OperationFailure as error:
            if error.code in _GIVEN_UP:
                raise Aborted(f"MongoDB does not take it: {error.code}", reason="FOLD_NOT_TAKEN") from error
            raise

    async def generations(self, session: Session) -> Sequence[int]:
        """Those that are folded into, as the transaction sees them."""
        return (await read(self._mongo, session)).folded


class MongoTransaction:
    """One try on one generation: finds by `_id`, and one bulk write a collection."""

    def __init__(self, mongo: Mongo, session: Session, generation: int) -> None:
        self._mongo = mongo
        self._session = session
        self._generation = generation

    async def load(self, tables: Tables, wanted: Wanted) -> None:
        for kind in KINDS:
            keys: Collection[Any] = getattr(wanted, kind.table)
            if keys:
                await self._load(kind, getattr(tables, kind.table), keys)

    async def save(self, tables: Tables) -> None:
        """One collection after the other; while MongoDB works on one, the next is encoded."""
        under_way: asyncio.Task[None] | None = None
        try:
            for collection, writes in _written(tables):
                if under_way is not None:
                    await under_way
                under_way = asyncio.create_task(self._write(collection, writes))
                await asyncio.sleep(0)  # it is sent
        finally:
            if under_way is not None:
                await under_way

    async def _load(self, kind: Kind[Any, Any], table: Table[Any, Any], keys: Collection[Any]) -> None:
        query = {"_id": {"$in": [joined(key) for key in keys]}}
        documents = self._collection(kind.collection).find(query, session=self._session)
        table.load(map(kind.decode, await documents.to_list(None)))

    def _collection(self, name: str) -> Any:
        return self._mongo.collection(named(name, self._generation))

    async def _write(self, collection: str, writes: list[Any]) -> None:
        if writes:
            await self._collection(collection).bulk_write(writes, ordered=False, session=self._session)


def _written(tables: Tables) -> Iterator[tuple[str, list[Any]]]:
    for kind in KINDS:
        table = getattr(tables, kind.table)
        yield kind.collection, [*_rows(kind, table), *_removals(table)]
    yield COUNTERS, _increments(tables)


def _rows(kind: Kind[Any, Any], table: Table[Any, Any]) -> list[InsertOne[Any] | ReplaceOne[Any]]:
    """What was loaded is replaced, what was looked for in vain inserted: at half the cost of a replacement that may do
    either. Another that has inserted it meanwhile is a lost race as any other.
    """
    found: list[InsertOne[Any] | ReplaceOne[Any]] = []
    for key in sorted(table.changed):
        row = table.get(key)
        if row is None:
            continue
        name, document = joined(key), kind.encode(key, row)
        if table.stored(key):
            found.append(ReplaceOne({"_id": name}, document))
        else:
            found.append(InsertOne({"_id": name, **document}))
    return found


def _removals(table: Table[Any, Any]) -> list[DeleteOne]:
    return [DeleteOne({"_id": joined(key)}) for key in sorted(table.dropped())]


def _increments(tables: Tables) -> list[UpdateOne]:
    """What was counted, added to what is stored."""
    found: list[UpdateOne] = []
    for (org_id, name), amounts in sorted(tables.counters.changes()):
        if any(amounts.values()):
            added = {field: amount for field, amount in amounts.items() if amount}
            update = {"$inc": added, "$setOnInsert": {"org_id": org_id}}
            found.append(UpdateOne({"_id": counter_id(org_id, name)}, update, upsert=True))
    return found
