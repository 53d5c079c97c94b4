"""Stores the trees and pictures of screens that attempts of this worker send, once in an organisation."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from services.chassis import logs
from services.chassis.clock import Clock, SystemClock
from services.chassis.limit_refusals import refusals
from services.chassis.org_counts import MAX_ORGANISATIONS, Numbers, OrgCounts
from services.executor import telemetry
from services.executor.model.screens import OVERHEAD_BYTES, ScreenKey
from services.executor.ports.organisation_limits import OrganisationLimitsSource
from services.executor.ports.screens import WrittenScreens
from services.executor.worker.known_screens import KnownScreens

# How long an attempt waits for the storage, and how long none waits after that.
STORE_SECONDS = 5.0
AWAY_SECONDS = 30.0
# For what other workers store; what this one stores is counted at once.
COUNTED_SECONDS = 60.0
# Of what was referred to today.
MOST_REMEMBERED = 50_000
# Screens are refused when they take this share of screen_bytes: the sweep deletes what is above it, and needs time.
REFUSED_FROM = 1.1

AWAY = "the store of screens is not available"
FULL = "the organisation's screens take as many bytes as they may (screen_bytes)"

# The organisation, the build and the state of a screen.
PictureKey: TypeAlias = tuple[str, str | None, str]

T = TypeVar("T")
log = logs.get(__name__)


class WorkerScreens:
    """Never raises, and remembers what was referred to today, so that repeated runs cost no query a step."""

    def __init__(
        self,
        screens: WrittenScreens,
        limits: OrganisationLimitsSource,
        clock: Clock | None = None,
        *,
        store_seconds: float = STORE_SECONDS,
    ) -> None:
        self._screens = screens
        self._limits = limits
        self._clock = clock or SystemClock()
        self._store_seconds = store_seconds
        self._counts = OrgCounts(self._count, COUNTED_SECONDS, self._clock)
        self._known = KnownScreens(self._clock, most=MOST_REMEMBERED)
        self._away_until: dict[str, float] = {}
        self._pictures: OrderedDict[PictureKey, ScreenKey] = OrderedDict()

    def picture_of(self, key: PictureKey) -> ScreenKey | None:
        """The picture of a screen in a state that a run of the build has had on this worker; None if none is known."""
        return self._pictures.get(key)

    def note_picture(self, key: PictureKey, picture: ScreenKey) -> None:
        self._pictures[key] = picture
        self._pictures.move_to_end(key)
        if len(self._pictures) > MOST_REMEMBERED:
            self._pictures.popitem(last=False)

    async def has(self, key: ScreenKey) -> bool:
        """Whether it is stored; then it is kept as long as if it were stored now. False if that cannot be found out."""
        if key in self._known:
            return True
        today = self._known.today
        stored = await self._in_time(key, lambda: self._screens.refresh(key, today))
        if stored:
            self._known.add(key, today)
        return stored is True

    async def keep(self, key: ScreenKey, content: bytes, content_type: str) -> str:
        """Store it. Returns why it was not stored; "" if it was."""
        reason = await self._in_time(key, lambda: self._keep(key, content, content_type))
        if reason is None:
            telemetry.screen_failures.inc()
        return AWAY if reason is None else reason

    async def _keep(self, key: ScreenKey, content: bytes, content_type: str) -> str:
        limit = (await self._limits.get(key.org_id)).screen_bytes
        counted = {"screen_bytes": len(content) + OVERHEAD_BYTES}
        if limit is not None and await self._is_full(key.org_id, limit, counted["screen_bytes"]):
            refusals.labels("screen_bytes").inc()
            return FULL
        today = self._known.today
        with self._counts.adding(key.org_id, counted):
            await self._screens.store(key, content, content_type, today)
        self._known.add(key, today)
        return ""

    async def _is_full(self, org_id: str, limit: int, more: int) -> bool:
        if not limit:
            return True
        return (await self._counts.get(org_id))["screen_bytes"] + more > limit * REFUSED_FROM

    async def _in_time(self, key: ScreenKey, call: Callable[[], Awaitable[T]]) -> T | None:
        """The result of the call; None if it fails or takes too long, and for a while after that.

        That is so for each organisation on its own, because it may be its own bytes that take too long to add up.
        """
        if self._clock.monotonic() < self._away_until.get(key.org_id, 0.0):
            return None
        try:
            async with asyncio.timeout(self._store_seconds):
                result = await call()
        except Exception as error:
            log.warning("screen_store_is_away", org_id=key.org_id, error=repr(error))
            if len(self._away_until) >= MAX_ORGANISATIONS:
                self._away_until.clear()
            self._away_until[key.org_id] = self._clock.monotonic() + AWAY_SECONDS
            return None
        self._away_until.pop(key.org_id, None)
        return result

    async def _count(self, org_id: str) -> Numbers:
        return {"screen_bytes": await self._screens.used_bytes(org_id)}


class BuildScreens:
    """The port `ScreenStore`, of the runs of one build; of an unknown one no pictures are shared."""

    def __init__(self, screens: WorkerScreens, org_id: str, build_id: str | None) -> None:
        self._screens = screens
        self._org_id = org_id
        self._build_id = build_id

    async def picture_of(self, state: str) -> str:
        key = self._screens.picture_of((self._org_id, self._build_id, state)) if self._build_id and state else None
        return key.hash if key is not None and await self._screens.has(key) else ""

    async def has(self, hash: str, state: str = "") -> bool:
        key = ScreenKey(self._org_id, hash)
        stored = await self._screens.has(key)
        self._note(state, key, stored=stored)
        return stored

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        key = ScreenKey(self._org_id, hash)
        reason = await self._screens.keep(key, content, content_type)
        self._note(state, key, stored=not reason)
        return reason

    def _note(self, state: str, key: ScreenKey, *, stored: bool) -> None:
        if stored and state and self._build_id:
            self._screens.note_picture((self._org_id, self._build_id, state), key)
