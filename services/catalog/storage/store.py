"""The store: all collections together, and transactions over them that end in the outbox."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from services.catalog.model.facts import Fact
from services.catalog.ports.store import Change
from services.catalog.publisher import Publisher
from services.catalog.storage.apps import APPS, COUNTERS, AppMemo, MongoApps, MongoCounters
from services.catalog.storage.attachments import ATTACHMENTS, MongoAttachments
from services.catalog.storage.builds import ARTIFACTS, BUILDS, MongoArtifacts, MongoBuilds
from services.catalog.storage.keys import KEYS, MongoKeys
from services.catalog.storage.queries import Rows
from services.catalog.storage.tests import TEST_VERSIONS, TESTS, MongoTests
from services.catalog.storage.workflows import WORKFLOWS, MongoWorkflows
from services.chassis.clock import Clock
from services.chassis.events import Event
from services.chassis.mongo import Mongo, Session
from services.chassis.tenancy import Tenant

T = TypeVar("T")


class MongoRecords:
    """All collections, read and written within a session; None: outside of transactions."""

    def __init__(self, mongo: Mongo, clock: Clock, memo: AppMemo, session: Session = None) -> None:
        def rows(name: str) -> Rows:
            return Rows(Tenant(mongo, name), session)

        self.apps = MongoApps(rows(APPS), memo)
        self.counters = MongoCounters(rows(COUNTERS))
        self.builds = MongoBuilds(rows(BUILDS))
        self.artifacts = MongoArtifacts(rows(ARTIFACTS), clock)
        self.tests = MongoTests(rows(TESTS), rows(TEST_VERSIONS))
        self.attachments = MongoAttachments(rows(ATTACHMENTS))
        self.workflows = MongoWorkflows(rows(WORKFLOWS))
        self.keys = MongoKeys(rows(KEYS))


class MongoChange(MongoRecords):
    """One transaction, and the facts to announce with it.

    Its memo is its own: a revision that it has written and read may be aborted, and then be another one.
    """

    def __init__(self, mongo: Mongo, clock: Clock, session: Session) -> None:
        super().__init__(mongo, clock, AppMemo(), session)
        self.facts: list[Fact] = []

    def announce(self, *facts: Fact) -> None:
        self.facts.extend(facts)


class MongoStore(MongoRecords):
    """The port `Store` on MongoDB."""

    def __init__(self, mongo: Mongo, publisher: Publisher, clock: Clock) -> None:
        super().__init__(mongo, clock, AppMemo())
        self._mongo = mongo
        self._publisher = publisher
        self._clock = clock

    async def change(self, work: Callable[[Change], Awaitable[T]]) -> T:
        """Do the work in one transaction, its events in the outbox; publish them once it is committed."""

        async def attempt(session: Session) -> tuple[T, list[Event]]:
            change = MongoChange(self._mongo, self._clock, session)
            result = await work(change)
            return result, await self._publisher.add(session, change.facts)

        result, events = await self._mongo.transaction(attempt)
        self._publisher.committed(events)
        return result
