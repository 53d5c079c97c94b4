"""The store: all collections together, and transactions over them that end in the outbox."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TypeVar

from services.catalog.events import make_event
from services.catalog.ports import (
    Apps,
    ArrivingFiles,
    ArtifactUses,
    Attachments,
    Builds,
    Counters,
    Fact,
    FailureTriages,
    Keys,
    PartUploads,
    Sessions,
    Tests,
    Transaction,
    Workflows,
)
from services.catalog.storage.apps import APPS, COUNTERS, MongoApps, MongoCounters, RecentCounters
from services.catalog.storage.artifacts import ARTIFACTS, MongoArtifacts
from services.catalog.storage.attachments import ATTACHMENTS, MongoAttachments
from services.catalog.storage.builds import BUILDS, MongoBuilds
from services.catalog.storage.failures import FAILURE_TRIAGES, MongoFailureTriages
from services.catalog.storage.keys import KEYS, SESSIONS, MongoKeys, MongoSessions
from services.catalog.storage.part_uploads import ARRIVING_FILES, PART_UPLOADS, MongoArrivingFiles, MongoPartUploads
from services.catalog.storage.test_steps import TEST_STEPS
from services.catalog.storage.tests import TEST_VERSIONS, TESTS, MongoTests
from services.catalog.storage.workflows import WORKFLOWS, MongoWorkflows
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.events import Event
from services.chassis.fair_turns import FairTurns
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.mongo import Mongo, Session
from services.chassis.org_collection import OrgCollection
from services.chassis.outbox import Outbox

T = TypeVar("T")
# Transactions under way in this process: of all organisations, and of one.
CHANGES, CHANGES_OF_ORG = 64, 4
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class MongoRecords:
    """All collections, read and written within a session; None: outside of transactions."""

    def __init__(self, mongo: Mongo, clock: Clock, session: Session = None, *, is_sharing: bool) -> None:
        def rows(name: str) -> OrgCollection:
            return OrgCollection(mongo, name, session)

        self.apps: Apps = MongoApps(rows(APPS))
        self.counters: Counters = MongoCounters(rows(COUNTERS))
        self.builds: Builds = MongoBuilds(rows(BUILDS))
        self.artifacts: ArtifactUses = MongoArtifacts(rows(ARTIFACTS), clock)
        self.part_uploads: PartUploads = MongoPartUploads(rows(PART_UPLOADS), clock)
        self.arriving_files: ArrivingFiles = MongoArrivingFiles(rows(ARRIVING_FILES), clock)
        self.tests: Tests = MongoTests(rows(TESTS), rows(TEST_VERSIONS), rows(TEST_STEPS), is_sharing=is_sharing)
        self.attachments: Attachments = MongoAttachments(rows(ATTACHMENTS))
        self.failure_triages: FailureTriages = MongoFailureTriages(rows(FAILURE_TRIAGES))
        self.workflows: Workflows = MongoWorkflows(rows(WORKFLOWS))
        self.keys: Keys = MongoKeys(rows(KEYS))
        self.sessions: Sessions = MongoSessions(rows(SESSIONS))


class MongoChange(MongoRecords):
    """One transaction, and the facts to announce with it."""

    def __init__(self, mongo: Mongo, clock: Clock, session: Session, *, is_sharing: bool) -> None:
        super().__init__(mongo, clock, session, is_sharing=is_sharing)
        self.facts: list[Fact] = []

    def announce(self, *facts: Fact) -> None:
        self.facts.extend(facts)


class MongoStore(MongoRecords):
    """The port `Store` on MongoDB."""

    def __init__(self, mongo: Mongo, outbox: Outbox, clock: Clock, *, sharing_since: datetime = _ALWAYS) -> None:
        """`sharing_since`: as of `inline_steps.sharing_since`."""
        super().__init__(mongo, clock, is_sharing=clock.now() >= sharing_since)
        self._sharing_since = sharing_since
        self.counters = self._recent = RecentCounters(OrgCollection(mongo, COUNTERS), clock)
        self._mongo = mongo
        self._clock = clock
        self._outbox = outbox
        self._locks: KeyedLocks[str] = KeyedLocks()
        self._turns = FairTurns(CHANGES, per_org=CHANGES_OF_ORG, waiting_per_org=None, waiting=None)

    async def change(self, work: Callable[[Transaction], Awaitable[T]], *, of: str | None = None) -> T:
        """Do the work in one transaction, its events in the outbox; publish them once it is committed.

        Transactions that write the same document conflict and are retried, so those of one entity are serialised here,
        and an organisation has few at once: all of them that count something write its counters.
        """
        async with self._locks[of] if of else nullcontext(), self._turns.take(context.current().org_id):
            return await self._change(work)

    async def _change(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async def attempt(session: Session) -> tuple[T, list[Event]]:
            is_sharing = self._clock.now() >= self._sharing_since
            change = MongoChange(self._mongo, self._clock, session, is_sharing=is_sharing)
            result = await work(change)
            events = [make_event(self._outbox, fact) for fact in change.facts]
            await self._outbox.add(session, events)
            return result, events

        result, events = await self._mongo.transaction(attempt)
        # This process's own next list must show what it has just written.
        self._recent.changed()
        self._outbox.publish_soon(events)
        return result
