"""Why a run waits, and what can be done about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mobiletest_automation.model.devices import Platform
from services.executor.model.runs import Run
from services.executor.model.workers import WorkerState, WorkerView


class WaitReason(StrEnum):
    """Why a run waits; the protos describe each."""

    NEXT = "next"
    NO_FREE_DEVICE = "no_free_device"
    RUN_LIMIT = "run_limit"
    NO_WORKER = "no_worker"
    DEVICES_UNAVAILABLE = "devices_unavailable"
    RETRY_PAUSE = "retry_pause"


@dataclass(frozen=True, slots=True)
class Capacity:
    """What runs of an organisation can use on one platform: devices in all (of workers that work), and free ones.

    A device of a worker whose slots are all in use is not free. `reachable`: some device is not unavailable.
    """

    devices: int
    free: int
    reachable: bool

    @classmethod
    def of(cls, workers: Sequence[WorkerView], platform: Platform) -> "Capacity":
        """The capacity of the workers that the organisation sees."""
        devices, free_devices = dict[str, int](), dict[str, int]()
        free, reachable = 0, False
        for view in (each for each in workers if each.worker.state is WorkerState.ACTIVE):
            pools = [each for each in view.pools if each.pool.platform is platform]
            devices |= {each.devices: each.pool.slots for each in pools}
            free_devices |= {each.devices: max(each.free, free_devices.get(each.devices, 0)) for each in pools}
            free += min(view.worker.free_slots, sum(each.free for each in pools))
            reachable = reachable or any(each.available for each in pools)
        return cls(sum(devices.values()), min(free, sum(free_devices.values())), reachable)


@dataclass(frozen=True, slots=True)
class RunUse:
    """How many runs of the organisation are in progress, and how many may be; None: any number."""

    running: int
    limit: int | None


def wait_reason(run: Run, ahead: int, capacity: Capacity, use: RunUse, now: datetime) -> WaitReason:
    """Why the run waits; `ahead` is the number of the organisation's runs that are claimed before it."""
    if run.claimable_at is not None and run.claimable_at > now:
        return WaitReason.RETRY_PAUSE
    if not capacity.devices:
        return WaitReason.NO_WORKER
    if not capacity.reachable:
        return WaitReason.DEVICES_UNAVAILABLE
    if use.limit is not None and use.running + min(ahead, capacity.free) >= use.limit:
        return WaitReason.RUN_LIMIT
    return WaitReason.NO_FREE_DEVICE if ahead >= capacity.free else WaitReason.NEXT


def sentence(reason: WaitReason, platform: Platform, capacity: Capacity, use: RunUse) -> str:
    """What the reason means, and what can be done."""
    match reason:
        case WaitReason.RETRY_PAUSE:
            return "It pauses before its next attempt, after a failure of the infrastructure."
        case WaitReason.NO_WORKER:
            return (
                f"No worker has {platform} devices: ask the operator for some (MOBILETEST_DEVICE_POOLS, or "
                "MOBILETEST_SIMULATED_DEVICES to try out), or cancel the execution."
            )
        case WaitReason.DEVICES_UNAVAILABLE:
            return f"No hub of {platform} devices answers: the run starts as soon as one does."
        case WaitReason.RUN_LIMIT:
            return (
                f"The organisation's limit of runs in progress (concurrent_runs) is {use.limit}: it starts when one "
                "ends. Ask the operator for more."
            )
        case WaitReason.NO_FREE_DEVICE:
            return f"It waits for a free {platform} device ({capacity.devices} in all)."
        case WaitReason.NEXT:
            return "A device is free: a worker takes the run within moments."
