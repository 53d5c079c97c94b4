"""Builds as documents."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from services.catalog.model.builds import ALL_BUILDS, APPS_OF_PACKAGE, Build, BuildFilter
from services.catalog.model.values import Page
from services.catalog.storage.documents import IS_LIVE, MongoLiveEntities, dump, load
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection

BUILDS = "builds"
LIST_OF_APP = "list_of_app"

_NEWEST_FIRST = [("uploaded_at", -1), ("_id", -1)]


class MongoBuilds(MongoLiveEntities[Build]):
    """The live builds."""

    def __init__(self, rows: OrgCollection) -> None:
        super().__init__(rows, to_document, from_document)

    async def page(self, app_id: str, page: Page, filter: BuildFilter = ALL_BUILDS) -> Sequence[Build]:
        index = LIST_OF_APP if filter == ALL_BUILDS else None
        return await self._find(_condition(app_id, filter), _NEWEST_FIRST, page, index=index)

    async def count(self, app_id: str, filter: BuildFilter) -> int:
        return await self._count(_condition(app_id, filter))

    async def newest(self, app_id: str) -> Build | None:
        builds = await self.page(app_id, Page(1, 1))
        return builds[0] if builds else None

    async def of_version(self, app_id: str, version: str) -> Build | None:
        builds = await self._find({"app_id": app_id, "version": version})
        return builds[0] if builds else None

    async def of_versions(self, app_ids: Collection[str], versions: Collection[str]) -> Sequence[Build]:
        if not app_ids or not versions:
            return ()
        return await self._find({"app_id": {"$in": list(app_ids)}, "version": {"$in": list(versions)}})

    async def of_app(self, app_id: str) -> Sequence[Build]:
        return await self._find({"app_id": app_id})

    async def apps_of_package(self, package_name: str) -> Sequence[str]:
        """One seek for each app: an app may have thousands of builds."""
        app_ids: list[str] = []
        while len(app_ids) < APPS_OF_PACKAGE:
            later: Document = {"app_id": {"$gt": app_ids[-1]}} if app_ids else {}
            builds = await self._find({"package_name": package_name, **later}, [("app_id", 1)], Page(1, 1))
            if not builds:
                break
            app_ids.append(builds[0].app_id)
        return app_ids

    async def delete_all(self, app_id: str, at: datetime) -> None:
        emptied = {"metadata": "{}", "artifact_url": None, "file_name": None}
        gone = {"$set": {**emptied, "deleted_at": at, "live": False}, "$inc": {"revision": 1}}
        await self._rows.update_many({"app_id": app_id, **IS_LIVE}, gone)


def _condition(app_id: str, filter: BuildFilter) -> Document:
    fields = {"app_id": app_id, "sha256": filter.sha256, "version": filter.version}
    return {name: value for name, value in fields.items() if value is not None}


def to_document(build: Build) -> Document:
    """The build as stored. Free-form metadata is stored as JSON text, because its keys may be anything."""
    metadata = json.dumps(build.metadata, ensure_ascii=False)
    return dump(build, metadata=metadata, live=build.deleted_at is None)


def from_document(document: Document) -> Build:
    """The build of a stored document."""
    return load(Build, document, metadata=json.loads(document["metadata"]))
