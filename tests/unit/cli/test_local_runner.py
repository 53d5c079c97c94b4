"""Runs of a plan without a server: attempts, and what cancels them."""

import asyncio
import json
from itertools import count
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import AppUnderTest, Device, OnSession, Seed
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.states import Status
from mobiletest_cli.errors import NO_VERDICT, exit_code
from mobiletest_cli.local_run.devices import ChosenDevice
from mobiletest_cli.local_run.results import LocalResults
from mobiletest_cli.local_run.runner import LocalRunner, Plan, PlannedFlow
from mobiletest_cli.local_run.sessions import OneDevice

FLAKY = b"""app_model: 1
app: {id: com.example.notes}
start: {go: home}
screens:
  home:
    elements:
      - {type: text, text: My notes, appears: {after: 0s, chance: 0.5}}
"""
DEVICE = ChosenDevice("simulated-android", "Android")


async def read_flaky(limit: int) -> bytes:
    return FLAKY[:limit]


def flow(*steps: object, name: str = "a") -> PlannedFlow:
    return PlannedFlow(f"{name}.yaml", name, json.dumps(["launchApp", *steps]))


def new_runner(devices: OneDevice, results: LocalResults, folder: Path, defects: list[Exception]) -> LocalRunner:
    return LocalRunner(devices, results, folder, on_change=lambda run: None, on_defect=defects.append)


async def run(folder: Path, plan: Plan) -> LocalResults:
    results, ids = LocalResults("execution", "name"), count()
    await new_runner(OneDevice(DEVICE, None), results, folder, []).run(plan, lambda: f"run-{next(ids)}")
    return results


async def test_a_retry_that_passes_is_flaky(tmp_path: Path) -> None:
    """The same run draws the same chances."""
    visible = {"extendedWaitUntil": {"visible": "My notes", "timeout": 100}}
    plan = Plan([flow(visible) for _ in range(12)], "Android", AppUnderTest(read=read_flaky), retries=2)
    results = await run(tmp_path, plan)
    flaky = [run for run in results.runs if run.success and len(run.attempts) > 1]
    assert flaky
    assert [attempt.success for attempt in flaky[0].attempts][-2:] == [False, True]
    assert b'name="flaky" value="true"' in results.junit("execution")
    assert all(len(run.attempts) == 3 for run in results.runs if not run.success)


async def test_without_retries_there_is_one_attempt(tmp_path: Path) -> None:
    results = await run(tmp_path, Plan([flow({"assertTrue": "${false}"})], "Android"))
    assert [attempt.number for attempt in results.runs[0].attempts] == [1]


class WatchedDevice(OneDevice):
    """A device that says when it has a session, and remembers those that are closed."""

    def __init__(self) -> None:
        super().__init__(DEVICE, None)
        self.has_session = asyncio.Event()
        self.closed: list[Device] = []

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        device = await super().acquire(platform, build, seed, on_session=on_session)
        self.has_session.set()
        return device

    async def release(self, device: Device) -> None:
        await super().release(device)
        self.closed.append(device)


async def test_a_cancelled_run_closes_its_session_and_cancels_the_others(tmp_path: Path) -> None:
    results, devices, ids = LocalResults("execution", "name"), WatchedDevice(), count()
    endless = {"repeat": {"times": 1_000_000, "commands": ["back"]}}
    plan = Plan([flow(endless), flow(name="b")], "Android")
    task = asyncio.create_task(new_runner(devices, results, tmp_path, []).run(plan, lambda: f"run-{next(ids)}"))
    await devices.has_session.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(devices.closed) == 1
    assert [run.status for run in results.runs] == [Status.CANCELLED] * 2
    assert results.execution(cancelled=True)["status"] == "cancelled"


class BrokenDevice(OneDevice):
    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        raise ZeroDivisionError


async def test_an_internal_error_is_not_a_verdict_and_other_flows_still_run(tmp_path: Path) -> None:
    results, defects = LocalResults("execution", "name"), list[Exception]()
    runner = new_runner(BrokenDevice(DEVICE, None), results, tmp_path, defects)
    await runner.run(Plan([flow(), flow(name="b")], "Android"), lambda: "id")
    failures = [run.failure and run.failure.category for run in results.runs]
    assert failures == [Category.UNKNOWN] * 2
    assert (len(defects), exit_code(results.execution(), None)) == (2, NO_VERDICT)
