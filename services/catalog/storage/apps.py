"""Apps and counters as documents."""

import itertools
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from services.catalog.model.apps import App, AppFilter
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.ports import Counters
from services.catalog.storage.documents import (
    IS_LIVE,
    LIST,
    LIST_OF_PLATFORM,
    NEWEST_FIRST,
    WITHOUT_SUFFIXES,
    MongoLiveEntities,
    OrgRows,
    decode,
    dump,
    id_condition,
    load,
    search_condition,
    search_fields,
)
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.mongo import Document

APPS = "apps"
COUNTERS = "counters"

CACHED_APPS = 5_000
CACHED_APP_BYTES = 16 * 1024
"""Larger documents are not cached: a few thousand long prompts would fill the memory."""
PARTS = 8
_COUNTED = ("ios", "android", "tests", "workflows")


class MongoApps(MongoLiveEntities[App]):
    """The live apps. They are read far more often than they change, so decoded documents are cached by their bytes."""

    def __init__(self, rows: OrgRows) -> None:
        super().__init__(rows, to_document, from_document)

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        searched = filter.pattern or filter.ids is not None
        index = None if searched else LIST_OF_PLATFORM if filter.platform else LIST
        return await self._find(_condition(filter), NEWEST_FIRST, page, index=index)

    async def count(self, filter: AppFilter) -> int:
        return await self._count_named(_condition(filter), filter.pattern)

    async def _find(self, condition: Document, sort: Any = None, page: Page | None = None, **options: Any) -> list[App]:
        live = {**condition, **IS_LIVE}
        documents = await self._rows.find_raw(live, sort, page, projection=WITHOUT_SUFFIXES, **options)
        return [_decode_cached(raw) if len(raw) <= CACHED_APP_BYTES else _decode(raw) for raw in documents]


def _condition(filter: AppFilter) -> Document:
    platform = {"platform": filter.platform.value} if filter.platform else {}
    ids = id_condition(filter.ids) if filter.ids is not None else {}
    return {**platform, **ids, **search_condition(filter.pattern)}


def to_document(app: App) -> Document:
    """The app as stored, with the fields it is found by."""
    live = app.deleted_at is None
    return dump(app, platform=app.platform.value, live=live, **search_fields(app.name))


def from_document(document: Document) -> App:
    """The app of a stored document."""
    return load(App, document, platform=Platform(document["platform"]))


def _decode(raw: bytes) -> App:
    return from_document(decode(raw))


_decode_cached = lru_cache(CACHED_APPS)(_decode)


class MongoCounters:
    """A few documents of counters per organisation, which add up.

    Two transactions that write one document conflict, and one has to be retried. With several documents, taken in
    turn by all transactions of the process, entities can be created concurrently.
    """

    _turns = itertools.count(os.getpid())

    def __init__(self, rows: OrgRows) -> None:
        self._rows = rows

    async def get(self) -> Counts:
        parts = await self._rows.find({})
        return Counts(**{name: sum(part.get(name, 0) for part in parts) for name in _COUNTED})

    async def add(self, change: Counts) -> None:
        changed = {name: number for name in _COUNTED if (number := getattr(change, name)) != 0}
        part = f"{context.current().org_id}/{next(self._turns) % PARTS}"
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
            if len(self._read) >= CAPACITY:
                self._read.clear()
            self._read[org_id] = (now, counts)
        return counts

    async def add(self, change: Counts) -> None:
        await self._counters.add(change)
        self.changed()

    def changed(self) -> None:
        """A transaction of the caller's organisation has been committed."""
        self._changes += 1
        self._read.pop(context.current().org_id, None)
