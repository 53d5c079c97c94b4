"""The limits of organisations as the catalog knows them, cached, so that claims and model calls never wait for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace

import grpc
from mobiletest.types.v1 import limits_pb2

from mobiletest_automation.model.run_config import Screens
from services.chassis import logs
from services.chassis.clock import Clock, SystemClock
from services.chassis.context import Caller, bind
from services.chassis.errors import DomainError
from services.executor.model.organisation_limits import UNLIMITED, OrganisationLimits

FRESH_SECONDS = 30.0
RETRY_SECONDS = 5.0
MAX_ORGANISATIONS = 10_000
# Refreshes in the background at the same time; others are started when they are asked for again.
MAX_REFRESHES = 4

# The limits that an operator has set for the organisation of the current caller.
Load = Callable[[], Awaitable[limits_pb2.OrganisationLimits]]

_NUMBERS = (
    "queued_runs",
    "concurrent_runs",
    "model_calls_per_day",
    "model_tokens_per_day",
    "baseline_bytes",
    "evidence_bytes",
    "runs_per_day",
    "stored_runs",
    "screen_bytes",
)

log = logs.get(__name__)


class OrganisationLimitsCache:
    """Limits older than half a minute are refreshed in the background; the old ones hold until then.

    While the catalog does not answer, the last known ones hold, or the defaults.
    """

    def __init__(self, load: Load, defaults: OrganisationLimits = UNLIMITED, clock: Clock | None = None) -> None:
        self._load = load
        self._defaults = defaults
        self._clock = clock or SystemClock()
        self._known: OrderedDict[str, tuple[OrganisationLimits, float]] = OrderedDict()
        self._loading: dict[str, asyncio.Task[OrganisationLimits]] = {}

    def known(self, org_id: str) -> OrganisationLimits:
        """The limits as far as they are known; what is missing or old is loaded in the background."""
        loaded = self._known.get(org_id)
        if (loaded is None or self._clock.monotonic() >= loaded[1]) and len(self._loading) < MAX_REFRESHES:
            self._start_loading(org_id)
        return loaded[0] if loaded is not None else self._defaults

    async def get(self, org_id: str) -> OrganisationLimits:
        """The limits; waits for the catalog if none are known."""
        if org_id in self._known:
            return self.known(org_id)
        return await asyncio.shield(self._start_loading(org_id))

    def put(self, org_id: str, message: limits_pb2.OrganisationLimits) -> OrganisationLimits:
        """Keep limits that came with another answer of the catalog."""
        limits = _with_overrides(self._defaults, message)
        self._keep(org_id, limits, FRESH_SECONDS)
        return limits

    def _start_loading(self, org_id: str) -> asyncio.Task[OrganisationLimits]:
        task = self._loading.get(org_id)
        if task is None:
            task = self._loading[org_id] = asyncio.create_task(self._refresh(org_id))
            task.add_done_callback(lambda _: self._loading.pop(org_id, None))
        return task

    async def _refresh(self, org_id: str) -> OrganisationLimits:
        try:
            with bind(Caller(org_id=org_id)):
                return self.put(org_id, await self._load())
        except (grpc.aio.AioRpcError, DomainError, TimeoutError) as error:
            log.warning("limits_not_loaded", org_id=org_id, error=type(error).__name__)
            known = self._known.get(org_id)
            limits = known[0] if known is not None else self._defaults
            self._keep(org_id, limits, RETRY_SECONDS)
            return limits

    def _keep(self, org_id: str, limits: OrganisationLimits, seconds: float) -> None:
        self._known[org_id] = limits, self._clock.monotonic() + seconds
        self._known.move_to_end(org_id)
        if len(self._known) > MAX_ORGANISATIONS:
            self._known.popitem(last=False)


def _with_overrides(defaults: OrganisationLimits, message: limits_pb2.OrganisationLimits) -> OrganisationLimits:
    given = {name: getattr(message, name) for name in _NUMBERS if message.HasField(name)}
    return replace(
        defaults,
        **given,
        allowed_models=tuple(message.allowed_models),
        script_hosts=tuple(message.script_hosts),
        screens=next((word for word in Screens if word == message.screens), defaults.screens),
    )
