"""Tenant-scoped collections and the query conditions that all resources share."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from pymongo.errors import DuplicateKeyError

from services.catalog.model.values import Page
from services.catalog.ports import DuplicateValue
from services.chassis.mongo import Document, Session
from services.chassis.org_collection import Filter, OrgCollection

IS_LIVE: Final[Document] = {"live": True}
NEWEST_FIRST: Final = [("created_at", -1), ("_id", -1)]
BATCH: Final = 1_000
"""Documents that one round trip brings; MongoDB's own first batch has 101."""


def name_condition(pattern: str | None) -> Document:
    """The condition that the folded name matches the pattern (see `text.search_pattern`)."""
    return {} if pattern is None else {"name_folded": {"$regex": pattern}}


def id_condition(ids: Collection[str]) -> Document:
    """The condition that the id is one of these."""
    return {"_id": {"$in": list(ids)}}


def duplicate_value(error: DuplicateKeyError) -> DuplicateValue:
    """The domain error for a violated unique index."""
    pattern = (error.details or {}).get("keyPattern", {})
    return DuplicateValue("version" if "version" in pattern else "id")


def _documents(batch: bytes) -> Iterator[bytes]:
    """The documents of a batch: each begins with its length."""
    start = 0
    while start < len(batch):
        end = start + int.from_bytes(batch[start : start + 4], "little")
        yield batch[start:end]
        start = end


class TenantRows:
    """A tenant's collection, read and written within a session; None: outside of transactions."""

    def __init__(self, tenant: OrgCollection, session: Session = None) -> None:
        self._tenant = tenant
        self._session = session

    async def one(self, filter: Filter) -> Document | None:
        """The first document that fits."""
        return await self._tenant.find_one(filter, session=self._session)

    async def every(self, filter: Filter, sort: Any = None) -> list[Document]:
        """All documents that fit."""
        cursor = self._tenant.find(filter, session=self._session).batch_size(BATCH)
        found: list[Document] = await (cursor.sort(sort) if sort else cursor).to_list(None)
        return found

    async def page(self, filter: Filter, sort: Any, page: Page) -> list[Document]:
        """One page of the documents that fit."""
        cursor = self._tenant.find(filter, session=self._session).batch_size(BATCH).sort(sort)
        found: list[Document] = await cursor.skip(page.offset).limit(page.size).to_list(None)
        return found

    async def raw(self, filter: Filter, sort: Any = None, page: Page | None = None) -> list[bytes]:
        """The documents that fit, or one page of them, each as BSON."""
        cursor = self._tenant.find_raw_batches(filter, session=self._session).batch_size(BATCH)
        if sort:
            cursor = cursor.sort(sort)
        if page:
            cursor = cursor.skip(page.offset).limit(page.size)
        return [document for batch in await cursor.to_list(None) for document in _documents(batch)]

    async def count(self, filter: Filter) -> int:
        """How many documents fit."""
        return await self._tenant.count_documents(filter, session=self._session)

    async def add(self, document: Document) -> None:
        """Insert the document. DuplicateValue."""
        try:
            await self._tenant.insert_one(document, session=self._session)
        except DuplicateKeyError as error:
            raise duplicate_value(error) from error

    async def put(self, document: Document) -> None:
        """Insert or replace the document of this id. DuplicateValue: another unique value of it."""
        try:
            await self._tenant.replace_one({"_id": document["_id"]}, document, upsert=True, session=self._session)
        except DuplicateKeyError as error:
            raise duplicate_value(error) from error

    async def update(self, filter: Filter, update: Document, *, upsert: bool = False) -> int:
        """Update the first document that fits; how many did (0 or 1)."""
        return await self._tenant.update_one(filter, update, upsert=upsert, session=self._session)

    async def update_all(self, filter: Filter, update: Document) -> int:
        """Update all documents that fit; how many did."""
        return await self._tenant.update_many(filter, update, session=self._session)
