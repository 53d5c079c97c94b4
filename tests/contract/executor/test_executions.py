"""The port Executions: starts, the log and lists."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from mobiletest_automation.model.results import Artifact, AttemptResult, ScreenArea, StepResult, StepScreen, StepStatus
from mobiletest_automation.model.run_config import ExecutionMode, RunConfig
from mobiletest_automation.model.states import Status
from services.chassis.context import Caller, bind
from services.chassis.errors import NotFound
from services.chassis.ids import derive_ids
from services.executor.events import to_execution_event
from services.executor.model.executions import Execution
from services.executor.ports.executions import ExecutionFilter, Page, ScreensFilter
from services.executor.ports.runs import RunKey
from services.executor.storage.schema import RUNS, SCREENS_KEPT_SINCE
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import (
    ALL,
    FAILED,
    claimed,
    facts,
    finish,
    keys_of,
    requests,
    run_of,
    running,
    runs_of,
    start,
)
from tests.fakes.executor import plan


async def test_a_started_execution_has_its_runs_and_its_log(world: World) -> None:
    execution = await start(world, plan("One"), plan("Two"))
    assert (execution.status, execution.counts.queued) == (Status.QUEUED, 2)
    assert await world.executions.get(execution.id) == execution
    assert [run.target.test_name for run in await runs_of(world, execution)] == ["One", "Two"]
    assert await facts(world, execution) == [(1, "run", "queued"), (2, "run", "queued"), (3, "execution", "queued")]


async def start_in(org_id: str, world: World, key: str | None = None) -> Execution:
    """A start of an organisation; one with the same `key` is a repeat."""
    with bind(Caller(org_id=org_id, via_gateway=True)), derive_ids(org_id, "StartWorkflow", key or str(uuid4())):
        return await start(world, plan("One"))


async def test_concurrent_starts_of_organisations_are_stored_separately(world: World) -> None:
    organisations = [str(uuid4()) for _ in range(12)]
    executions = await asyncio.gather(*(start_in(org_id, world) for org_id in organisations))
    assert [execution.org_id for execution in executions] == organisations
    for execution in executions:
        with bind(Caller(org_id=execution.org_id)):
            assert await world.executions.get(execution.id) == execution
            assert [run.org_id for run in await runs_of(world, execution)] == [execution.org_id]
            assert [told[1:] for told in await facts(world, execution)] == [("run", "queued"), ("execution", "queued")]


async def test_a_repeated_start_in_a_group_returns_the_stored_execution(world: World) -> None:
    org_id, key = str(uuid4()), str(uuid4())
    first = await start_in(org_id, world, key)
    again, *others = await asyncio.gather(start_in(org_id, world, key), *(start_in(org_id, world) for _ in range(5)))
    assert again.id == first.id
    with bind(Caller(org_id=org_id)):
        assert (await world.executions.page(ExecutionFilter(), ALL)).total == 6
    assert len({first.id, *(other.id for other in others)}) == len(await requests(world)) == 6


async def test_steps_and_artifacts_are_returned_with_the_run_only(world: World) -> None:
    claim = await running(world)
    key, execution = claim.key, claim.execution
    now = await world.executions.now()
    step = StepResult(
        index=0,
        kind="sentence",
        text="Tap it",
        status=StepStatus.FAILED,
        started_at=now,
        message="No.",
        element_area=ScreenArea(0.1, 0.2, 0.5, 0.05),
    )
    artifact = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 12)
    await world.runs.finish(key, claim.run.fencing_token, AttemptResult(steps=(step,), artifacts=(artifact,)))
    run = await world.executions.run(execution.id, key.run_id)
    assert (run.attempts[0].steps, run.attempts[0].artifacts) == ((step,), (artifact,))
    assert await world.executions.all_runs(execution.id) == [run]
    assert (await runs_of(world, execution))[0].attempts[0].steps == ()
    told = [to_execution_event(event) for event in await world.executions.log(execution.id, 0, 100)]
    assert all(not a.steps and not a.artifacts for event in told if event for a in event.run.attempts)


async def test_runs_that_have_kept_screens_are_found_by_test_app_and_build(world: World) -> None:
    step = StepResult(
        index=0, kind="sentence", text="Tap it", status=StepStatus.PASSED, started_at=datetime(2026, 3, 4, tzinfo=UTC)
    )
    kept = AttemptResult(steps=(replace(step, screen=StepScreen(tree="1" * 32)),))
    lost = AttemptResult(steps=(replace(step, screen=StepScreen(lost="no space")),))
    failed = replace(kept, failure=FAILED.failure)
    made = plan()
    once = RunConfig(execution_mode=ExecutionMode(retries=0))
    ended = [await finish(world, await running(world, made, config=once), each) for each in (kept, failed, lost)]
    passed_run, failed_run = [await run_of(world, RunKey(run.execution_id, run.id)) for run in ended[:2]]
    test_id, build_id = made.target.test_id, made.target.build_id
    for wanted, runs in (
        (ScreensFilter(test_id=test_id), [failed_run, passed_run]),
        (ScreensFilter(build_id=build_id), [failed_run, passed_run]),
        (ScreensFilter(app_id=made.target.app_id), [failed_run, passed_run]),
        (ScreensFilter(app_id=str(uuid4()), build_id=build_id), []),
        (ScreensFilter(test_id=test_id, success=True), [passed_run]),
        (ScreensFilter(test_id=test_id, variant_id=""), [failed_run, passed_run]),
        (ScreensFilter(test_id=test_id, variant_id="german"), []),
        (ScreensFilter(build_id=build_id, before=failed_run.end), [passed_run]),
        (ScreensFilter(test_id=str(uuid4())), []),
    ):
        assert await world.executions.runs_with_screens(wanted, 2) == runs
        assert await world.executions.newest_with_screens(wanted) == (runs[0].id if runs else None)
    assert await world.executions.runs_with_screens(ScreensFilter(test_id=test_id), 1) == [failed_run]
    same_time = {"completed_at": failed_run.completed_at, SCREENS_KEPT_SINCE: failed_run.completed_at}
    those = {"target.test_id": test_id, SCREENS_KEPT_SINCE: {"$exists": True}}
    await world.mongo.collection(RUNS).update_many(those, {"$set": same_time})
    [first] = await world.executions.runs_with_screens(ScreensFilter(test_id=test_id), 1)
    [second] = await world.executions.runs_with_screens(ScreensFilter(test_id=test_id, before=first.end), 2)
    assert {first.id, second.id} == {run.id for run in ended[:2]}
    with bind(Caller(org_id=str(uuid4()))):
        assert await world.executions.runs_with_screens(ScreensFilter(test_id=test_id), 2) == []


async def test_ids_of_other_organisations_are_not_found(world: World) -> None:
    execution = await start(world)
    [key] = await keys_of(world, execution)
    with bind(Caller(org_id=str(uuid4()))):
        for execution_id in (execution.id, str(uuid4())):
            await _is_unknown(world, execution_id, key.run_id)
        assert await world.executions.batch([execution.id]) == []
        assert (await world.executions.page(ExecutionFilter(), ALL)).total == 0
        assert await world.executions.runs(execution.id, ALL) == ([], 0)
        assert await world.executions.all_runs(execution.id) == []


async def _is_unknown(world: World, execution_id: str, run_id: str) -> None:
    calls: Sequence[tuple[str, object]] = (
        ("Execution not found", world.executions.get(execution_id)),
        ("Execution not found", world.executions.cancel(execution_id)),
        ("Run not found", world.executions.run(execution_id, run_id)),
    )
    for message, call in calls:
        with pytest.raises(NotFound, match=f"^{message}$"):
            await call  # type: ignore[misc]


async def test_a_run_is_found_under_its_own_execution_only(world: World) -> None:
    one, two = await start(world), await start(world)
    [key] = await keys_of(world, one)
    with pytest.raises(NotFound, match=r"^Run not found$"):
        await world.executions.run(two.id, key.run_id)


async def test_runs_are_listed_with_the_worst_first(world: World) -> None:
    once = RunConfig(execution_mode=ExecutionMode(retries=0))
    execution = await start(world, plan("Passes"), plan("Waits"), plan("Fails"), config=once)
    passes, _, fails = await keys_of(world, execution)
    await finish(world, await claimed(world, passes))
    await finish(world, await claimed(world, fails), FAILED)
    runs, groups = await world.executions.worst_runs(execution.id, Page(1, 2))
    assert [run.target.test_name for run in runs] == ["Fails", "Waits"]
    assert [(group.standing, group.reason, len(group.run_ids)) for group in groups] == [
        ("failed", "Not there.", 1),
        ("waiting", "", 1),
        ("passed", "", 1),
    ]
    last, _ = await world.executions.worst_runs(execution.id, Page(2, 2))
    assert [run.target.test_name for run in last] == ["Passes"]
