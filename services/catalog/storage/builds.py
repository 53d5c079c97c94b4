"""Builds as documents."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime

from services.catalog.model.builds import Build
from services.catalog.model.values import Page
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
    """The build as it is kept. Free-form metadata is kept as JSON text: its keys may be anything, operators too."""
    document = asdict(build)
    document["_id"] = document.pop("id")
    document["metadata"] = json.dumps(build.metadata, ensure_ascii=False)
    return document | {"live": build.deleted_at is None}


def from_document(document: Document) -> Build:
    """The build of a stored document."""
    return Build(
        id=document["_id"],
        org_id=document["org_id"],
        app_id=document["app_id"],
        version=document["version"],
        uploaded_at=document["uploaded_at"],
        artifact_url=document["artifact_url"],
        metadata=json.loads(document["metadata"]),
        owner=document["owner"],
        package_name=document["package_name"],
        was_reused=document["was_reused"],
        sha256=document["sha256"],
        size=document["size"],
        file_name=document["file_name"],
        revision=document["revision"],
        deleted_at=document["deleted_at"],
    )
