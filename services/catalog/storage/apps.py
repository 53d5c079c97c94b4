"""Apps and counters as documents."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC

import bson
from bson.codec_options import CodecOptions

from services.catalog.memo import Memo
from services.catalog.model.apps import App
from services.catalog.model.text import fold_case
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.ports import AppFilter, Counters
from services.catalog.storage.documents import dump, load
from services.catalog.storage.tenant_rows import IS_LIVE, NEWEST_FIRST, TenantRows, id_condition, name_condition
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.mongo import Document

APPS = "apps"
COUNTERS = "counters"

AppMemo = Memo[bytes, App]
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)
PARTS = 8
_COUNTED = ("ios", "android", "tests", "workflows")


class MongoApps:
    """The live apps. They are read far more often than they change, so decoded documents are cached by their bytes."""

    def __init__(self, rows: TenantRows, memo: AppMemo) -> None:
        self._rows = rows
        self._memo = memo

    async def get(self, app_id: str) -> App | None:
        found = await self.many([app_id])
        return found[0] if found else None

    async def many(self, app_ids: Collection[str]) -> Sequence[App]:
        if not app_ids:
            return ()
        return self._apps(await self._rows.raw({**id_condition(app_ids), **IS_LIVE}))

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
    return {**IS_LIVE, **platform, **name_condition(filter.pattern)}


def to_document(app: App) -> Document:
    """The app as stored, with the fields it is found by."""
    live = app.deleted_at is None
    return dump(app, platform=app.platform.value, name_folded=fold_case(app.name), live=live)


def _decoded(document: bytes) -> App:
    return from_document(bson.decode(document, _CODEC))


def from_document(document: Document) -> App:
    """The app of a stored document."""
    return load(App, document, platform=Platform(document["platform"]))


class MongoCounters:
    """A few documents of counters per organisation, which add up.

    Two transactions that write one document conflict, and one has to be retried. With several documents, taken in
    turn (`shards` never ends), entities can be created concurrently.
    """

    def __init__(self, rows: TenantRows, shards: Iterator[int]) -> None:
        self._rows = rows
        self._shards = shards

    async def get(self) -> Counts:
        parts = await self._rows.every({})
        return Counts(**{name: sum(part.get(name, 0) for part in parts) for name in _COUNTED})

    async def add(self, change: Counts) -> None:
        changed = {name: number for name in _COUNTED if (number := getattr(change, name)) != 0}
        part = f"{context.current().org_id}/{next(self._shards) % PARTS}"
        await self._rows.update({"_id": part}, {"$inc": changed}, upsert=True)


FRESH_SECONDS = 1.0
CAPACITY = 10_000


class RecentCounters:
    """The counters as they were within the last second; changes made in this process are seen at once.

    Reading them costs as much as the list itself, which carries them only as totals.
    """

    def __init__(self, counters: Counters, clock: Clock) -> None:
        self._counters = counters
        self._clock = clock
        self._read: dict[str, tuple[float, Counts]] = {}
        self._changes = 0

    async def get(self) -> Counts:
        org_id, now = context.current().org_id, self._clock.monotonic()
        read = self._read.get(org_id)
        if read is not None and now - read[0] < FRESH_SECONDS:
            return read[1]
        changes = self._changes
        counts = await self._counters.get()
        if changes == self._changes:  # else it may be from before the change
            self._keep(org_id, now, counts)
        return counts

    async def add(self, change: Counts) -> None:
        await self._counters.add(change)
        self.changed()

    def changed(self) -> None:
        """A transaction of the caller's organisation has been committed."""
        self._changes += 1
        self._read.pop(context.current().org_id, None)

    def _keep(self, org_id: str, now: float, counts: Counts) -> None:
        if len(self._read) >= CAPACITY:
            self._read.clear()
        self._read[org_id] = (now, counts)
