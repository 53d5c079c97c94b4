"""Workers and their devices, as workers report them: who may use what, what is free, and what is gone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mobiletest_automation.model.devices import Platform


class WorkerState(StrEnum):
    """What a worker is doing. `lost`: it has been silent for longer than a lease."""

    ACTIVE = "active"
    STOPPING = "stopping"
    LOST = "lost"


class DeviceState(StrEnum):
    """Whether a device is in use."""

    FREE = "free"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """A device pool of a worker: `busy` are the numbers of the slots that the worker uses, from 1.

    `shared` names the devices if other workers use the same ones. `organisation` and `not_for` are as in the pool.
    """

    name: str
    platform: Platform
    slots: int
    busy: tuple[int, ...] = ()
    simulated: bool = False
    healthy: bool = True
    labels: tuple[str, ...] = ()
    shared: str | None = None
    organisation: str | None = None
    not_for: tuple[str, ...] = ()

    def accepts(self, org_id: str) -> bool:
        """Whether runs of the organisation may use the devices."""
        return self.organisation in (None, org_id) and org_id not in self.not_for


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What a worker reports of itself; `id` is that of the process, `name` that of its instance.

    `has_models`: it may ask a language model; None: it is of a version that does not say so.
    """

    id: str
    name: str
    slots: int
    running: int = 0
    stopping: bool = False
    pools: tuple[PoolReport, ...] = ()
    has_models: bool | None = None


@dataclass(frozen=True, slots=True)
class KnownWorker:
    """The last report of a worker, and whether it has been silent since then for too long."""

    report: WorkerReport
    started_at: datetime
    heartbeat_at: datetime
    silent: bool = False

    @property
    def state(self) -> WorkerState:
        if self.silent:
            return WorkerState.LOST
        return WorkerState.STOPPING if self.report.stopping else WorkerState.ACTIVE

    @property
    def running(self) -> int:
        """How many runs it has; those of a lost one go to other workers."""
        return 0 if self.state is WorkerState.LOST else self.report.running

    @property
    def free_slots(self) -> int:
        """How many more runs it takes."""
        return max(0, self.report.slots - self.report.running) if self.state is WorkerState.ACTIVE else 0


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool as one organisation sees it; `busy` are the slots that any worker uses.

    `devices` names the devices: pools of several workers may have the same ones.
    """

    pool: PoolReport
    devices: str
    busy: frozenset[int]
    available: bool

    @property
    def free(self) -> int:
        return max(0, self.pool.slots - len(self.busy)) if self.available else 0

    def device_state(self, number: int) -> DeviceState:
        """The state of the device in a slot."""
        if not self.available:
            return DeviceState.UNAVAILABLE
        return DeviceState.BUSY if number in self.busy else DeviceState.FREE


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker with those of its pools that one organisation may use."""

    worker: KnownWorker
    pools: tuple[PoolView, ...]

    def has_devices(self, platform: Platform) -> bool:
        """Whether one of these pools is of the platform."""
        return any(each.pool.platform is platform for each in self.pools)


class Fleet:
    """All workers of the deployment."""

    def __init__(self, workers: Iterable[KnownWorker]) -> None:
        self._workers = _without_replaced(list(workers))
        self._busy: dict[str, set[int]] = {}
        for worker in self._workers:
            if worker.state is not WorkerState.LOST:
                for pool in worker.report.pools:
                    self._busy.setdefault(_key(worker, pool), set()).update(pool.busy)

    def visible_to(self, org_id: str) -> list[WorkerView]:
        """The workers with devices that the organisation may use: those that work first, then by name."""
        order = list(WorkerState)
        views = [self._view(worker, org_id) for worker in self._workers]
        visible = [view for view in views if view.pools]
        return sorted(visible, key=lambda view: (order.index(view.worker.state), view.worker.report.name))

    def has_devices(self, platform: Platform, org_id: str) -> bool:
        """Whether any worker, even a lost one, has devices of the platform that the organisation may use."""
        pools = (pool for worker in self._workers for pool in worker.report.pools)
        return any(pool.platform is platform and pool.accepts(org_id) for pool in pools)

    def has_models(self, org_id: str) -> bool | None:
        """Whether a worker for the organisation, even a lost one, may ask a model; None unless all that work say so."""
        workers = [view.worker for view in self.visible_to(org_id)]
        if any(worker.report.has_models for worker in workers):
            return True
        present = [worker for worker in workers if worker.state is not WorkerState.LOST]
        return False if present and all(worker.report.has_models is False for worker in present) else None

    def _view(self, worker: KnownWorker, org_id: str) -> WorkerView:
        own = [pool for pool in worker.report.pools if pool.accepts(org_id)]
        return WorkerView(worker, tuple(self._pool_view(worker, pool) for pool in own))

    def _pool_view(self, worker: KnownWorker, pool: PoolReport) -> PoolView:
        devices = _key(worker, pool)
        busy = frozenset(number for number in self._busy.get(devices, ()) if number <= pool.slots)
        return PoolView(pool, devices, busy, pool.healthy and worker.state is WorkerState.ACTIVE)


def _key(worker: KnownWorker, pool: PoolReport) -> str:
    """Names the devices of a pool: simulated ones are each worker's own."""
    return pool.shared or f"{worker.report.id}/{pool.name}"


def _without_replaced(workers: Sequence[KnownWorker]) -> Sequence[KnownWorker]:
    """Without lost workers whose name another one has taken over."""
    working = {worker.report.name for worker in workers if not worker.silent}
    return [worker for worker in workers if not worker.silent or worker.report.name not in working]
