"""Apps and counters as documents."""

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from functools import lru_cache
from typing import Any

from services.catalog.model.apps import App, AppFilter
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.storage.documents import (
    IS_LIVE,
    LIST,
    LIST_OF_PLATFORM,
    NEWEST_FIRST,
    WITHOUT_SUFFIXES,
    MongoLiveEntities,
    decode,
    dump,
    find,
    find_raw,
    id_condition,
    load,
    search_condition,
    search_fields,
)
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection
from services.chassis.org_counts import Numbers, OrgCounts

APPS = "apps"
COUNTERS = "counters"

CACHED_APPS = 5_000
# Larger documents are not cached: a few thousand long prompts would fill the memory.
CACHED_APP_BYTES = 16 * 1024
FRESH_SECONDS = 1.0
PARTS = 8
RESERVED = "reserved"
_COUNTED = tuple(field.name for field in fields(Counts))


class MongoApps(MongoLiveEntities[App]):
    """The live apps. They are read far more often than they change, so decoded documents are cached by their bytes."""

    def __init__(self, rows: OrgCollection) -> None:
        super().__init__(rows, to_document, from_document)

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        searched = filter.pattern or filter.ids is not None
        index = None if searched else LIST_OF_PLATFORM if filter.platform else LIST
        return await self._find(_condition(filter), NEWEST_FIRST, page, index=index)

    async def count(self, filter: AppFilter) -> int:
        return await self._count_named(_condition(filter), filter.pattern)

    async def most_attached(self) -> int:
        documents = await find(self._rows, IS_LIVE, projection={"attached_tests": 1}, index=LIST)
        return max((document["attached_tests"] for document in documents), default=0)

    async def _find(self, condition: Document, sort: Any = None, page: Page | None = None, **options: Any) -> list[App]:
        live = {**condition, **IS_LIVE}
        documents = await find_raw(self._rows, live, sort, page, projection=WITHOUT_SUFFIXES, **options)
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
    """A few documents of counters per organisation, which add up, and one for each reservation.

    Two transactions that write one document conflict, and one has to be retried. With several documents, taken in
    turn by all transactions of the process, entities can be created concurrently.
    """

    _turns = itertools.count(os.getpid())

    def __init__(self, rows: OrgCollection) -> None:
        self._rows = rows

    async def get(self) -> Counts:
        return _sum(await find(self._rows, {}))

    async def with_reserved(self) -> Counts:
        parts = await find(self._rows, {})
        return _sum([*parts, *(part.get(RESERVED, {}) for part in parts)])

    async def add(self, change: Counts, *, alone: bool = False) -> None:
        if numbers := _numbers(change):
            part = 0 if alone else next(self._turns) % PARTS
            await self._rows.update_one({"_id": _id(part)}, {"$inc": numbers}, upsert=True)

    async def reserve(self, reservation_id: str, most: Counts, until: datetime) -> None:
        await self._rows.update_one({"_id": _id(0)}, {"$inc": {"reservations": 1}}, upsert=True)
        await self._rows.insert_one({"_id": _id(reservation_id), RESERVED: _numbers(most), "expires_at": until})

    async def use_reserved(self, reservation_id: str, used: Counts, until: datetime) -> None:
        left = {f"{RESERVED}.{name}": -number for name, number in _numbers(used).items()}
        update: Document = {"$set": {"expires_at": until}} | ({"$inc": left} if left else {})
        await self._rows.update_one({"_id": _id(reservation_id)}, update)

    async def release(self, reservation_id: str) -> None:
        await self._rows.delete_one({"_id": _id(reservation_id)})


def _id(part: int | str) -> str:
    return f"{context.current().org_id}/{part}"


def _sum(parts: Iterable[Mapping[str, int]]) -> Counts:
    counted = list(parts)
    return Counts(**{name: sum(part.get(name, 0) for part in counted) for name in _COUNTED})


def _numbers(change: Counts) -> Mapping[str, int]:
    return {name: number for name in _COUNTED if (number := getattr(change, name)) != 0}


class RecentCounters(MongoCounters):
    """The counters as they were within the last second; changes made in this process are seen at once.

    Reading them costs as much as the list itself, which carries them only as totals.
    """

    def __init__(self, rows: OrgCollection, clock: Clock) -> None:
        super().__init__(rows)
        self._counts = OrgCounts(self._read, FRESH_SECONDS, clock)

    async def get(self) -> Counts:
        return Counts(**await self._counts.get(context.current().org_id))

    def changed(self) -> None:
        """A transaction of the caller's organisation has been committed."""
        self._counts.forget(context.current().org_id)

    async def _read(self, _: str) -> Numbers:
        return asdict(await super().get())
