"""The Devices port over pools: which device is in use, and where the next run goes."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure, DeviceInfo, OnSession, Seed
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.devices.webdriver import sessions
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category
from services.chassis import logs
from services.chassis.retry import log_transient
from services.executor import telemetry
from services.executor.model.workers import PoolReport
from services.executor.pools.config import load_pools
from services.executor.pools.hub_health import HealthPolicy, HubHealth, watch
from services.executor.pools.pool import FileServing, Pool, app_location, suitable_pools
from services.executor.pools.slots import DeviceSlot, PoolSlots, SlotLeases

log = logs.get(__name__)

WAIT_SECONDS = 30.0
# Runs are claimed by platform, so more may be claimed than there are devices that fit their builds.
BUSY_SECONDS = 900.0
# Includes cleaning the device.
CLOSE_SECONDS = 60.0
# How often a worker looks for slots that others freed.
SHARE_SECONDS = 1.0

# Categories of a failed session that the hub, or its device, is to blame for.
_HUB_FAILURES = frozenset({Category.DEVICE_UNAVAILABLE, Category.NETWORK_ERROR, Category.SESSION_LOST})


class Hubs(Protocol):
    """Where pools open devices: the module `webdriver.sessions`, or a fake."""

    async def open_device(
        self, target: HubTarget, info: DeviceInfo, build: AppUnderTest, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        """A device with a new session.

        Raises:
            DeviceFailure: then no session is left behind.
        """

    async def is_ready(self, url: str) -> bool:
        """Whether the hub answers in time and accepts sessions; never raises."""


class _HubFailure(DeviceFailure):
    """A session could not be opened; another hub may open it."""


class PooledDevices:
    """Devices of pools, each used by one run at a time; only pools with healthy hubs are used."""

    def __init__(
        self,
        pools: Iterable[Pool],
        *,
        hubs: Hubs = sessions,
        files: FileServing | None = None,
        leases: SlotLeases | None = None,
        wait_seconds: float = WAIT_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
        health_policy: HealthPolicy = HealthPolicy(),  # noqa: B008 (frozen)
    ) -> None:
        """A run waits up to `wait_seconds` for unhealthy hubs, up to `busy_seconds` for devices in use.

        `files` is for hubs that cannot read this worker's disk; `leases` share the slots of hubs between workers.
        """
        self._pools = tuple(pools)
        self._hubs = hubs
        self._files = files
        self._wait_seconds = wait_seconds
        self._busy_seconds = busy_seconds
        urls = dict.fromkeys(pool.hub.url for pool in self._pools if pool.hub is not None)
        self._health = {url: HubHealth(url, policy=health_policy, changed=self._on_health_change) for url in urls}
        self._slots = PoolSlots(self._pools, leases)
        self._holders: dict[Device, ExitStack] = {}
        self._freed = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self._update_metrics()

    @classmethod
    def load(
        cls,
        path: Path | None,
        *,
        simulated: bool,
        hubs: Hubs = sessions,
        addresses: Sequence[str] = (),
        files: FileServing | None = None,
        leases: SlotLeases | None = None,
    ) -> "PooledDevices":
        """The pools of `load_pools`.

        Raises:
            PoolFileError: the file is wrong.
            OSError: it cannot be read.
        """
        return cls(load_pools(path, addresses, simulated=simulated), hubs=hubs, files=files, leases=leases)

    @property
    def platforms(self) -> Sequence[str]:
        """The platforms of all pools, healthy or not."""
        return list(dict.fromkeys(pool.platform for pool in self._pools))

    def accepts(self, platform: str, org_id: str) -> bool:
        """Whether runs of the organisation may use devices of the platform."""
        return any(pool.accepts(org_id) for pool in self._of(platform))

    def slots(self, platform: str) -> int:
        """How many runs of the platform can go on at once; on an unhealthy hub only those that already run."""
        slots = self._slots
        return sum(slots.places(pool) if self._is_healthy(pool) else slots.taken(pool) for pool in self._of(platform))

    async def reserve(self, platform: str, runs: int) -> int:
        """Take slots for this many runs in all, before they are claimed; returns for how many there are slots."""
        healthy = [pool for pool in self._of(platform) if self._is_healthy(pool)]
        return await self._slots.reserve(healthy, platform, runs)

    def settle(self, platform: str, runs: int) -> None:
        """Free the slots that were taken for more runs than these."""
        if self._slots.settle(platform, runs):
            self._on_free_slot()

    def free(self, platform: str) -> int:
        return sum(self._free_slots(pool) for pool in self._of(platform))

    def reports(self) -> list[PoolReport]:
        """What this worker has and uses of each pool."""
        return [self._report(pool) for pool in self._pools]

    def _report(self, pool: Pool) -> PoolReport:
        return PoolReport(
            name=pool.name,
            platform=next(platform for platform in Platform if platform.lower() == pool.platform),
            slots=pool.slots,
            busy=tuple(sorted(self._slots.numbers(pool))),
            simulated=pool.hub is None,
            healthy=self._is_healthy(pool),
            labels=pool.labels,
            shared=self._slots.shared_name(pool),
            organisation=pool.organisation,
            not_for=tuple(sorted(pool.not_for)),
        )

    def on_change(self, call: Callable[[], None]) -> None:
        """Call this whenever the health of a hub changes, or other workers free slots of a pool that had none."""
        self._listeners.append(call)

    async def check(self) -> None:
        """Check the status of every hub once."""
        await asyncio.gather(*(health.check(self._hubs.is_ready) for health in self._health.values()))

    async def share_slots(self, *, renewal: float, every: float = SHARE_SECONDS) -> None:
        """Until cancelled: renew the leases of slots every `renewal` seconds, and look for slots that others freed."""
        try:
            await self._slots.share(self._on_change, every=every, renewal=renewal)
        finally:
            with log_transient(log, "pool_slots_not_returned"):
                await self._slots.renew()

    async def watch(self) -> None:
        """Check the hubs until cancelled."""
        async with asyncio.TaskGroup() as group:
            for health in self._health.values():
                group.create_task(watch(health, self._hubs.is_ready), name=f"hub {health.url}")
            await asyncio.Event().wait()

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        """Implement the port. If a hub cannot open a session, the run goes to another pool at once."""
        left = suitable_pools(self._of(platform), platform, build)
        since = asyncio.get_running_loop().time()
        failure: DeviceFailure | None = None
        while True:
            slot = await self._take_slot(left, since, failure)
            try:
                return await self._open_in_slot(slot, build, seed, on_session)
            except _HubFailure as error:
                failure, health = error, self._hub_health(slot.pool)
                # Pools may share a hub: another session there would fail in the same way.
                left = [pool for pool in left if self._hub_health(pool) is not health]
                if not left:
                    raise

    async def release(self, device: Device) -> None:
        held = self._holders.pop(device, ExitStack())
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await device.close()
        except Exception as error:  # a device that cannot be closed must not block its slot
            log.warning("device_not_closed", device=device.info.name, error=repr(error))
        finally:
            held.close()

    def _of(self, platform: str) -> list[Pool]:
        return [pool for pool in self._pools if pool.platform == platform]

    async def _take_slot(self, pools: Sequence[Pool], since: float, failure: DeviceFailure | None) -> DeviceSlot:
        """A slot in the pool with the most free slots, as soon as there is one."""
        while True:
            # Before looking: a slot that is freed while the leases are read is not missed.
            freed = self._freed
            slot = await self._slots.take([pool for pool in pools if self._is_healthy(pool)])
            if slot is not None:
                self._update_metrics()
                return slot
            busy = failure is None and any(self._is_healthy(pool) for pool in pools)
            patience = self._busy_seconds if busy else self._wait_seconds
            try:
                async with asyncio.timeout_at(since + patience):
                    await freed.wait()
            except TimeoutError as error:
                raise failure or self._none_free(pools, patience) from error

    def _none_free(self, pools: Sequence[Pool], patience: float) -> DeviceFailure:
        unhealthy = [pool.name for pool in pools if not self._is_healthy(pool)]
        why = f" (pools with unhealthy hubs: {', '.join(unhealthy)})" if unhealthy else ""
        message = f"no device for {pools[0].platform} became free within {patience:g} s{why}"
        return DeviceFailure(Category.DEVICE_UNAVAILABLE, message)

    async def _open_in_slot(
        self, slot: DeviceSlot, build: AppUnderTest, seed: Seed, on_session: OnSession | None
    ) -> Device:
        """The device of the slot, which is freed when the device is released, or at once if opening fails."""
        with ExitStack() as held:
            held.callback(self._free_slot, slot)
            device = await self._open(slot, build, seed, on_session, held)
            self._holders[device] = held.pop_all()
        return device

    async def _open(
        self, slot: DeviceSlot, build: AppUnderTest, seed: Seed, on_session: OnSession | None, held: ExitStack
    ) -> Device:
        pool, health = slot.pool, self._hub_health(slot.pool)
        browser = pool.hub is not None and pool.hub.opens_browsers
        name = pool.device_name(slot.number)
        info = DeviceInfo(name, pool.platform, simulated=pool.hub is None, browser=browser)
        if pool.hub is None or health is None:
            return SimulatedDevice(info, build, seed, pool.pace)
        app = await app_location(build, pool.hub, self._files, held)
        try:
            device = await self._hubs.open_device(pool.hub, info, build, app=app, on_session=on_session)
        except DeviceFailure as failure:
            telemetry.device_sessions.labels(pool.name, "failed").inc()
            if failure.category not in _HUB_FAILURES:
                raise
            health.report_failure(failure.message)
            raise _HubFailure(failure.category, failure.message) from failure
        telemetry.device_sessions.labels(pool.name, "opened").inc()
        health.report_success()
        held.callback(health.check_soon)
        return device

    def _free_slot(self, slot: DeviceSlot) -> None:
        self._slots.give_back(slot)
        self._on_free_slot()

    def _on_free_slot(self) -> None:
        self._freed.set()  # each change has its own event, so that none is missed while slots are asked for
        self._freed = asyncio.Event()
        self._update_metrics()

    def _hub_health(self, pool: Pool) -> HubHealth | None:
        return self._health[pool.hub.url] if pool.hub is not None else None

    def _is_healthy(self, pool: Pool) -> bool:
        health = self._hub_health(pool)
        return health is None or health.healthy

    def _free_slots(self, pool: Pool) -> int:
        return self._slots.free(pool) if self._is_healthy(pool) else 0

    def _on_health_change(self) -> None:
        for platform in self.platforms:
            if not any(self._is_healthy(pool) for pool in self._of(platform)):
                log.warning("no_endpoint_is_up", platform=platform)
        self._on_change()

    def _on_change(self) -> None:
        self._on_free_slot()
        for call in self._listeners:
            call()

    def _update_metrics(self) -> None:
        for pool in self._pools:
            busy, free = self._slots.taken(pool), self._free_slots(pool)
            resting = self._slots.places(pool) - busy - free
            for state, slots in (("busy", busy), ("free", free), ("resting", resting)):
                telemetry.device_slots.labels(pool.name, state).set(slots)
