"""A MongoDB collection limited to one organisation: every query filters by the caller's org_id."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from services.chassis.context import current
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Collection, Document, Mongo, Session

Filter = Mapping[str, Any]
Update = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class OrgCollection:
    """`mongo.collection(name)`, limited to the organisation of `context.current()`.

    ValueError for a filter on org_id: it always comes from the caller.
    """

    def __init__(self, mongo: Mongo, name: str) -> None:
        self._mongo = mongo
        self._name = name

    @property
    def _collection(self) -> Collection:
        return self._mongo.collection(self._name)

    def find(self, filter: Filter | None = None, projection: Any = None, **options: Any) -> Any:
        """The driver's cursor: sort, skip, limit, to_list."""
        return self._collection.find(_own_filter(filter), projection, **options)

    def find_raw_batches(self, filter: Filter | None = None, projection: Any = None, **options: Any) -> Any:
        """The driver's cursor over batches of BSON, for callers that decode documents themselves."""
        return self._collection.find_raw_batches(_own_filter(filter), projection, **options)

    async def find_one(self, filter: Filter, projection: Any = None, **options: Any) -> Document | None:
        found: Document | None = await self._collection.find_one(_own_filter(filter), projection, **options)
        return found

    async def insert_one(self, document: Document, *, session: Session = None) -> None:
        """Insert the document with the caller's org_id. DuplicateKeyError."""
        await self._collection.insert_one(_own_document(document), session=session)

    async def update_one(self, filter: Filter, update: Update, **options: Any) -> int:
        """The number of matched documents, 0 or 1."""
        result = await self._collection.update_one(_own_filter(filter), update, **options)
        return int(result.matched_count)

    async def update_many(self, filter: Filter, update: Update, **options: Any) -> int:
        """The number of matched documents."""
        result = await self._collection.update_many(_own_filter(filter), update, **options)
        return int(result.matched_count)

    async def replace_one(self, filter: Filter, document: Document, **options: Any) -> int:
        """The number of matched documents, 0 or 1."""
        result = await self._collection.replace_one(_own_filter(filter), _own_document(document), **options)
        return int(result.matched_count)

    async def delete_one(self, filter: Filter, *, session: Session = None) -> None:
        await self._collection.delete_one(_own_filter(filter), session=session)

    async def delete_many(self, filter: Filter, *, session: Session = None) -> None:
        await self._collection.delete_many(_own_filter(filter), session=session)

    async def count_documents(self, filter: Filter | None = None, **options: Any) -> int:
        return int(await self._collection.count_documents(_own_filter(filter), **options))

    async def aggregate(self, pipeline: Sequence[Mapping[str, Any]], **options: Any) -> list[Document]:
        """The pipeline over the organisation's documents. A $lookup in it must filter its own org_id."""
        return await self._mongo.aggregate(self._name, [{"$match": _own_filter(None)}, *pipeline], **options)


def split_batch(batch: bytes) -> Iterator[bytes]:
    """The documents of a batch of BSON: each begins with its length."""
    start = 0
    while start < len(batch):
        end = start + int.from_bytes(batch[start : start + 4], "little")
        yield batch[start:end]
        start = end


def read_too_large(most: int) -> InvalidArgument:
    """The error for what would read more than so many bytes."""
    message = f"This would read more than {most // 1024**2} MiB: ask for less at once, such as a smaller page_size"
    return InvalidArgument(message, reason=TOO_LARGE)


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
