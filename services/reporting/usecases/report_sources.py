"""What reports are composed from, whose turn it is to compose one, and short waits for what callers know to exist."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from services.chassis.batcher import Batcher
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.errors import NotFound, Unavailable
from services.chassis.fair_turns import FairTurns
from services.reporting.model.snapshots import AppSnapshot, BuildSnapshot
from services.reporting.ports import CatalogTests, Failures, HealthSummaries, ReadModels, StoredHealth, Verdicts

# A turn at polling has a pause in it (see Polls), so these are also bounds on the reads a second.
POLLS_AT_ONCE, POLLS_OF_ORG = 10, 3
POLL_SECONDS = 0.02
# The most that one read is about; what more callers wait for is read after it.
KEYS_AT_ONCE = 100
T = TypeVar("T")
RETRY_AFTER_SECONDS = 2.0
BUILD_UNKNOWN = "Reporting has not heard of this build yet; try again"


class ReportTurns:
    """Take one after waiting for what is not known yet: who has a turn works. See FairTurns for the refusals."""

    def __init__(self, at_once: int = 4, *, per_org: int = 1, waiting_per_org: int = 64, waiting: int = 512) -> None:
        self._turns = FairTurns(at_once, per_org=per_org, waiting_per_org=waiting_per_org, waiting=waiting)
        self._polls = FairTurns(POLLS_AT_ONCE, per_org=POLLS_OF_ORG, waiting_per_org=None, waiting=None)

    def take(self) -> AbstractAsyncContextManager[None]:
        """A turn of the caller's organisation inside the block.

        Raises:
            ResourceExhausted: too many requests of the organisation wait.
            Unavailable: too many requests wait.
        """
        return self._turns.take(current().org_id)

    def poll(self) -> AbstractAsyncContextManager[None]:
        """A turn of the caller's organisation at polling, which is never refused."""
        return self._polls.take(current().org_id)


class UnkeptSummaries:
    """Summaries that are computed for each read."""

    async def find(self, app_ids: Collection[str]) -> Mapping[str, StoredHealth]:
        return {}

    async def save(self, stored: StoredHealth) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class ReportSources:
    """The read models, whose turn it is to read them, and how long a report waits for what they do not have yet.

    `revision_wait` and `ended_wait` are seconds: for the revision of an app, and for the ended runs of an execution.
    """

    read_models: ReadModels
    tests: CatalogTests
    verdicts: Verdicts
    failures: Failures
    clock: Clock
    turns: ReportTurns = field(default_factory=ReportTurns)
    revision_wait: float = 2.0
    ended_wait: float = 5.0
    summaries: HealthSummaries = field(default_factory=UnkeptSummaries)


class Polls(Generic[T]):
    """Polls for things of one kind by their ids, once for all callers of an organisation that wait for them."""

    def __init__(self, read: Callable[[Collection[str]], Awaitable[Mapping[str, T]]], turns: ReportTurns) -> None:
        """`read` leaves out what is not known."""
        self._read = read
        self._turns = turns
        # Two, so that a read that hangs keeps nobody waiting.
        self._shared: Batcher[str, T | None] = Batcher(self._read_later, max_in_flight=2, max_items=KEYS_AT_ONCE)

    async def until(self, key: str, is_enough: Callable[[T | None], bool], seconds: float) -> T | None:
        """What was read first that is enough, or last when the time is up."""
        clock = asyncio.get_running_loop().time
        value = (await self._read([key])).get(key)
        until = clock() + seconds
        with suppress(TimeoutError):
            while not is_enough(value) and (left := until - clock()) > 0:
                value = await self._shared.get(current(), key, left)
        return value

    async def _read_later(self, keys: Sequence[str]) -> Mapping[str, T | None]:
        async with self._turns.poll():
            await asyncio.sleep(POLL_SECONDS)
            return {**dict.fromkeys(keys), **await self._read(keys)}


class KnownApps:
    """The apps of the caller's organisation."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._polls = Polls(sources.read_models.apps_by_id, sources.turns)
        self._revision_wait = sources.revision_wait

    async def get(self, app_id: str, min_revision: int | None) -> AppSnapshot | None:
        """The app; `min_revision` waits (bounded) until its copy has that revision. A caller that knows one knows that
        there is an app: it gets None while it is not known yet.

        Raises:
            NotFound: it does not exist.
        """
        if min_revision is not None:
            return await self._polls.until(
                app_id, lambda app: app is not None and app.revision >= min_revision, self._revision_wait
            )
        app = (await self._read.apps_by_id([app_id])).get(app_id)
        if app is None:
            raise NotFound("App not found")
        return app


class KnownBuilds:
    """The builds of the caller's organisation that are not deleted."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._revisions = Polls(self._read_revisions, sources.turns)
        self._revision_wait = sources.revision_wait

    async def get(self, build_id: str, min_revision: int | None) -> BuildSnapshot:
        """The build; `min_revision` waits (bounded) until the copy of its app has that revision.

        Raises:
            NotFound: no such build.
            Unavailable: it is not known yet, although a caller that knows a revision knows it.
        """
        if min_revision is not None:
            await self._revisions.until(
                build_id, lambda revision: revision is not None and revision >= min_revision, self._revision_wait
            )
        return await self.find(build_id, exists=min_revision is not None)

    async def find(self, build_id: str, *, exists: bool) -> BuildSnapshot:
        """The build as it is known now; `exists`: the caller knows that there is one.

        Raises:
            NotFound: it does not exist.
            Unavailable: it is not known yet.
        """
        build_snapshot = (await self._read.builds_by_id([build_id])).get(build_id)
        if build_snapshot is None and exists:
            raise Unavailable(BUILD_UNKNOWN, retry_after=RETRY_AFTER_SECONDS)
        if build_snapshot is None or build_snapshot.deleted:
            raise NotFound("Build not found")
        return build_snapshot

    async def _read_revisions(self, build_ids: Collection[str]) -> dict[str, int]:
        """By build that exists, the revision of its app."""
        builds = [build for build in (await self._read.builds_by_id(build_ids)).values() if not build.deleted]
        apps = await self._read.apps_by_id({build.app_id for build in builds})
        return {build.build_id: apps[build.app_id].revision for build in builds if build.app_id in apps}
