"""A MongoDB collection limited to one organisation: every query filters by the caller's org_id."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pymongo.errors import DuplicateKeyError

from services.chassis.context import current
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Collection, Document, Mongo, Session
from services.chassis.mongo_errors import DuplicateValue

# Documents that one round trip brings; MongoDB's own first batch has 101.
BATCH_SIZE = 1000

Filter = Mapping[str, Any]
Update = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class OrgCollection:
    """`mongo.collection(name)`, limited to the organisation of `context.current()`.

    Raises:
        ValueError: for a filter on org_id: it always comes from the caller.
    """

    def __init__(self, mongo: Mongo, name: str, session: Session = None) -> None:
        """All is read and written within the session; None: outside of transactions."""
        self._mongo = mongo
        self._name = name
        self._session = session

    @property
    def _collection(self) -> Collection:
        return self._mongo.collection(self._name)

    def find(self, filter: Filter | None = None, projection: Any = None) -> Any:
        """The driver's cursor: sort, skip, limit, to_list."""
        return self._collection.find(_own_filter(filter), projection, session=self._session)

    async def find_raw(
        self, filter: Filter | None = None, projection: Any = None, *, most: int, **options: Any
    ) -> AsyncIterator[Iterator[bytes]]:
        """The documents as BSON, a batch at a time; `options` are the driver's (sort, skip, limit, hint).

        Raises:
            InvalidArgument: they have more than about `most` bytes together (a batch has up to 16 MiB) (TOO_LARGE).
        """
        size = 0
        async for batch in self._collection.find_raw_batches(
            _own_filter(filter), projection, batch_size=BATCH_SIZE, session=self._session, **options
        ):
            size += len(batch)
            if size > most:
                raise read_too_large(most)
            yield split_batch(batch)

    async def find_one(self, filter: Filter) -> Document | None:
        document: Document | None = await self._collection.find_one(_own_filter(filter), session=self._session)
        return document

    async def insert_one(self, document: Document) -> None:
        """Insert the document with the caller's org_id.

        Raises:
            DuplicateValue: a unique value of it is in use.
        """
        with _unique_values():
            await self._collection.insert_one(_own_document(document), session=self._session)

    async def put(self, document: Document) -> None:
        """Insert the document with the caller's org_id, or replace the one with its `_id`.

        Raises:
            DuplicateValue: a unique value of it is in use.
        """
        filter = _own_filter({"_id": document["_id"]})
        with _unique_values():
            await self._collection.replace_one(filter, _own_document(document), upsert=True, session=self._session)

    async def update_one(self, filter: Filter, update: Update, *, upsert: bool = False) -> int:
        """The number of matched documents, 0 or 1."""
        result = await self._collection.update_one(_own_filter(filter), update, upsert=upsert, session=self._session)
        return int(result.matched_count)

    async def update_many(self, filter: Filter, update: Update) -> int:
        """The number of matched documents."""
        result = await self._collection.update_many(_own_filter(filter), update, session=self._session)
        return int(result.matched_count)

    async def delete_one(self, filter: Filter) -> None:
        await self._collection.delete_one(_own_filter(filter), session=self._session)

    async def delete_many(self, filter: Filter) -> None:
        await self._collection.delete_many(_own_filter(filter), session=self._session)

    async def count_documents(self, filter: Filter | None = None, **options: Any) -> int:
        """`options` are the driver's (limit, hint)."""
        return int(await self._collection.count_documents(_own_filter(filter), session=self._session, **options))

    async def aggregate(self, pipeline: Sequence[Mapping[str, Any]], **options: Any) -> list[Document]:
        """The pipeline over the organisation's documents. A $lookup in it must filter its own org_id.

        `options` are the driver's (hint).
        """
        own = [{"$match": _own_filter(None)}, *pipeline]
        return await self._mongo.aggregate(self._name, own, session=self._session, **options)


def read_too_large(most: int) -> InvalidArgument:
    """The error for what would read more than so many bytes."""
    message = f"This would read more than {most // 1024**2} MiB: ask for less at once, such as a smaller page_size"
    return InvalidArgument(message, reason=TOO_LARGE)


def split_batch(batch: bytes) -> Iterator[bytes]:
    """The documents of a batch of BSON: each begins with its length."""
    start = 0
    while start < len(batch):
        end = start + int.from_bytes(batch[start : start + 4], "little")
        yield batch[start:end]
        start = end


@contextmanager
def _unique_values() -> Iterator[None]:
    try:
        yield
    except DuplicateKeyError as error:
        raise DuplicateValue from error


def _own_filter(filter: Filter | None) -> Document:
    if filter is not None and "org_id" in filter:
        raise ValueError("a filter must not contain org_id: it comes from the caller")
    return {"org_id": _org_id(), **(filter or {})}


def _own_document(document: Document) -> Document:
    org_id = _org_id()
    if document.get("org_id", org_id) != org_id:
        raise ValueError("the document belongs to another organisation")
    return {**document, "org_id": org_id}


def _org_id() -> str:
    org_id = current().org_id
    if not org_id:
        raise LookupError("the caller has no organisation")
    return org_id
