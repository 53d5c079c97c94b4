"""Attachments as documents; ended ones stay because their revision goes on rising."""

from collections.abc import Collection, Sequence
from typing import Any

from services.catalog.model.attachments import Attachment
from services.catalog.model.values import Page
from services.catalog.storage.documents import dump, find, load
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection
from services.chassis.text_search import fold_case

ATTACHMENTS = "attachments"

_BY_NAME = [("name_folded", 1), ("test_id", 1)]
_OLDEST_FIRST = [("created_at", 1), ("_id", 1)]


class MongoAttachments:
    """Which tests are attached to which apps."""

    def __init__(self, rows: OrgCollection) -> None:
        self._rows = rows

    async def get(self, app_id: str, test_id: str) -> Attachment | None:
        document = await self._rows.find_one({"_id": _id(app_id, test_id)})
        return from_document(document) if document else None

    async def of_app(self, app_id: str) -> Sequence[Attachment]:
        return await self._find({"app_id": app_id}, _BY_NAME)

    async def page(self, app_id: str, page: Page) -> Sequence[Attachment]:
        return await self._find({"app_id": app_id}, _BY_NAME, page)

    async def of_tests(self, test_ids: Collection[str]) -> Sequence[Attachment]:
        return await self._find({"test_id": {"$in": list(test_ids)}}, _OLDEST_FIRST) if test_ids else ()

    async def put(self, attachments: Sequence[Attachment]) -> None:
        for attachment in attachments:
            await self._rows.put(_to_document(attachment))

    async def detach_all(self, app_id: str) -> None:
        ended = {"$set": {"attached": False, "pinned_version": None}, "$inc": {"revision": 1}}
        await self._rows.update_many({"app_id": app_id, "attached": True}, ended)

    async def rename_test(self, test_id: str, name: str) -> None:
        await self._rows.update_many(
            {"test_id": test_id}, {"$set": {"test_name": name, "name_folded": fold_case(name)}}
        )

    async def _find(self, condition: Document, sort: Any, page: Page | None = None) -> Sequence[Attachment]:
        return [from_document(d) for d in await find(self._rows, {**condition, "attached": True}, sort, page)]


def _id(app_id: str, test_id: str) -> str:
    return f"{app_id}/{test_id}"


def _to_document(attachment: Attachment) -> Document:
    document_id = _id(attachment.app_id, attachment.test_id)
    return dump(attachment, _id=document_id, name_folded=fold_case(attachment.test_name))


def from_document(document: Document) -> Attachment:
    """The attachment of a stored document."""
    return load(Attachment, document)
