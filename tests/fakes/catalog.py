"""The catalog's store in memory: the same ports, the same unique values, changes that happen wholly or not at all."""

import copy
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from services.catalog.model.keys import ApiKey, Organisation, Session
from services.catalog.ports import Change, Fact
from tests.fakes.catalog_tables import (
    FakeApps,
    FakeArtifacts,
    FakeAttachments,
    FakeBuilds,
    FakeCounters,
    FakeKeys,
    FakeSessions,
    FakeTests,
    FakeWorkflows,
)

T = TypeVar("T")


class FakeRecords:
    """All tables."""

    def __init__(self) -> None:
        self.apps = FakeApps()
        self.counters = FakeCounters()
        self.builds = FakeBuilds()
        self.artifacts = FakeArtifacts()
        self.tests = FakeTests()
        self.attachments = FakeAttachments()
        self.workflows = FakeWorkflows()
        self.keys = FakeKeys()
        self.sessions = FakeSessions()


class FakeChange(FakeRecords):
    """A copy of the tables to work on, and the facts to announce."""

    def __init__(self, before: FakeRecords) -> None:
        self.__dict__ |= {name: copy.deepcopy(table) for name, table in before.__dict__.items() if name in _TABLES}
        self.facts: list[Fact] = []

    def announce(self, *facts: Fact) -> None:
        self.facts.extend(facts)


_TABLES = frozenset(FakeRecords().__dict__)


class FakeStore(FakeRecords):
    """The port `Store`; what was announced is in `facts`, how often was written in `changes`."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[Fact] = []
        self.changes = 0

    async def change(self, work: Callable[[Change], Awaitable[T]], *, of: str | None = None) -> T:
        change = FakeChange(self)
        result = await work(change)
        self.__dict__ |= {name: change.__dict__[name] for name in _TABLES}
        self.facts.extend(change.facts)
        self.changes += 1
        return result


class FakeKeyRing:
    """The keys of all organisations of a fake store; counts the look-ups."""

    def __init__(self, store: FakeStore) -> None:
        self._store = store
        self.lookups = 0
        self.uses: list[str] = []
        self.organisations: list[Organisation] = []

    async def find(self, lookup: str) -> ApiKey | None:
        self.lookups += 1
        keys = self._store.keys.rows.values()
        return next((key for key in keys if key.lookup == lookup and key.deleted_at is None), None)

    async def get(self, key_id: str) -> ApiKey | None:
        key = self._store.keys.rows.get(key_id)
        return key if key is not None and key.deleted_at is None else None

    async def find_session(self, lookup: str) -> Session | None:
        self.lookups += 1
        sessions = self._store.sessions.rows.values()
        return next((each for each in sessions if each.lookup == lookup and each.deleted_at is None), None)

    async def used(self, key: ApiKey, at: datetime) -> None:
        self.uses.append(key.id)
        self._store.keys.rows[key.id] = replace(key, last_used_at=at)

    async def add_organisation(self, organisation: Organisation) -> None:
        self.organisations.append(organisation)
