"""How attempts report progress, and how they end early: cancelled, out of time, on a device that does not close."""

import asyncio
from collections.abc import Sequence

import pytest

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Artifact, StepResult, StepStatus
from tests.eventually import eventually
from tests.fakes.devices import FakeDevice, FakeDevices, button, screen
from tests.unit.automation.attempts import StoppedClock, failure_of, plan, run


async def test_progress_is_reported_after_each_step() -> None:
    reports: list[list[tuple[int, str]]] = []

    async def progress(steps: Sequence[StepResult], artifacts: Sequence[Artifact]) -> None:
        reports.append([(step.index, step.status) for step in steps])

    automation = AttemptRunner(FakeDevices(FakeDevice()))
    await automation.run(plan("back", {"retry": {"commands": ["back"]}}), progress=progress)
    assert reports == [
        [(0, "passed")],
        [(0, "passed"), (1, "running"), (2, "passed")],
        [(0, "passed"), (1, "passed"), (2, "passed")],
    ]


async def test_a_step_that_takes_long_is_reported_before_it_ends() -> None:
    under_way = asyncio.Event()

    async def progress(steps: Sequence[StepResult], artifacts: Sequence[Artifact]) -> None:
        if steps[-1].status is StepStatus.RUNNING:
            under_way.set()

    device = FakeDevice()
    ended = asyncio.Event()

    async def back() -> None:
        await under_way.wait()
        ended.set()

    device.back = back  # type: ignore[method-assign]
    result = await AttemptRunner(FakeDevices(device)).run(plan("back"), progress=progress)
    assert ended.is_set()
    assert [step.status for step in result.steps] == [StepStatus.PASSED]


async def test_progress_that_fails_ends_the_attempt_and_frees_the_device() -> None:
    async def progress(steps: Sequence[StepResult], artifacts: Sequence[Artifact]) -> None:
        raise ConnectionError("lease lost")

    devices = FakeDevices(FakeDevice())
    with pytest.raises(ConnectionError):
        await AttemptRunner(devices).run(plan("back"), progress=progress)
    assert len(devices.released) == 1


class SlowDevice(FakeDevice):
    """Its taps never end, and closing takes a moment."""

    def __init__(self) -> None:
        super().__init__(screen(button("Pay")))
        self.tapping = asyncio.Event()

    async def tap(self, target: object) -> None:
        self.tapping.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        await super().close()


@pytest.mark.parametrize("acting", [True, False], ids=["in an action", "while waiting on a virtual clock"])
async def test_cancelling_closes_the_device_first(acting: bool) -> None:
    device = SlowDevice() if acting else FakeDevice()
    devices = FakeDevices(device)
    task = asyncio.create_task(AttemptRunner(devices).run(plan("Tap Pay", step_seconds=1e9)))
    await eventually(lambda: device.tapping.is_set() if isinstance(device, SlowDevice) else device.timer.now() > 100)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (device.closed, devices.released) == (1, [device])


async def test_a_device_that_does_not_close_delays_nothing() -> None:
    class Stuck(SlowDevice):
        """Closes when it is allowed to."""

        let_go = asyncio.Event()

        async def close(self) -> None:
            await self.let_go.wait()
            self.closed += 1

    device = Stuck()
    task = asyncio.create_task(AttemptRunner(FakeDevices(device), release_seconds=0.01).run(plan("Tap Pay")))
    await device.tapping.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert device.closed == 0
    device.let_go.set()
    await eventually(lambda: device.closed == 1)


async def test_a_run_that_takes_too_long_ends_without_a_verdict() -> None:
    device = SlowDevice()
    clock = StoppedClock()
    running = asyncio.create_task(run(device, "back", {"retry": {"commands": ["Tap Pay"]}}, run_seconds=1000))
    await device.tapping.wait()
    clock.pass_time(1000)
    result = await running
    assert (failure_of(result).category, failure_of(result).step_index) == (Category.RUN_TIMEOUT, 2)
    assert [step.status for step in result.steps] == ["passed", "failed", "failed"]
    assert [step.category for step in result.steps[1:]] == [Category.RUN_TIMEOUT, Category.RUN_TIMEOUT]
    assert device.closed == 1
