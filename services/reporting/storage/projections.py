"""The transactions that update the read models in MongoDB."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from operator import itemgetter
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

# WriteConflict, NoSuchTransaction, TransactionExceededLifetimeLimitSeconds, TransactionTooLargeForCache: a transaction
# lost a race, lasted longer than transactionLifetimeLimitSeconds (251, or 290 if that happens during a command), or
# changed more than fits into the cache. Only the first is transient.
_ABORTED_CODES = (112, 251, 290, 356)

_WITHOUT_RUNS = tuple(codec for codec in TABLE_CODECS if codec not in (RUNS, EXECUTIONS))

# The driver stops all threads while it encodes or decodes so many.
DOCUMENTS_AT_ONCE = 500


class MongoProjections:
    """See ports.Projections. Not narrowed to an organisation, because each event names its own."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        """Run `work` in a transaction, again from the start after a lost race or a transient error.

        While a generation is being built, `work` runs once for each generation, so that both see the same events.

        Raises:
            Aborted: MongoDB keeps aborting the transaction: a smaller one may succeed.
        """

        async def fold(session: Session) -> None:
            # Read in the transaction: this is why a generation that is being built misses no event (see
            # generations.py).
            for generation in await self.generations(session):
                async with MongoTransaction(self._mongo, session, generation) as transaction:
                    await work(transaction)

        try:
            await self._mongo.transaction(fold)
        except OperationFailure as error:
            if error.code in _ABORTED_CODES:
                raise Aborted(f"MongoDB aborts the transaction: {error.code}", reason="FOLD_NOT_TAKEN") from error
            raise

    async def generations(self, session: Session) -> Sequence[int]:
        """The generations to write to, as the transaction sees them."""
        return (await read_generations(self._mongo, session)).written


class MongoTransaction:
    """One attempt on one generation: finds by `_id`, and the writes of one collection after the other.

    At most one write is in progress; while MongoDB performs the first of it, the next rows are folded and encoded.
    """

    def __init__(self, mongo: Mongo, session: Session, generation: int) -> None:
        self._mongo = mongo
        self._session = session
        self._generation = generation
        self._codecs = TABLE_CODECS
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "MongoTransaction":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._finish_write()

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        for codec in TABLE_CODECS:
            keys: Collection[Any] = getattr(wanted, codec.table)
            if keys:
                await self._load(codec, getattr(tables, codec.table), keys)

    async def save_runs(self, tables: Tables) -> None:
        for codec in (EXECUTIONS, RUNS):
            await self._start_write(codec.collection, _changes(codec, tables))
        self._codecs = _WITHOUT_RUNS

    async def save(self, tables: Tables) -> None:
        for codec in self._codecs:
            await self._start_write(codec.collection, _changes(codec, tables))
        await self._start_write(COUNTERS, _increments(tables))
        await self._finish_write()

    async def _load(self, codec: TableCodec[Any, Any], table: Table[Any, Any], keys: Collection[Any]) -> None:
        query = {"_id": {"$in": [document_id(key) for key in keys]}}
        documents = self._collection(codec.collection).find(query, session=self._session, batch_size=DOCUMENTS_AT_ONCE)
        table.load(map(codec.decode, await documents.to_list(None)))

    def _collection(self, name: str) -> Any:
        return self._mongo.collection(collection_name(name, self._generation))

    async def _start_write(self, collection: str, writes: list[Any]) -> None:
        await self._finish_write()
        if writes:
            self._writing = asyncio.create_task(self._write(collection, writes))
            await asyncio.sleep(0)  # lets the driver send it

    async def _write(self, collection: str, writes: list[Any]) -> None:
        rows = self._collection(collection)
        for start in range(0, len(writes), DOCUMENTS_AT_ONCE):
            portion = writes[start : start + DOCUMENTS_AT_ONCE]
            await rows.bulk_write(portion, ordered=False, session=self._session)

    async def _finish_write(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing


def _changes(codec: TableCodec[Any, Any], tables: Tables) -> list[Any]:
    """Rows that were found are replaced and the others inserted, at half the cost of an upsert.

    If another transaction has inserted a row meanwhile, that is a lost race like any other.
    """
    table: Table[Any, Any] = getattr(tables, codec.table)
    writes: list[Any] = []
    for key, row in sorted(table.changes(), key=itemgetter(0)):
        name, document = document_id(key), codec.encode(key, row)
        stored = table.is_stored(key)
        writes.append(ReplaceOne({"_id": name}, document) if stored else InsertOne({"_id": name, **document}))
    return writes + [DeleteOne({"_id": document_id(key)}) for key in sorted(table.dropped())]


def _increments(tables: Tables) -> list[UpdateOne]:
    """Increments of the stored counters."""
    updates: list[UpdateOne] = []
    for (org_id, name), amounts in sorted(tables.counters.changes()):
        if any(amounts.values()):
            added = {field: amount for field, amount in amounts.items() if amount}
            update = {"$inc": added, "$setOnInsert": {"org_id": org_id}}
            updates.append(UpdateOne({"_id": counter_id(org_id, name)}, update, upsert=True))
    return updates
