"""Builds as documents."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from services.catalog.model.builds import Build
from services.catalog.model.values import Page
from services.catalog.storage.documents import dump, load
from services.catalog.storage.tenant_rows import IS_LIVE, TenantRows, id_condition
from services.chassis.mongo import Document

BUILDS = "builds"

_NEWEST_FIRST = [("uploaded_at", -1), ("_id", -1)]


class MongoBuilds:
    """The live builds."""

    def __init__(self, rows: TenantRows) -> None:
        self._rows = rows

    async def get(self, build_id: str) -> Build | None:
        document = await self._rows.one({"_id": build_id, **IS_LIVE})
        return from_document(document) if document else None

    async def many(self, build_ids: Collection[str]) -> Sequence[Build]:
        return [from_document(d) for d in await self._rows.every({**id_condition(build_ids), **IS_LIVE})]

    async def page(self, app_id: str, page: Page) -> Sequence[Build]:
        documents = await self._rows.page({"app_id": app_id, **IS_LIVE}, _NEWEST_FIRST, page)
        return [from_document(document) for document in documents]

    async def newest(self, app_id: str) -> Build | None:
        builds = await self.page(app_id, Page(1, 1))
        return builds[0] if builds else None

    async def of_version(self, app_id: str, version: str) -> Build | None:
        document = await self._rows.one({"app_id": app_id, "version": version, **IS_LIVE})
        return from_document(document) if document else None

    async def of_versions(self, app_ids: Collection[str], versions: Collection[str]) -> Sequence[Build]:
        if not app_ids or not versions:
            return ()
        either = {"app_id": {"$in": list(app_ids)}, "version": {"$in": list(versions)}}
        return [from_document(document) for document in await self._rows.every({**either, **IS_LIVE})]

    async def of_app(self, app_id: str) -> Sequence[Build]:
        return [from_document(document) for document in await self._rows.every({"app_id": app_id, **IS_LIVE})]

    async def add(self, build: Build) -> None:
        await self._rows.add(to_document(build))

    async def replace(self, build: Build) -> None:
        await self._rows.put(to_document(build))

    async def delete_all(self, app_id: str, at: datetime) -> None:
        gone = {"$set": {"deleted_at": at, "live": False}, "$inc": {"revision": 1}}
        await self._rows.update_all({"app_id": app_id, **IS_LIVE}, gone)


def to_document(build: Build) -> Document:
    """The build as stored. Free-form metadata is stored as JSON text, because its keys may be anything."""
    metadata = json.dumps(build.metadata, ensure_ascii=False)
    return dump(build, metadata=metadata, live=build.deleted_at is None)


def from_document(document: Document) -> Build:
    """The build of a stored document."""
    return load(Build, document, metadata=json.loads(document["metadata"]))
