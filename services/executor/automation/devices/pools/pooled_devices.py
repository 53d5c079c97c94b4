"""The Devices port over pools: who holds which place, and where the next run goes."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from services.chassis import logs
from services.executor import telemetry
from services.executor.automation.devices.pools.config import load_pools
from services.executor.automation.devices.pools.hub_health import HealthPolicy, HubHealth, watch
from services.executor.automation.devices.pools.hubs import FileServing, Hubs, WebDriverHubs, app_location
from services.executor.automation.devices.pools.pool import Pool, PoolKind
from services.executor.automation.devices.port import Build, Device, DeviceFailure, DeviceInfo, OnSession, Seed
from services.executor.automation.devices.simulated.device import SimulatedDevice
from services.executor.model.failures import Category

log = logs.get(__name__)

WAIT_SECONDS = 30.0
BUSY_SECONDS = 900.0
"""Runs are claimed by platform: where its pools take different builds, more may have come than devices that fit."""
CLOSE_SECONDS = 20.0

_HUB_FAILURES = frozenset({Category.DEVICE_UNAVAILABLE, Category.NETWORK_ERROR, Category.SESSION_LOST})
"""How opening a session fails when the hub, or the device behind it, is to blame."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSlot:
    """One device of a pool, counted from 1."""

    pool: Pool
    number: int


class _HubFailure(Exception):
    """A session could not be opened, which another hub may do."""

    def __init__(self, failure: DeviceFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class PooledDevices:
    """Devices of pools, each given to one run at a time; the health of their hubs decides which pools are used."""

    def __init__(
        self,
        pools: Iterable[Pool],
        *,
        hubs: Hubs | None = None,
        files: FileServing | None = None,
        wait_seconds: float = WAIT_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
        rests: HealthPolicy = HealthPolicy(),  # noqa: B008 (frozen)
    ) -> None:
        """How long a run waits: `wait_seconds` for hubs that rest, `busy_seconds` for devices that other runs have.

        `files` is for hubs that do not see our disk.
        """
        self._pools = tuple(pools)
        self._hubs = hubs or WebDriverHubs()
        self._files = files
        self._wait_seconds = wait_seconds
        self._busy_seconds = busy_seconds
        urls = dict.fromkeys(pool.hub.target.url for pool in self._pools if pool.hub is not None)
        self._endpoints = {url: HubHealth(url, rests=rests, changed=self._turned) for url in urls}
        self._taken: set[DeviceSlot] = set()
        self._holders: dict[Device, tuple[DeviceSlot, ExitStack]] = {}
        self._freed = asyncio.Event()
        self._told: list[Callable[[], None]] = []
        self._show()

    @classmethod
    def load(cls, path: Path | None, *, files: FileServing | None = None) -> "PooledDevices":
        """From a YAML file; without one, simulated devices of both platforms. PoolsError, or OSError."""
        return cls(load_pools(path), files=files)

    @property
    def platforms(self) -> Sequence[str]:
        """Those that there are pools of, in health or not."""
        return list(dict.fromkeys(pool.platform for pool in self._pools))

    def slots(self, platform: str) -> int:
        """How many runs of the platform can go on at once: those on a hub that rests do, but no other can join them."""
        return sum(pool.slots if self._up(pool) else self._held(pool) for pool in self._of(platform))

    def free(self, platform: str) -> int:
        return sum(self._room(pool) for pool in self._of(platform))

    def on_change(self, call: Callable[[], None]) -> None:
        """Call this whenever a hub begins or ends to rest."""
        self._told.append(call)

    async def check(self) -> None:
        """Ask every hub for its status once."""
        await asyncio.gather(*(endpoint.look(self._hubs.ready) for endpoint in self._endpoints.values()))

    async def watch(self) -> None:
        """Look after the hubs until cancelled."""
        async with asyncio.TaskGroup() as group:
            for endpoint in self._endpoints.values():
                group.create_task(watch(endpoint, self._hubs.ready), name=f"hub {endpoint.url}")
            await asyncio.Event().wait()

    async def acquire(self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None) -> Device:
        """As the port says. A hub that cannot open a session rests, and the run goes to another pool at once."""
        left = self._fitting(platform, build)
        since = asyncio.get_running_loop().time()
        failure: DeviceFailure | None = None
        while left:
            place = await self._place(left, since, failure)
            try:
                return await self._held_open(place, build, seed, on_session)
            except _HubFailure as failed:
                failure = failed.failure
                left = [
                    pool for pool in left if pool.hub is None or self._endpoint(pool) is not self._endpoint(place.pool)
                ]
        raise failure or DeviceFailure(Category.DEVICE_UNAVAILABLE, f"there is no device for {platform}")

    async def release(self, device: Device) -> None:
        place, held = self._holders.pop(device, (None, ExitStack()))
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await device.close()
        except Exception as error:  # a device that cannot be closed must not keep its place
            log.warning("device_not_closed", device=device.info.name, error=repr(error))
        finally:
            held.close()
            if place is not None:
                self._give_back(place)
                if (endpoint := self._endpoint(place.pool)) is not None:
                    endpoint.check_soon()

    def _of(self, platform: str) -> list[Pool]:
        return [pool for pool in self._pools if pool.platform == platform]

    def _fitting(self, platform: str, build: Build) -> list[Pool]:
        """The pools that the build can run on: a browser shows web builds only, and these prefer one."""
        pools = self._of(platform)
        if not pools:
            raise DeviceFailure(Category.CONFIG_INVALID, f"no device pool for {platform} is configured")
        browsers = [pool for pool in pools if pool.hub is not None and pool.hub.opens_browsers]
        if build.static_url is not None:
            return browsers or pools
        if len(browsers) == len(pools):
            raise DeviceFailure(
                Category.CONFIG_INVALID,
                f"every device pool for {platform} is of browsers, which show builds with a static_url only",
            )
        return [pool for pool in pools if pool not in browsers]

    async def _place(self, pools: Sequence[Pool], since: float, failure: DeviceFailure | None) -> DeviceSlot:
        """A place in the pool with the most room, as soon as there is one."""
        while not any(self._room(pool) for pool in pools):
            busy = failure is None and any(self._up(pool) for pool in pools)
            patience = self._busy_seconds if busy else self._wait_seconds
            self._freed.clear()
            try:
                async with asyncio.timeout_at(since + patience):
                    await self._freed.wait()
            except TimeoutError as error:
                raise failure or self._none_free(pools, patience) from error
        pool = max(pools, key=self._room)
        numbers = {place.number for place in self._taken if place.pool is pool}
        place = DeviceSlot(pool, next(number for number in range(1, pool.slots + 1) if number not in numbers))
        self._taken.add(place)
        self._show()
        return place

    def _none_free(self, pools: Sequence[Pool], patience: float) -> DeviceFailure:
        resting = [endpoint.url for pool in pools if (endpoint := self._endpoint(pool)) and not endpoint.up]
        why = f" ({', '.join(dict.fromkeys(resting))} cannot be used at the moment)" if resting else ""
        message = f"no device for {pools[0].platform} became free within {patience:g} s{why}"
        return DeviceFailure(Category.DEVICE_UNAVAILABLE, message)

    async def _held_open(self, place: DeviceSlot, build: Build, seed: Seed, on_session: OnSession | None) -> Device:
        """The device of the place, which is given back if there is none."""
        held = ExitStack()
        try:
            device = await self._open(place, build, seed, on_session, held)
        except BaseException:
            held.close()
            self._give_back(place)
            raise
        self._holders[device] = (place, held)
        return device

    async def _open(
        self, place: DeviceSlot, build: Build, seed: Seed, on_session: OnSession | None, held: ExitStack
    ) -> Device:
        pool, endpoint = place.pool, self._endpoint(place.pool)
        simulated = pool.kind is PoolKind.SIMULATED
        info = DeviceInfo(pool.named(place.number), pool.platform, pool.kind, simulated=simulated)
        if pool.hub is None or endpoint is None:
            return SimulatedDevice(info, build, seed, pool.pace)
        app = await app_location(build, pool.hub, self._files, held)
        try:
            device = await self._hubs.open(pool.hub.target, info, build, app=app, on_session=on_session)
        except DeviceFailure as failure:
            telemetry.device_sessions.labels(pool.name, "failed").inc()
            if failure.category not in _HUB_FAILURES:
                raise
            endpoint.failed(failure.message)
            raise _HubFailure(failure) from failure
        telemetry.device_sessions.labels(pool.name, "opened").inc()
        endpoint.worked()
        return device

    def _give_back(self, place: DeviceSlot) -> None:
        self._taken.discard(place)
        self._freed.set()
        self._show()

    def _endpoint(self, pool: Pool) -> HubHealth | None:
        return self._endpoints[pool.hub.target.url] if pool.hub is not None else None

    def _up(self, pool: Pool) -> bool:
        endpoint = self._endpoint(pool)
        return endpoint is None or endpoint.up

    def _held(self, pool: Pool) -> int:
        return sum(place.pool is pool for place in self._taken)

    def _room(self, pool: Pool) -> int:
        return pool.slots - self._held(pool) if self._up(pool) else 0

    def _turned(self) -> None:
        """A hub has begun or ended to rest."""
        self._freed.set()
        self._show()
        for platform in self.platforms:
            if not any(self._up(pool) for pool in self._of(platform)):
                log.warning("no_endpoint_is_up", platform=platform)
        for call in self._told:
            call()

    def _show(self) -> None:
        for pool in self._pools:
            busy, free = self._held(pool), self._room(pool)
            for state, slots in (("busy", busy), ("free", free), ("resting", pool.slots - busy - free)):
                telemetry.device_slots.labels(pool.name, state).set(slots)
