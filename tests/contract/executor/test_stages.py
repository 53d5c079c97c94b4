"""Tests in a sequence run one after the other, before all others."""

from dataclasses import replace

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.chassis.errors import InvalidArgument
from services.executor.model.executions import Execution, ExecutionKind, StartSubject, TestSelection
from services.executor.model.runs import ResolvedRuns, Run, RunPlan
from services.executor.ports.runs import RunKey
from services.executor.usecases.starts import ExecutionStarter
from tests.contract.executor.conftest import LIMITS, World
from tests.contract.executor.executions import BROKEN, FAILED, claimed, finish, request, run_of, runs_of
from tests.fakes.executor import FakeCatalog, plan

PASSED = AttemptResult()


class Sequence:
    """An execution of the tests a to d, of which b and a are a sequence."""

    def __init__(self, world: World, execution: Execution) -> None:
        self._world = world
        self.execution = execution

    async def runs(self) -> dict[str, Run]:
        return {run.target.test_name: run for run in await runs_of(self._world, self.execution)}

    async def end(self, name: str, result: AttemptResult = PASSED) -> None:
        """Run a test until it ends, with all of its attempts."""
        key = RunKey(self.execution.id, (await self.runs())[name].id)
        while not (await run_of(self._world, key)).status.terminal:
            await self._world.advance(LIMITS.infrastructure_backoff.total_seconds())
            await finish(self._world, await claimed(self._world, key), result)

    async def statuses(self) -> dict[str, str]:
        return {name: run.status.value for name, run in (await self.runs()).items()}


async def start(
    world: World, *, sequence: tuple[str, ...] = ("b", "a"), goes_on: bool = True, error: str = ""
) -> Sequence:
    catalog = FakeCatalog()
    plans = {name: _plan(name, error=error if name == "b" else "") for name in "abcd"}
    ids = {name: catalog.add(ResolvedRuns(plans=(each,))) for name, each in plans.items()}
    tests = tuple(TestSelection(test_id) for test_id in ids.values())
    wanted = replace(
        request(StartSubject(ExecutionKind.TEST, tests=tests)),
        sequence=tuple(ids.get(name, name) for name in sequence),
        continue_on_failure=goes_on,
    )
    return Sequence(world, await ExecutionStarter(catalog, world.executions).start(wanted))


def _plan(name: str, *, error: str) -> RunPlan:
    return plan(name, config_error=error)


async def test_tests_of_a_sequence_run_one_after_the_other_and_then_the_rest(world: World) -> None:
    started = await start(world)
    waiting = {"b": "queued", "a": "initialized", "c": "initialized", "d": "initialized"}
    assert await started.statuses() == waiting
    await started.end("b", FAILED)
    assert await started.statuses() == {**waiting, "b": "completed", "a": "queued"}
    await started.end("a")
    rest = {"c": "queued", "d": "queued"}
    assert await started.statuses() == {"b": "completed", "a": "completed", **rest}


@pytest.mark.parametrize("result", [FAILED, BROKEN])
async def test_after_a_failure_the_rest_of_a_sequence_is_not_run(world: World, result: AttemptResult) -> None:
    """The tests outside of it run, as in Maestro; what was not run has no verdict and is no pass."""
    started = await start(world, goes_on=False)
    await started.end("b", result)
    assert (await started.statuses())["a"] == "cancelled"
    skipped = (await started.runs())["a"]
    assert skipped.success is None
    assert skipped.failure is not None
    assert skipped.failure.category is Category.CANCELLED_AFTER_FAILURE
    assert skipped.failure.message.startswith('Not run: "b" before it')
    for name in ("c", "d"):
        await started.end(name)
    ended = await world.executions.get(started.execution.id)
    assert ended.status.terminal
    assert ended.success is not True
    assert (ended.counts.cancelled, ended.counts.passed) == (1, 2)


async def test_test_that_cannot_start_ends_its_sequence(world: World) -> None:
    started = await start(world, goes_on=False, error="Attach the test to an app.")
    assert await started.statuses() == {"b": "failed", "a": "cancelled", "c": "queued", "d": "queued"}


async def test_sequence_of_all_tests_ends_with_its_failure(world: World) -> None:
    started = await start(world, sequence=("d", "c", "b", "a"), goes_on=False)
    await started.end("d")
    await started.end("c", FAILED)
    ended = await world.executions.get(started.execution.id)
    assert (ended.status, ended.success) == (Status.COMPLETED, False)
    assert (ended.counts.passed, ended.counts.failed, ended.counts.cancelled) == (1, 1, 2)


async def test_rerun_of_what_did_not_pass_keeps_the_order(world: World) -> None:
    started = await start(world, goes_on=False)
    await started.end("b", FAILED)
    for name in ("c", "d"):
        await started.end(name)
    again = await ExecutionStarter(FakeCatalog(), world.executions).rerun(started.execution.id, failed_only=True)
    assert await Sequence(world, again).statuses() == {"b": "queued", "a": "initialized"}


async def test_cancelled_sequence_releases_nothing(world: World) -> None:
    started = await start(world)
    await world.executions.cancel(started.execution.id)
    assert set((await started.statuses()).values()) == {"cancelled"}


async def test_sequence_of_other_tests_is_refused(world: World) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await start(world, sequence=("b", "00000000-0000-4000-8000-000000000000"))
    assert refused.value.violations[0].field == "sequence[1]"
