"""Apps and counters as documents."""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from services.catalog.memo import Memo
from services.catalog.model.apps import App
from services.catalog.model.counts import Counts
from services.catalog.model.pages import Page
from services.catalog.model.platforms import Platform
from services.catalog.model.text import folded
from services.catalog.ports.apps import AppFilter
from services.catalog.storage.queries import LIVE, NEWEST_FIRST, Rows, among, named
from services.chassis import context
from services.chassis.mongo import Document

APPS = "apps"
COUNTERS = "counters"

AppMemo = Memo[tuple[str, int], App]
_COUNTED = ("ios", "android", "tests", "workflows")


class MongoApps:
    """The live apps. A document of one id and revision is made into an App once."""

    def __init__(self, rows: Rows, memo: AppMemo) -> None:
        self._rows = rows
        self._memo = memo

    async def get(self, app_id: str) -> App | None:
        document = await self._rows.one({"_id": app_id, **LIVE})
        return self._app(document) if document else None

    async def many(self, app_ids: Collection[str]) -> Sequence[App]:
        return [self._app(document) for document in await self._rows.every({**among(app_ids), **LIVE})]

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        documents = await self._rows.page(_condition(filter), NEWEST_FIRST, page)
        return [self._app(document) for document in documents]

    async def count(self, filter: AppFilter) -> int:
        return await self._rows.count(_condition(filter))

    async def add(self, app: App) -> None:
        await self._rows.add(to_document(app))

    async def replace(self, app: App) -> None:
        await self._rows.put(to_document(app))

    def _app(self, document: Document) -> App:
        return self._memo.get((document["_id"], document["revision"]), lambda: from_document(document))


def _condition(filter: AppFilter) -> Document:
    platform = {"platform": filter.platform.value} if filter.platform else {}
    return {**LIVE, **platform, **named(filter.pattern)}


def to_document(app: App) -> Document:
    """The app as it is kept, with what it is found by."""
    document = asdict(app)
    document["_id"] = document.pop("id")
    document["platform"] = app.platform.value
    return document | {"name_folded": folded(app.name), "live": app.deleted_at is None}


def from_document(document: Document) -> App:
    """The app that is kept."""
    return App(
        id=document["_id"],
        org_id=document["org_id"],
        name=document["name"],
        platform=Platform(document["platform"]),
        created_at=document["created_at"],
        updated_at=document["updated_at"],
        description=document["description"],
        static_url=document["static_url"],
        current_version=document["current_version"],
        system_prompt=document["system_prompt"],
        versions_count=document["versions_count"],
        latest_version=document["latest_version"],
        latest_build_id=document["latest_build_id"],
        current_build_id=document["current_build_id"],
        attached_tests=document["attached_tests"],
        pinned_tests=document["pinned_tests"],
        revision=document["revision"],
        deleted_at=document["deleted_at"],
    )


class MongoCounters:
    """One document of counters per organisation, its id the organisation's."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def get(self) -> Counts:
        document = await self._rows.one(_own_counters()) or {}
        return Counts(**{name: document.get(name, 0) for name in _COUNTED})

    async def add(self, change: Counts) -> None:
        changed = {name: number for name in _COUNTED if (number := getattr(change, name)) != 0}
        await self._rows.update(_own_counters(), {"$inc": changed}, upsert=True)


def _own_counters() -> Document:
    return {"_id": context.current().org_id}
