"""Apps and counters as documents."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC

import bson
from bson.codec_options import CodecOptions

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

AppMemo = Memo[bytes, App]
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)
PARTS = 8
_COUNTED = ("ios", "android", "tests", "workflows")


class MongoApps:
    """The live apps. They are read far more often than they change, so the same bytes are made into an App once."""

    def __init__(self, rows: Rows, memo: AppMemo) -> None:
        self._rows = rows
        self._memo = memo

    async def get(self, app_id: str) -> App | None:
        found = await self.many([app_id])
        return found[0] if found else None

    async def many(self, app_ids: Collection[str]) -> Sequence[App]:
        if not app_ids:
            return ()
        return self._apps(await self._rows.raw({**among(app_ids), **LIVE}))

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        return self._apps(await self._rows.raw(_condition(filter), NEWEST_FIRST, page))

    async def count(self, filter: AppFilter) -> int:
        return await self._rows.count(_condition(filter))

    async def add(self, app: App) -> None:
        await self._rows.add(to_document(app))

    async def replace(self, app: App) -> None:
        await self._rows.put(to_document(app))

    def _apps(self, documents: Sequence[bytes]) -> Sequence[App]:
        return [self._memo.get(document, _decoded, document, size=len(document)) for document in documents]


def _condition(filter: AppFilter) -> Document:
    platform = {"platform": filter.platform.value} if filter.platform else {}
    return {**LIVE, **platform, **named(filter.pattern)}


def to_document(app: App) -> Document:
    """The app as it is kept, with what it is found by."""
    document = asdict(app)
    document["_id"] = document.pop("id")
    document["platform"] = app.platform.value
    return document | {"name_folded": folded(app.name), "live": app.deleted_at is None}


def _decoded(document: bytes) -> App:
    return from_document(bson.decode(document, _CODEC))


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
    """A few documents of counters per organisation, which add up.

    In a transaction a second write to one document fails and has to be tried again. With several documents, taken in
    turn (`places` goes on for ever), things can be made at the same time.
    """

    def __init__(self, rows: Rows, places: Iterator[int]) -> None:
        self._rows = rows
        self._places = places

    async def get(self) -> Counts:
        parts = await self._rows.every({})
        return Counts(**{name: sum(part.get(name, 0) for part in parts) for name in _COUNTED})

    async def add(self, change: Counts) -> None:
        changed = {name: number for name in _COUNTED if (number := getattr(change, name)) != 0}
        part = f"{context.current().org_id}/{next(self._places) % PARTS}"
        await self._rows.update({"_id": part}, {"$inc": changed}, upsert=True)
