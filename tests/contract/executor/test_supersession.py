"""Newer executions supersede earlier ones of the same change."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import ExecutionMode, RunConfig
from mobiletest_automation.model.states import Status
from services.chassis.context import Caller, bind
from services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound
from services.chassis.ids import derive_ids
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.changes import start_execution
from services.executor.model.executions import (
    CancelPrevious,
    Execution,
    ExecutionKind,
    Shard,
    StartSubject,
    TestSelection,
)
from services.executor.model.lifecycle import queue
from services.executor.model.runs import ResolvedRuns
from services.executor.ports.executions import ExecutionFilter
from services.executor.ports.runs import Claim, StopReason
from services.executor.usecases.starts import ExecutionStarter, SupersessionSweep
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import (
    ALL,
    FAILED,
    STOPPED,
    claimed,
    finish,
    keys_of,
    request,
    runs_of,
    start,
)
from tests.fakes.executor import FakeCatalog, plan
from tests.unit.executor.model.builders import new_run

PULL = Ci(repository="shop", branch="fix", pr_number=7)


class Flow:
    """A workflow of two tests that can be started repeatedly."""

    def __init__(self, world: World) -> None:
        self.world = world
        catalog = FakeCatalog()
        self.workflow_id = catalog.workflow(plan("One"), plan("Two"))
        self.starts = ExecutionStarter(catalog, world.executions)

    async def start(self, ci: Ci = PULL, *, cancel_previous: bool = True) -> Execution:
        subject = StartSubject(ExecutionKind.WORKFLOW, self.workflow_id)
        return await self.starts.start(replace(request(subject, ci=ci), cancel_previous=cancel_previous))

    async def claim(self, execution: Execution) -> Claim:
        return await claimed(self.world, (await keys_of(self.world, execution))[0])

    async def statuses(self, *executions: Execution) -> list[Status]:
        return [(await self.world.executions.get(execution.id)).status for execution in executions]


async def test_earlier_unfinished_executions_are_cancelled_as_superseded(world: World) -> None:
    flow = Flow(world)
    first, second = await flow.start(cancel_previous=False), await flow.start(cancel_previous=False)
    newest = await flow.start()
    for earlier in (first, second):
        execution = await world.executions.get(earlier.id)
        assert (execution.status, execution.superseded_by, execution.counts.cancelled) == (
            Status.CANCELLED,
            newest.id,
            2,
        )
        assert execution.failure == Failure(
            Category.CANCELLED_SUPERSEDED,
            f"Superseded by execution {newest.id}.",
            reason="Superseded by a newer execution.",
        )
        runs = await runs_of(world, earlier)
        assert {run.failure and run.failure.category for run in runs} == {Category.CANCELLED_SUPERSEDED}
    assert await flow.statuses(newest) == [Status.QUEUED]


async def test_workers_of_superseded_runs_are_notified(world: World) -> None:
    flow = Flow(world)
    earlier = await flow.start()
    claim = await flow.claim(earlier)
    newest = await flow.start()
    token = claim.run.fencing_token
    assert await world.runs.notices({claim.run.id: token}) == {claim.run.id: StopReason.CANCEL}
    run = await finish(world, claim, STOPPED)
    assert run.failure is not None
    assert run.failure.message == f"Superseded by execution {newest.id}."
    assert await flow.statuses(earlier, newest) == [Status.CANCELLED, Status.QUEUED]


@pytest.mark.parametrize(
    "other",
    [
        replace(PULL, pr_number=8),
        replace(PULL, repository="other"),
        replace(PULL, repository=None),
        replace(PULL, pr_number=None),
        Ci(),
    ],
    ids=["pull request", "repository", "no repository", "the branch itself", "nothing said"],
)
async def test_executions_of_other_changes_are_not_cancelled(world: World, other: Ci) -> None:
    flow = Flow(world)
    apart = await flow.start(other, cancel_previous=False)
    await flow.start()
    assert await flow.statuses(apart) == [Status.QUEUED]


async def test_without_a_pull_request_the_branch_identifies_the_change(world: World) -> None:
    flow = Flow(world)
    main = Ci(repository="shop", branch="main")
    first, other = await flow.start(main), await flow.start(replace(main, branch="other"))
    await flow.start(main)
    assert await flow.statuses(first, other) == [Status.CANCELLED, Status.QUEUED]


async def test_executions_of_other_workflows_and_organisations_are_not_cancelled(world: World) -> None:
    flow, other = Flow(world), Flow(world)
    apart = await other.start()
    with bind(Caller(org_id=str(uuid4()), via_gateway=True)):
        await flow.start()
    mine = await flow.start()
    await flow.start(replace(PULL, pr_number=9))
    assert await flow.statuses(apart, mine) == [Status.QUEUED, Status.QUEUED]


async def test_cancel_previous_needs_a_pull_request_or_branch(world: World) -> None:
    flow = Flow(world)
    with pytest.raises(InvalidArgument, match="X-CI-PR-Number or X-CI-Branch") as raised:
        await flow.start(Ci(repository="shop"))
    assert [violation.field for violation in raised.value.violations] == ["cancel_previous"]
    assert (await world.executions.page(ExecutionFilter(), ALL)).total == 0


async def test_of_many_concurrent_starts_only_the_newest_survives(world: World) -> None:
    flow = Flow(world)
    started = await asyncio.gather(*(flow.start() for _ in range(12)))
    newest = max(started, key=lambda execution: (execution.created_at, execution.id))
    executions = await world.executions.batch([execution.id for execution in started])
    assert [execution.id for execution in executions if not execution.status.terminal] == [newest.id]
    assert {execution.superseded_by for execution in executions if execution.id != newest.id} <= {e.id for e in started}


async def _stored(world: World, flow: Flow, like: Execution) -> Execution:
    """A start of the same change just before `like`, whose process died after storing it."""
    one = plan("One")
    earlier = replace(
        like,
        id="00000000-0000-4000-8000-" + uuid4().hex[:12],
        created_at=like.created_at.replace(year=like.created_at.year - 1),
        cancel_previous=CancelPrevious.PENDING,
        counts=type(like.counts)(),
        revision=0,
        app_ids=(),
    )
    run = replace(new_run(), execution_id=earlier.id, org_id=earlier.org_id, target=one.target)
    change = start_execution(earlier, [queue(run, like.created_at)], earlier.created_at)
    return await world.executions.add(change, {run.id: one})


async def test_the_sweep_finishes_the_starts_of_crashed_processes(world: World) -> None:
    flow = Flow(world)
    newer = await flow.start()
    late = await _stored(world, flow, newer)
    assert await flow.statuses(late, newer) == [Status.QUEUED, Status.QUEUED]
    assert [execution.id for execution in await world.supersessions.pending(10)] == [late.id]
    await SupersessionSweep(world.supersessions).sweep()
    assert await flow.statuses(late, newer) == [Status.CANCELLED, Status.QUEUED]
    assert await world.supersessions.pending(10) == []


async def test_a_repeated_start_does_not_cancel_later_executions(world: World) -> None:
    flow = Flow(world)
    org_id = str(uuid4())
    with bind(Caller(org_id=org_id, via_gateway=True)):
        with derive_ids(org_id, "StartWorkflow", "key"):
            first = await flow.start()
        newer = await flow.start(cancel_previous=False)
        with derive_ids(org_id, "StartWorkflow", "key"):
            assert (await flow.start()).id == first.id
        assert await flow.statuses(first, newer) == [Status.QUEUED, Status.QUEUED]


async def test_an_earlier_cancellation_keeps_its_reason(world: World) -> None:
    flow = Flow(world)
    earlier = await flow.start()
    claim = await flow.claim(earlier)
    await world.executions.cancel(earlier.id)
    await flow.start()
    await finish(world, claim, STOPPED)
    execution = await world.executions.get(earlier.id)
    assert (execution.superseded_by, execution.failure and execution.failure.category) == (
        None,
        Category.CANCELLED_BY_USER,
    )


async def ended(world: World, *results: AttemptResult) -> Execution:
    """An execution of three runs that ended with these results; the others were cancelled."""
    config = RunConfig(execution_mode=ExecutionMode(retries=0), run_id="mine")
    tests = [plan(f"Test {number}") for number in range(3)]
    execution = await start(world, *tests, config=config, ci=PULL, priority=3)
    for key, result in zip(await keys_of(world, execution), results, strict=False):
        await finish(world, await claimed(world, key), result)
    if len(results) < len(tests):
        await world.executions.cancel(execution.id)
    return await world.executions.get(execution.id)


def reruns(world: World) -> ExecutionStarter:
    """With an empty catalog, because a rerun does not use it."""
    return ExecutionStarter(FakeCatalog(), world.executions)


async def targets(world: World, execution: Execution) -> list[object]:
    return [run.target for run in await runs_of(world, execution)]


async def test_a_rerun_repeats_tests_builds_and_configuration(world: World) -> None:
    earlier = await ended(world, AttemptResult(), FAILED, AttemptResult())
    again = await reruns(world).rerun(earlier.id, failed_only=False, service_client="cli")
    assert (again.source, again.rerun_of, again.status) == (ExecutionSource.RERUN, earlier.id, Status.QUEUED)
    assert (again.run_config, again.ci, again.priority) == (earlier.run_config, PULL, 3)
    assert (again.workflow_id, again.workflow_name) == (earlier.workflow_id, earlier.workflow_name)
    assert await targets(world, again) == await targets(world, earlier)
    assert await world.executions.get(again.id) == again
    plans = await world.executions.plans_of(again.id)
    assert sorted(p.steps for p in plans.values()) == sorted(
        p.steps for p in (await world.executions.plans_of(earlier.id)).values()
    )


async def test_failed_only_skips_passed_runs(world: World) -> None:
    earlier = await ended(world, AttemptResult(), FAILED)
    again = await reruns(world).rerun(earlier.id, failed_only=True)
    assert await targets(world, again) == (await targets(world, earlier))[1:]


async def test_only_ended_executions_with_runs_to_repeat_can_be_rerun(world: World) -> None:
    flow = Flow(world)
    with pytest.raises(FailedPrecondition, match="Cancel it, or wait"):
        await reruns(world).rerun((await flow.start()).id, failed_only=False)
    passed = await ended(world, AttemptResult(), AttemptResult(), AttemptResult())
    with pytest.raises(FailedPrecondition, match="every run of the execution passed"):
        await reruns(world).rerun(passed.id, failed_only=True)
    with bind(Caller(org_id=str(uuid4()))), pytest.raises(NotFound, match=r"^Execution not found$"):
        await reruns(world).rerun(passed.id, failed_only=False)


async def test_a_repeated_rerun_returns_the_stored_execution(world: World) -> None:
    earlier = await ended(world, AttemptResult(), FAILED, AttemptResult())
    again = []
    for _ in range(2):
        with derive_ids(earlier.org_id, "RerunExecution", "key"):
            again.append(await reruns(world).rerun(earlier.id, failed_only=False))
    assert again[0] == again[1]


async def test_a_rerun_can_be_rerun_and_superseded(world: World) -> None:
    flow = Flow(world)
    first = await flow.start()
    await world.executions.cancel(first.id)
    again = await reruns(world).rerun(first.id, failed_only=True)
    await flow.start()
    assert await flow.statuses(again) == [Status.CANCELLED]
    third = await reruns(world).rerun(again.id, failed_only=True)
    assert (third.rerun_of, third.counts.queued) == (again.id, 2)


async def test_executions_of_the_same_named_tests_are_superseded(world: World) -> None:
    """Those of the same name and shard: the parts of one pipeline do not cancel each other."""
    catalog = FakeCatalog()
    tests = tuple(TestSelection(catalog.add(ResolvedRuns(plans=(plan(name),)))) for name in ("One", "Two"))
    starts = ExecutionStarter(catalog, world.executions)

    async def start(name: str | None, shard: Shard | None = None, ci: Ci = PULL) -> Execution:
        subject = StartSubject(ExecutionKind.TEST, tests=tests, shard=shard)
        return await starts.start(replace(request(subject, ci=ci), name=name, cancel_previous=True))

    async def status(execution: Execution) -> Status:
        return (await world.executions.get(execution.id)).status

    whole, other = await start("flows"), await start("other")
    parts = [await start("flows", Shard(index, 2)) for index in (1, 2)]
    later = await start("flows", ci=replace(PULL, pr_number=8))
    assert [await status(each) for each in (whole, other, *parts, later)] == [Status.QUEUED] * 5
    newest, newest_part = await start("flows"), await start("flows", Shard(2, 2))
    assert [await status(each) for each in (whole, parts[1])] == [Status.CANCELLED] * 2
    assert [await status(each) for each in (other, parts[0], later, newest, newest_part)] == [Status.QUEUED] * 5
    assert (await world.executions.get(newest_part.id)).shard == Shard(2, 2)
    with pytest.raises(InvalidArgument, match="Send a name"):
        await start(None)
