"""The fold's transaction on MongoDB."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateOne
from pymongo.errors import OperationFailure

from services.chassis.errors import Aborted
from services.chassis.mongo import Mongo, Session
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Table, Tables
from services.reporting.ports import ProjectionTransaction
from services.reporting.storage.documents import (
    COUNTERS,
    EXECUTIONS,
    RUNS,
    TABLE_CODECS,
    TableCodec,
    counter_id,
    document_id,
)
from services.reporting.storage.generations import collection_name, read_generations

_RETRYABLE_CODES = (112, 251, 356)
"""WriteConflict, NoSuchTransaction, TransactionTooLargeForCache: how MongoDB ends a transaction that lost a race, lasts
longer than transactionLifetimeLimitSeconds, or changes more than its cache bears. Only the first passes by itself."""

_WITHOUT_RUNS = tuple(kind for kind in TABLE_CODECS if kind not in (RUNS, EXECUTIONS))


class MongoProjections:
    """Folds of all organisations: events say whose they are, so no caller's organisation narrows them."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        """Run `work` in a transaction; a lost race or a passing error runs it again on what is stored then.

        While a generation is being built, once for each: both see the same events from then on. Aborted when MongoDB
        goes on ending it: less at once may work.
        """

        async def fold(session: Session) -> None:
            for generation in await self.generations(session):
                async with MongoTransaction(self._mongo, session, generation) as transaction:
                    await work(transaction)

        try:
            await self._mongo.transaction(fold)
        except OperationFailure as error:
            if error.code in _RETRYABLE_CODES:
                raise Aborted(f"MongoDB does not take it: {error.code}", reason="FOLD_NOT_TAKEN") from error
            raise

    async def generations(self, session: Session) -> Sequence[int]:
        """Those that are folded into, as the transaction sees them."""
        return (await read_generations(self._mongo, session)).written


class MongoTransaction:
    """One try on one generation: finds by `_id`, and one bulk write a collection.

    One write is under way at most; while MongoDB works on it, what comes next is folded and encoded.
    """

    def __init__(self, mongo: Mongo, session: Session, generation: int) -> None:
        self._mongo = mongo
        self._session = session
        self._generation = generation
        self._kinds = TABLE_CODECS
        self._under_way: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "MongoTransaction":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._written()

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        for kind in TABLE_CODECS:
            keys: Collection[Any] = getattr(wanted, kind.table)
            if keys:
                await self._load(kind, getattr(tables, kind.table), keys)

    async def save_runs(self, tables: Tables) -> None:
        for kind in (EXECUTIONS, RUNS):
            await self._begin(kind.collection, _changes(kind, tables))
        self._kinds = _WITHOUT_RUNS

    async def save(self, tables: Tables) -> None:
        for kind in self._kinds:
            await self._begin(kind.collection, _changes(kind, tables))
        await self._begin(COUNTERS, _increments(tables))
        await self._written()

    async def _load(self, kind: TableCodec[Any, Any], table: Table[Any, Any], keys: Collection[Any]) -> None:
        query = {"_id": {"$in": [document_id(key) for key in keys]}}
        documents = self._collection(kind.collection).find(query, session=self._session)
        table.load(map(kind.decode, await documents.to_list(None)))

    def _collection(self, name: str) -> Any:
        return self._mongo.collection(collection_name(name, self._generation))

    async def _begin(self, collection: str, writes: list[Any]) -> None:
        await self._written()
        if writes:
            self._under_way = asyncio.create_task(self._write(collection, writes))
            await asyncio.sleep(0)  # it is sent

    async def _write(self, collection: str, writes: list[Any]) -> None:
        await self._collection(collection).bulk_write(writes, ordered=False, session=self._session)

    async def _written(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            await under_way


def _changes(kind: TableCodec[Any, Any], tables: Tables) -> list[Any]:
    table = getattr(tables, kind.table)
    return [*_rows(kind, table), *_removals(table)]


def _rows(kind: TableCodec[Any, Any], table: Table[Any, Any]) -> list[InsertOne[Any] | ReplaceOne[Any]]:
    """What was loaded is replaced, what was looked for in vain inserted: at half the cost of a replacement that may do
    either. Another that has inserted it meanwhile is a lost race as any other.
    """
    found: list[InsertOne[Any] | ReplaceOne[Any]] = []
    for key in sorted(table.changed):
        row = table.get(key)
        if row is None:
            continue
        name, document = document_id(key), kind.encode(key, row)
        if table.is_stored(key):
            found.append(ReplaceOne({"_id": name}, document))
        else:
            found.append(InsertOne({"_id": name, **document}))
    return found


def _removals(table: Table[Any, Any]) -> list[DeleteOne]:
    return [DeleteOne({"_id": document_id(key)}) for key in sorted(table.dropped())]


def _increments(tables: Tables) -> list[UpdateOne]:
    """What was counted, added to what is stored."""
    found: list[UpdateOne] = []
    for (org_id, name), amounts in sorted(tables.counters.changes()):
        if any(amounts.values()):
            added = {field: amount for field, amount in amounts.items() if amount}
            update = {"$inc": added, "$setOnInsert": {"org_id": org_id}}
            found.append(UpdateOne({"_id": counter_id(org_id, name)}, update, upsert=True))
    return found
