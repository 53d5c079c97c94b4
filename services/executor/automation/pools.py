"""Device pools: what devices a worker has, as a YAML file says, and who holds them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from services.chassis import logs
from services.executor.automation.devices import Build, Device, DeviceFailure, DeviceInfo, OnSession, Seed
from services.executor.automation.simulated.device import SimulatedDevice
from services.executor.automation.simulated.model import NO_PACE, Pace
from services.executor.model.failures import Category
from services.flows.documents import read_yaml
from services.flows.nodes import DocumentError, Node, given

log = logs.get(__name__)

PLATFORMS = ("android", "ios")
Kind = Literal["simulated", "webdriver"]
KINDS: tuple[Kind, ...] = ("simulated", "webdriver")

SLOTS_LIMIT = 1_000
DEFAULT_SLOTS = 4
WAIT_SECONDS = 30.0
CLOSE_SECONDS = 20.0

_FIELDS = ("name", "platform", "kind", "slots", "step_delay", "time_scale", "url", "capabilities", "labels")


class PoolsError(DocumentError):
    """The pools file cannot be used: path, line and column, and what is wrong there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Devices of one kind. `slots` is how many may be held at once; `pace` is for simulated ones."""

    name: str
    platform: str
    kind: Kind
    slots: int = DEFAULT_SLOTS
    pace: Pace = NO_PACE


class Pools:
    """The Devices port over pools."""

    def __init__(self, pools: Iterable[Pool], *, wait_seconds: float = WAIT_SECONDS) -> None:
        """`wait_seconds` is how long a run waits for a free device."""
        self._pools = tuple(pools)
        self._wait_seconds = wait_seconds
        self._held: Counter[str] = Counter()
        self._holders: dict[Device, tuple[Pool, int]] = {}
        self._freed = asyncio.Event()

    @classmethod
    def load(cls, path: Path | None) -> "Pools":
        """From a YAML file; without one, simulated devices of both platforms. PoolsError, or OSError."""
        return cls(DEFAULT if path is None else read_pools(path.read_text(encoding="utf-8")))

    def slots(self, platform: str) -> int:
        """How many runs of the platform can go on at once."""
        return sum(pool.slots for pool in self._of(platform))

    def free(self, platform: str) -> int:
        return sum(pool.slots - self._held[pool.name] for pool in self._of(platform))

    async def acquire(
        self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        if not self._of(platform):
            raise DeviceFailure(Category.CONFIG_INVALID, f"no device pool for {platform} is configured")
        try:
            async with asyncio.timeout(self._wait_seconds):
                pool, number = await self._place(platform)
        except TimeoutError as error:
            raise DeviceFailure(
                Category.DEVICE_UNAVAILABLE, f"no device for {platform} became free within {self._wait_seconds:g} s"
            ) from error
        try:
            device = self._open(pool, number, build, seed)
        except DeviceFailure:
            self._give_back(pool)
            raise
        self._holders[device] = (pool, number)
        return device

    async def release(self, device: Device) -> None:
        pool, _ = self._holders.pop(device, (None, 0))
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await device.close()
        except Exception as error:  # a device that cannot be closed must not keep its place
            log.warning("device_not_closed", device=device.info.name, error=repr(error))
        finally:
            if pool is not None:
                self._give_back(pool)

    def _of(self, platform: str) -> list[Pool]:
        return [pool for pool in self._pools if pool.platform == platform]

    async def _place(self, platform: str) -> tuple[Pool, int]:
        while self.free(platform) <= 0:
            self._freed.clear()
            await self._freed.wait()
        pool = max(self._of(platform), key=lambda pool: pool.slots - self._held[pool.name])
        self._held[pool.name] += 1
        taken = {number for held, number in self._holders.values() if held is pool}
        return pool, next(number for number in range(1, pool.slots + 1) if number not in taken)

    def _give_back(self, pool: Pool) -> None:
        self._held[pool.name] -= 1
        self._freed.set()

    def _open(self, pool: Pool, number: int, build: Build, seed: Seed) -> Device:
        if pool.kind != "simulated":
            raise DeviceFailure(
                Category.CONFIG_INVALID,
                f"the device pool {pool.name} is of the kind {pool.kind}, which is not available; available: simulated",
            )
        info = DeviceInfo(f"{pool.name}-{number}", pool.platform, pool.kind, simulated=True)
        return SimulatedDevice(info, build, seed, pool.pace)


DEFAULT = tuple(Pool(name=f"simulated-{platform}", platform=platform, kind="simulated") for platform in PLATFORMS)
"""The pools of a worker that was given no file."""


def read_pools(text: str) -> tuple[Pool, ...]:
    """The pools of a YAML text: `pools:` and a list of them."""
    try:
        entries = read_yaml(
            text,
            "",
        ).fields(("pools",), required=("pools",))
        pools = tuple(_pool(node) for node in entries["pools"].items())
        names = Counter(pool.name for pool in pools)
        for node, pool in zip(entries["pools"].items(), pools, strict=True):
            if names[pool.name] > 1:
                raise node.fault(f'two pools are called "{pool.name}"')
        if not pools:
            raise entries["pools"].fault("there is no pool")
    except DocumentError as error:
        raise PoolsError(error.path, error.line, error.column, error.message) from error
    return pools


def _pool(node: Node) -> Pool:
    entries = node.fields(_FIELDS, required=("platform", "kind"))
    platform = entries["platform"].choice(PLATFORMS)
    kind = cast("Kind", entries["kind"].choice(KINDS))
    slots = given(entries, "slots", lambda found: found.integer(1, SLOTS_LIMIT))
    return Pool(
        name=given(entries, "name", lambda found: found.string(limit=100)) or f"{kind}-{platform}",
        platform=platform,
        kind=kind,
        slots=slots or DEFAULT_SLOTS,
        pace=_pace(entries),
    )


def _pace(entries: Mapping[str, Node]) -> Pace:
    return Pace(
        step=given(entries, "step_delay", lambda found: found.seconds(0, 600)) or 0.0,
        scale=given(entries, "time_scale", lambda found: found.number(0, 10)) or 0.0,
    )
