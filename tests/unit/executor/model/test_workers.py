"""What organisations see of workers and devices, and why their runs wait."""

from dataclasses import replace
from typing import Any

import pytest

from mobiletest_automation.model.devices import Platform
from services.executor.model.wait_reasons import Capacity, RunUse, WaitReason, sentence, wait_reason
from services.executor.model.workers import DeviceState, Fleet, KnownWorker, PoolReport, WorkerReport, WorkerState
from tests.unit.executor.model.builders import NOW, later, queued_run

MINE, OTHER = "mine", "other"
RUN = queued_run()


def pool(name: str = "phones", slots: int = 2, **fields: Any) -> PoolReport:
    return PoolReport(name=name, platform=Platform.IOS, slots=slots, **fields)


def worker(name: str, *pools: PoolReport, slots: int = 8, silent: bool = False, **fields: Any) -> KnownWorker:
    report = WorkerReport(id=f"{name}/{NOW}/{silent}", name=name, slots=slots, pools=pools, **fields)
    return KnownWorker(report, NOW, NOW, silent)


def names(*workers: KnownWorker, org_id: str = MINE) -> list[tuple[str, list[str]]]:
    """The workers that an organisation sees, each with its pools."""
    views = Fleet(workers).visible_to(org_id)
    return [(view.worker.report.name, [each.pool.name for each in view.pools]) for view in views]


def test_pools_of_other_organisations_are_not_shown() -> None:
    """A worker with nothing else is not shown either."""
    theirs = worker("theirs", pool("acme phones", organisation=OTHER))
    mixed = worker("mixed", pool("acme phones", organisation=OTHER), pool("free"), pool("not mine", not_for=(MINE,)))
    assert names(theirs, mixed) == [("mixed", ["free"])]
    assert names(theirs, mixed, org_id=OTHER) == [
        ("mixed", ["acme phones", "free", "not mine"]),
        ("theirs", ["acme phones"]),
    ]


def test_workers_that_work_come_first() -> None:
    workers = [
        worker("a", pool(), silent=True),
        worker("b", pool(), stopping=True),
        worker("d", pool()),
        worker("c", pool()),
    ]
    assert [name for name, _ in names(*workers)] == ["c", "d", "b", "a"]


def test_a_lost_worker_whose_name_is_used_again_is_not_shown() -> None:
    assert names(worker("a", pool("old"), silent=True), worker("a", pool("new"))) == [("a", ["new"])]


def test_devices_that_workers_share_are_busy_for_all_of_them() -> None:
    """Those that a lost worker used are not."""
    phones = pool(slots=4, shared="phones at a hub")
    fleet = Fleet(
        [
            worker("a", replace(phones, busy=(1,))),
            worker("b", replace(phones, busy=(2,))),
            worker("c", replace(phones, busy=(3,)), silent=True),
        ]
    )
    states = {
        view.worker.report.name: [view.pools[0].device_state(n) for n in (1, 2, 3, 4)]
        for view in fleet.visible_to(MINE)
    }
    busy, free, gone = DeviceState.BUSY, DeviceState.FREE, DeviceState.UNAVAILABLE
    assert states == {"a": [busy, busy, free, free], "b": [busy, busy, free, free], "c": [gone] * 4}


def test_simulated_devices_are_each_workers_own() -> None:
    fleet = Fleet([worker("a", pool(simulated=True, busy=(1,))), worker("b", pool(simulated=True))])
    assert [view.pools[0].busy for view in fleet.visible_to(MINE)] == [{1}, frozenset()]


def capacity(*workers: KnownWorker) -> Capacity:
    return Capacity.of(Fleet(workers).visible_to(MINE), Platform.IOS)


SHARED = pool(slots=3, shared="hub")
CAPACITIES = [
    ((), Capacity(0, 0, reachable=False)),
    ((worker("a", pool(busy=(1,))),), Capacity(2, 1, reachable=True)),
    ((worker("a", pool()), worker("b", pool())), Capacity(4, 4, reachable=True)),
    ((worker("a", pool(slots=9), slots=3, running=1),), Capacity(9, 2, reachable=True)),
    ((worker("a", pool(healthy=False)),), Capacity(2, 0, reachable=False)),
    ((worker("a", pool(organisation=OTHER)),), Capacity(0, 0, reachable=False)),
    ((worker("a", pool(), stopping=True), worker("b", pool(), silent=True)), Capacity(0, 0, reachable=False)),
    ((worker("a", replace(pool(), platform=Platform.ANDROID)),), Capacity(0, 0, reachable=False)),
    ((worker("a", SHARED, slots=1), worker("b", SHARED, slots=1)), Capacity(3, 2, reachable=True)),
    ((worker("a", SHARED, slots=8), worker("b", SHARED, slots=8)), Capacity(3, 3, reachable=True)),
]


@pytest.mark.parametrize(("workers", "expected"), CAPACITIES)
def test_capacity(workers: tuple[KnownWorker, ...], expected: Capacity) -> None:
    """Shared devices count once; what stops, is lost or belongs to others does not count."""
    assert capacity(*workers) == expected


FREE, FULL = Capacity(4, 2, reachable=True), Capacity(4, 0, reachable=True)
ANY = RunUse(3, None)
REASONS = [
    (0, FREE, ANY, WaitReason.NEXT),
    (1, FREE, ANY, WaitReason.NEXT),
    (2, FREE, ANY, WaitReason.NO_FREE_DEVICE),
    (0, FULL, ANY, WaitReason.NO_FREE_DEVICE),
    (0, Capacity(0, 0, reachable=False), ANY, WaitReason.NO_WORKER),
    (0, Capacity(4, 0, reachable=False), ANY, WaitReason.DEVICES_UNAVAILABLE),
    (0, FREE, RunUse(3, 3), WaitReason.RUN_LIMIT),
    (0, FULL, RunUse(3, 3), WaitReason.RUN_LIMIT),
    (0, FREE, RunUse(3, 4), WaitReason.NEXT),
    (1, FREE, RunUse(3, 4), WaitReason.RUN_LIMIT),
    (9, FREE, RunUse(0, 3), WaitReason.NO_FREE_DEVICE),
]


@pytest.mark.parametrize(("ahead", "has", "use", "expected"), REASONS)
def test_the_reason_is_what_keeps_the_run_from_starting(
    ahead: int, has: Capacity, use: RunUse, expected: WaitReason
) -> None:
    """Also when those ahead of it have started."""
    reason = wait_reason(RUN, ahead, has, use, NOW)
    assert reason is expected
    assert sentence(reason, Platform.IOS, has, use).endswith(".")


def test_without_devices_a_run_says_which_settings_give_some() -> None:
    said = sentence(WaitReason.NO_WORKER, Platform.IOS, Capacity(0, 0, reachable=False), ANY)
    assert "No worker has iOS devices" in said
    assert "MOBILETEST_DEVICE_POOLS, or MOBILETEST_SIMULATED_DEVICES" in said


def test_a_run_that_is_not_due_pauses() -> None:
    paused = replace(RUN, claimable_at=later(1))
    assert wait_reason(paused, 0, FULL, ANY, NOW) is WaitReason.RETRY_PAUSE
    assert wait_reason(paused, 0, FREE, ANY, later(1)) is WaitReason.NEXT


def test_a_worker_takes_no_runs_while_it_stops() -> None:
    stopping = worker("a", pool(), stopping=True)
    assert (stopping.state, stopping.free_slots) == (WorkerState.STOPPING, 0)


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ([], None),
        ([worker("a", pool(), has_models=False)], False),
        ([worker("a", pool(), has_models=False), worker("b", pool(), has_models=True)], True),
        ([worker("a", pool(), has_models=False), worker("b", pool(), has_models=True, silent=True)], True),
        ([worker("a", pool(), has_models=False), worker("b", pool())], None),
        ([worker("a", pool(), has_models=False, silent=True)], None),
        ([worker("a", pool(), has_models=False), worker("b", pool(organisation=OTHER), has_models=True)], False),
    ],
)
def test_models_are_missing_only_if_every_worker_says_so(workers: list[KnownWorker], expected: bool | None) -> None:
    assert Fleet(workers).has_models(MINE) is expected
