"""What a process takes, or its end, costs only its own attempt."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest

from mobiletest_automation.model.failures import Category, Failure, Fault
from services.chassis.child_process import preload
from services.executor.worker.processes.attempt_process import AttemptProcess
from services.executor.worker.processes.attempt_start import LogFormat
from services.executor.worker.processes.process import OVERTIME_SECONDS, TOO_MUCH_CPU, TOO_MUCH_MEMORY
from services.executor.worker.processes.process_limits import LOWEST_PRIORITY, AttemptLimits, CpuAllowance
from tests.contract.executor.attempt_worlds import BUSY, CROWDED, AttemptWorld, Children, app, real_processes
from tests.eventually import eventually
from tests.fakes.attempt_processes import LIMITS
from tests.fakes.burning_process import burn
from tests.fakes.filling_process import FILL, FULL_NICENESS, FillingProcess


@pytest.fixture(scope="module", autouse=True)
def fork_server() -> None:
    preload(AttemptProcess.__module__)


async def test_an_attempt_that_uses_too_much_cpu_fails_with_what_it_did_and_harms_no_other() -> None:
    limits = AttemptLimits(CpuAllowance(1, 0), LIMITS.memory_bytes)
    async with real_processes(Children(), limits) as processes:
        world, other = AttemptWorld(processes, limits=limits), AttemptWorld(processes, limits=limits)
        failing = asyncio.create_task(world.run("launchApp", BUSY, build=CROWDED))
        assert (await other.run("launchApp", {"assertVisible": "Log in"})).failure is None
        result = await failing
        assert result.failure is not None
        assert (result.failure.category, result.failure.category.fault) == (Category.SCRIPT_ERROR, Fault.TEST)
        assert "1 s of CPU time" in result.failure.message
        assert "MOBILETEST_ATTEMPT_CPU_SECONDS" in result.failure.message
        assert [step.status for step in result.steps[:3]] == ["passed", "running", "passed"]
        assert (result.device, result.simulated) == ("simulated-android-1", True)
        assert world.devices.free("android") == 4


async def test_an_attempt_that_needs_too_much_memory_fails_by_itself_and_its_process_is_not_used_again() -> None:
    children = Children(FillingProcess(LogFormat("warning", "json")))
    async with real_processes(children, AttemptLimits(CpuAllowance(20, 0), 2**20)) as processes:
        world = AttemptWorld(processes)
        failure = await failure_of_a_full_process(world, children)
        for _ in range(2):  # out of memory, a library in C may crash, or try again until the CPU time is used
            if failure.category is Category.SESSION_LOST or failure.reason == TOO_MUCH_CPU:
                failure = await failure_of_a_full_process(world, children)
        assert (failure.category, failure.reason) == (Category.SCRIPT_ERROR, TOO_MUCH_MEMORY)
        assert "more than 1 MiB of memory" in failure.message
        full = len(children.started)
        await world.run('I see "Log in"')
    assert len({child.pid for child in children.started}) == full + 1


async def failure_of_a_full_process(world: AttemptWorld, children: Children) -> Failure:
    await world.run('I see "Log in"')
    pid = children.started[-1].pid
    os.kill(pid, FILL)
    await eventually(lambda: os.getpriority(os.PRIO_PROCESS, pid) == FULL_NICENESS)
    result = await world.run('I see "Row"', build=app(1900, 4000 * "a", label="{shown}"))
    assert result.failure is not None
    return result.failure


async def test_a_process_that_dies_is_an_infrastructure_failure() -> None:
    children = Children()
    async with real_processes(children) as processes:
        world = AttemptWorld(processes)
        running = asyncio.create_task(world.run("launchApp", BUSY, build=CROWDED))
        await eventually(lambda: world.host is not None and world.host.progress()[0])
        os.kill(children.started[0].pid, signal.SIGKILL)
        result = await running
        assert result.failure is not None
        assert result.failure.category.fault is Fault.INFRASTRUCTURE
        assert "signal 9" in result.failure.message
        assert result.device == "simulated-android-1"
        assert (await world.run("launchApp", {"assertVisible": "Log in"})).failure is None


async def test_a_cancelled_attempt_that_does_not_listen_is_killed() -> None:
    children = Children(burn)
    async with real_processes(children) as processes:
        world = AttemptWorld(processes)
        running = asyncio.create_task(world.run("launchApp", {"assertVisible": "Log in"}))
        await eventually(lambda: world.host is not None)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await children.started[0].stop() == -signal.SIGKILL


async def test_an_attempt_that_does_not_end_in_its_time_is_killed() -> None:
    async with real_processes(Children(burn)) as processes:
        result = await AttemptWorld(processes).run("back", run_seconds=0.2 - OVERTIME_SECONDS)
    assert result.failure is not None
    assert result.failure.category is Category.RUN_TIMEOUT


async def test_an_attempt_that_never_listens_has_a_limit_of_cpu() -> None:
    limits = replace(LIMITS, cpu=CpuAllowance(1, 0))
    children = Children(burn)
    async with real_processes(children, limits) as processes:
        result = await AttemptWorld(processes, limits=limits).run("back")
    assert result.failure is not None
    assert result.failure.reason == TOO_MUCH_CPU
    assert await children.started[0].stop() == -signal.SIGXCPU


async def test_an_attempt_that_computes_for_long_gives_way_to_others() -> None:
    children = Children()
    async with real_processes(children) as processes:
        running = asyncio.create_task(AttemptWorld(processes).run("launchApp", BUSY, build=CROWDED))
        await eventually(lambda: os.getpriority(os.PRIO_PROCESS, children.started[0].pid) == LOWEST_PRIORITY)
        running.cancel()
        await asyncio.wait({running})
        assert (await AttemptWorld(processes).run("launchApp", {"assertVisible": "Log in"})).failure is None


async def test_a_process_that_died_while_it_was_idle_is_replaced() -> None:
    children = Children()
    async with real_processes(children) as processes:
        os.kill(children.started[0].pid, signal.SIGKILL)
        await eventually(lambda: not children.started[0].running)
        assert (await AttemptWorld(processes).run("launchApp", {"assertVisible": "Log in"})).failure is None


async def test_a_process_is_used_again() -> None:
    children = Children()
    async with real_processes(children) as processes:
        for _ in range(3):
            assert (await AttemptWorld(processes).run("launchApp", {"assertVisible": "Log in"})).failure is None
        assert len(children.started) == 1
        both = await asyncio.gather(
            AttemptWorld(processes).run("launchApp", {"assertVisible": "Log in"}),
            AttemptWorld(processes).run("launchApp", {"assertVisible": "Log in"}),
        )
        assert [result.failure for result in both] == [None, None]
    assert len(children.started) == 2
