"""Entities as documents: a field each, with the entity's id as `_id`; and how they are found."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, fields
from datetime import UTC
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast

import bson
from bson.codec_options import CodecOptions
from bson.regex import Regex

from services.catalog.model.text import name_suffixes, suffix_of
from services.catalog.model.values import Page
from services.chassis.mongo import Document
from services.chassis.org_collection import Filter, OrgCollection
from services.chassis.text_search import fold_case

E = TypeVar("E")

IS_LIVE: Final[Document] = {"live": True}
NEWEST_FIRST: Final = [("created_at", -1), ("_id", -1)]
# The index of all live documents, newest first; the next ones are of those of a platform, and with a tag.
LIST: Final = "list"
LIST_OF_PLATFORM: Final = "list_of_platform"
LIST_OF_TAG: Final = "list_of_tag"
SUFFIXES: Final = "name_suffixes"
WITHOUT_SUFFIXES: Final = {SUFFIXES: 0}
# What one read may bring: less than a gRPC message may have, because protos of many small values are larger.
MOST_BYTES: Final = 12 * 1024**2
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)


def decode(raw: bytes) -> Document:
    """The document of BSON, with times in UTC."""
    return bson.decode(raw, _CODEC)


def load(kind: Callable[..., E], document: Document, **converted: Any) -> E:
    """The entity of a stored document; `converted` holds the values that are stored in another form."""
    values = {
        name: document["_id" if name == "id" else name]
        for name in _field_names(cast(Any, kind))
        if name not in converted
    }
    return kind(**values, **converted)


def dump(entity: Any, **converted: Any) -> Document:
    """The document of an entity; `converted` holds values in their stored form and further fields."""
    document: Document = asdict(entity)
    if "id" in document:
        document["_id"] = document.pop("id")
    return document | converted


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def name_condition(pattern: str | None) -> Document:
    """The condition that the folded name matches the pattern (see `text.search_pattern`)."""
    return {} if pattern is None else {"name_folded": {"$regex": pattern}}


def search_fields(name: str) -> Document:
    """The fields by which a name is found."""
    folded = fold_case(name)
    return {"name_folded": folded, SUFFIXES: name_suffixes(folded)}


def search_condition(pattern: str | None) -> Document:
    """`name_condition`, with what the index of suffixes finds."""
    return {} if pattern is None else {**name_condition(pattern), SUFFIXES: _suffix(pattern)}


def _suffix(pattern: str) -> Regex[str]:
    return Regex("^" + re.escape(suffix_of(pattern)[0]))


def id_condition(ids: Collection[str]) -> Document:
    """The condition that the id is one of these."""
    return {"_id": {"$in": list(ids)}}


async def find(
    rows: OrgCollection, filter: Filter, sort: Any = None, page: Page | None = None, **options: Any
) -> list[Document]:
    """The documents that fit, or one page of them; `options` are those of `find_raw`."""
    return [decode(raw) for raw in await find_raw(rows, filter, sort, page, **options)]


async def find_raw(
    rows: OrgCollection,
    filter: Filter,
    sort: Any = None,
    page: Page | None = None,
    *,
    projection: Any = None,
    most: int = MOST_BYTES,
    index: str | None = None,
) -> list[bytes]:
    """The documents that fit, or one page of them, each as BSON.

    `index` is the one to use: for a page far down MongoDB would try several, each over thousands of documents.

    Raises:
        InvalidArgument: they have more than about `most` bytes together (TOO_LARGE).
    """
    place = {"skip": page.offset, "limit": page.size} if page else {}
    batches = rows.find_raw(filter, projection, most=most, sort=sort, hint=index, **place)
    return [raw async for batch in batches for raw in batch]


class MongoLiveEntities(Generic[E]):
    """The entities of one collection that are not deleted."""

    def __init__(
        self, rows: OrgCollection, to_document: Callable[[E], Document], from_document: Callable[[Document], E]
    ) -> None:
        self._rows = rows
        self._to_document = to_document
        self._from_document = from_document

    async def get(self, id: str) -> E | None:
        entities = await self._find({"_id": id})
        return entities[0] if entities else None

    async def many(self, ids: Collection[str]) -> Sequence[E]:
        return await self._find(id_condition(ids)) if ids else ()

    async def add(self, entity: E) -> None:
        await self._rows.insert_one(self._to_document(entity))

    async def replace(self, entity: E) -> None:
        await self._rows.put(self._to_document(entity))

    async def _find(self, condition: Document, sort: Any = None, page: Page | None = None, **options: Any) -> list[E]:
        documents = await find(self._rows, {**condition, **IS_LIVE}, sort, page, **options)
        return [self._from_document(document) for document in documents]

    async def _count(self, condition: Document) -> int:
        return await self._rows.count_documents({**condition, **IS_LIVE})

    async def _count_named(self, condition: Document, pattern: str | None) -> int:
        """How many fit the condition, which has `search_condition`: by the suffixes alone if they say all."""
        if pattern is None or not suffix_of(pattern)[1]:
            return await self._count(condition)
        return await self._count({name: value for name, value in condition.items() if name != "name_folded"})
