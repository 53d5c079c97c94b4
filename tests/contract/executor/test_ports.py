"""The ports Executions and Runs, on the fake and on MongoDB."""

import asyncio
from collections.abc import Sequence
from uuid import uuid4

import pytest
from mobiletest.executor.v1 import events_pb2

from services.chassis.context import Caller, bind
from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.events import Event
from services.chassis.ids import derive_ids
from services.executor.events import to_execution_event
from services.executor.model.attempts import Artifact, AttemptResult, StepResult, StepStatus
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind
from services.executor.model.failures import Category, Failure
from services.executor.model.lifecycle import Fenced
from services.executor.model.run_config import RunConfig
from services.executor.model.runs import Platform, Run, RunPlan, Session
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.ports.runs import Claim, OrphanedSession, RunKey, StopReason
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import LIMITS, World
from tests.fakes.executor import FakeCatalog, plan

ALL = PageRequest(1, 500)
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there.", reason="Not there.", step_index=1))
BROKEN = AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone."))


async def start(world: World, *plans: RunPlan, max_parallel: int | None = None, ci: Ci = Ci()) -> Execution:  # noqa: B008
    catalog = FakeCatalog()
    workflow_id = catalog.workflow(*plans, max_parallel=max_parallel)
    wanted = StartRequest(
        kind=ExecutionKind.WORKFLOW, subject_id=workflow_id, run_config=RunConfig(), build_config=BuildConfig(), ci=ci
    )
    return await ExecutionStarter(catalog, world.executions).start(wanted)


async def runs_of(world: World, execution: Execution) -> list[Run]:
    return (await world.executions.runs(execution.id, ALL))[0]


async def keys_of(world: World, execution: Execution) -> list[RunKey]:
    return [RunKey(execution.id, run.id) for run in await runs_of(world, execution)]


async def claimed(world: World, key: RunKey, worker: str = "worker-1") -> Claim:
    claim = await world.runs.claim(key, worker)
    assert claim is not None
    return claim


async def facts(world: World, execution: Execution) -> list[tuple[int, str, str]]:
    """(sequence, kind, status) of each event in the execution's log."""
    return [_told(event) for event in await world.executions.log(execution.id, 0, 1000)]


def _told(event: Event) -> tuple[int, str, str]:
    if event.type.endswith("RunChanged"):
        run = events_pb2.RunChanged.FromString(event.payload).run
        return event.sequence, "run", _status(run.status)
    execution = events_pb2.ExecutionChanged.FromString(event.payload).execution
    return event.sequence, "execution", _status(execution.status)


def _status(number: int) -> str:
    return list(Status)[number - 1].value


async def test_a_started_execution_has_its_runs_and_its_log(world: World) -> None:
    execution = await start(world, plan("One"), plan("Two"))
    assert (execution.status, execution.counts.queued) == (Status.QUEUED, 2)
    assert await world.executions.get(execution.id) == execution
    assert [run.target.test_name for run in await runs_of(world, execution)] == ["One", "Two"]
    assert await facts(world, execution) == [(1, "run", "queued"), (2, "run", "queued"), (3, "execution", "queued")]


async def test_a_repeated_start_returns_the_stored_execution(world: World) -> None:
    execution = await start(world, plan())
    again = (await world.executions.page(ExecutionFilter(), ALL))[0]
    assert [found.id for found in again] == [execution.id]


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
        assert (await world.executions.page(ExecutionFilter(), ALL))[1] == 6
    assert len({first.id, *(other.id for other in others)}) == 6


async def test_a_run_with_a_config_error_fails_at_once(world: World) -> None:
    execution = await start(world, plan(config_error="Attach the test to an app."), plan())
    assert execution.status is Status.QUEUED
    wrong, good = await runs_of(world, execution)
    assert (wrong.status, good.status) == (Status.FAILED, Status.QUEUED)
    assert wrong.failure is not None
    assert (wrong.failure.category, wrong.failure.message) == (Category.CONFIG_INVALID, "Attach the test to an app.")


async def test_an_execution_without_runnable_runs_has_ended(world: World) -> None:
    execution = await start(world, plan(config_error="Attach it.", platform=None))
    assert (execution.status, execution.success) == (Status.FAILED, None)
    assert (await facts(world, execution))[-1] == (2, "execution", "failed")


async def test_a_run_can_be_claimed_once(world: World) -> None:
    made = plan()
    execution = await start(world, made)
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    assert claim.plan == made
    assert (claim.run.status, claim.run.fencing_token, claim.attempt) == (Status.RUNNING, 1, 1)
    assert claim.seconds_left == LIMITS.run_timeout.total_seconds()
    assert claim.execution.status is Status.RUNNING
    assert await world.runs.claim(key, "worker-2") is None


async def test_an_unknown_run_cannot_be_claimed(world: World) -> None:
    assert await world.runs.claim(RunKey(str(uuid4()), str(uuid4())), "worker-1") is None


async def test_a_passing_attempt_ends_run_and_execution(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    run = await world.runs.finish(key, claim.run.fencing_token, AttemptResult(device="phone-1", simulated=True))
    assert (run.status, run.success) == (Status.COMPLETED, True)
    ended = await world.executions.get(execution.id)
    assert (ended.status, ended.success, ended.counts.passed) == (Status.COMPLETED, True, 1)
    assert [kind_status[1:] for kind_status in await facts(world, execution)] == [
        ("run", "queued"),
        ("execution", "queued"),
        ("run", "running"),
        ("execution", "running"),
        ("run", "completed"),
        ("execution", "completed"),
    ]


async def test_the_log_is_numbered_without_gaps_and_ends_with_the_execution_at_its_revision(world: World) -> None:
    execution = await start(world, plan(), plan())
    for key in await keys_of(world, execution):
        claim = await claimed(world, key)
        await world.runs.finish(key, claim.run.fencing_token, AttemptResult())
    told = await facts(world, execution)
    assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
    assert told[-1] == ((await world.executions.get(execution.id)).revision, "execution", "completed")
    later = await world.executions.log(execution.id, told[-3][0], 1)
    assert [event.sequence for event in later] == [told[-2][0]]


async def test_every_event_of_a_run_has_a_higher_revision(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    await world.runs.finish(key, claim.run.fencing_token, AttemptResult())
    events = await world.executions.log(execution.id, 0, 100)
    revisions = [events_pb2.RunChanged.FromString(e.payload).revision for e in events if e.type.endswith("RunChanged")]
    assert revisions == sorted(set(revisions))
    assert len(revisions) == 3


async def test_steps_and_artifacts_are_returned_with_the_run_only(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    now = await world.executions.now()
    step = StepResult(index=0, kind="sentence", text="Tap it", status=StepStatus.FAILED, started_at=now, message="No.")
    artifact = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 12)
    await world.runs.finish(key, claim.run.fencing_token, AttemptResult(steps=(step,), artifacts=(artifact,)))
    run = await world.executions.run(execution.id, key.run_id)
    assert (run.attempts[0].steps, run.attempts[0].artifacts) == ((step,), (artifact,))
    assert await world.executions.all_runs(execution.id) == [run]
    assert (await runs_of(world, execution))[0].attempts[0].steps == ()
    told = [to_execution_event(event) for event in await world.executions.log(execution.id, 0, 100)]
    assert all(not a.steps and not a.artifacts for event in told if event for a in event.run.attempts)


async def test_a_retry_has_a_new_token_and_keeps_the_failed_attempt(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    first = await claimed(world, key)
    run = await world.runs.finish(key, first.run.fencing_token, FAILED)
    assert (run.status, run.lease) == (Status.RUNNING, None)
    second = await claimed(world, key)
    assert second.attempt == 2
    assert second.run.fencing_token > first.run.fencing_token
    run = await world.runs.finish(key, second.run.fencing_token, AttemptResult())
    assert (run.success, run.flaky, run.attempts[0].failure) == (True, True, FAILED.failure)


async def test_a_worker_with_an_old_token_cannot_write(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    zombie = await claimed(world, key)
    await world.advance(16)
    [due] = await world.runs.due(100)
    await world.runs.expire(due)
    owner = await claimed(world, key, "worker-2")
    for write in (world.runs.finish(key, zombie.run.fencing_token, AttemptResult()), world.runs.hand_back(key, 1)):
        with pytest.raises(Fenced):
            await write
    assert await world.runs.notices({key.run_id: zombie.run.fencing_token}) == {key.run_id: StopReason.LOST}
    run = await world.runs.finish(key, owner.run.fencing_token, FAILED)
    assert [attempt.number for attempt in run.attempts] == [1, 2]


async def test_a_lease_is_renewed_only_with_its_own_token(world: World) -> None:
    execution = await start(world, plan(), plan())
    keys = await keys_of(world, execution)
    held = [await claimed(world, key) for key in keys]
    await world.advance(10)
    await world.runs.renew({keys[0].run_id: held[0].run.fencing_token, keys[1].run_id: 99})
    await world.advance(10)
    assert await world.runs.due(100) == [keys[1]]


async def test_renewing_does_not_keep_a_run_beyond_its_deadline(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    await world.advance(LIMITS.run_timeout.total_seconds() + 1)
    await world.runs.renew({key.run_id: claim.run.fencing_token})
    await world.advance(LIMITS.lease_ttl.total_seconds())
    await world.runs.expire(key)
    run = await world.executions.run(execution.id, key.run_id)
    assert run.failure is not None
    assert (run.status, run.failure.category) == (Status.FAILED, Category.RUN_TIMEOUT)


SESSION = Session("http://hub:4723", "s-1")


async def test_the_session_of_a_lost_worker_is_an_orphan_until_it_is_forgotten(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.renew({key.run_id: claim.run.fencing_token})
    assert await _orphans_of(world, key) == []
    await world.advance(16)
    await world.runs.expire(key)
    [left] = await _orphans_of(world, key)
    assert left.session == SESSION
    assert 0 <= left.seconds < 10
    again = await claimed(world, key, "worker-2")
    assert ([orphan.session for orphan in again.run.orphans], again.run.lease and again.run.lease.session) == (
        [SESSION],
        None,
    )
    await world.runs.forget_orphan(key, Session("http://hub:4723", "s-2"))
    assert len(await _orphans_of(world, key)) == 1
    await world.runs.forget_orphan(key, SESSION)
    assert await _orphans_of(world, key) == []
    await world.runs.finish(key, again.run.fencing_token, AttemptResult())


async def _orphans_of(world: World, key: RunKey) -> list[OrphanedSession]:
    return [left for left in await world.runs.orphans(100) if left.key == key]


async def test_the_session_of_a_run_handed_back_is_an_orphan(world: World) -> None:
    execution = await start(world, plan(), plan())
    keys = await keys_of(world, execution)
    for key in keys:
        claim = await claimed(world, key)
        await world.runs.note_session(key, claim.run.fencing_token, SESSION)
    await world.runs.hand_back(keys[0], 1)
    await world.runs.finish(keys[1], 1, AttemptResult())
    assert [left.session for left in await _orphans_of(world, keys[0])] == [SESSION]
    assert await _orphans_of(world, keys[1]) == []
    await world.runs.forget_orphan(keys[0], SESSION)


async def test_a_worker_with_an_old_token_cannot_record_a_session(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    zombie = await claimed(world, key)
    await world.advance(16)
    await world.runs.expire(key)
    with pytest.raises(Fenced):
        await world.runs.note_session(key, zombie.run.fencing_token, SESSION)
    await claimed(world, key, "worker-2")
    with pytest.raises(Fenced):
        await world.runs.note_session(key, zombie.run.fencing_token, SESSION)


async def test_an_unclaimed_run_ends_after_the_queue_timeout(world: World) -> None:
    execution = await start(world, plan())
    await world.advance(LIMITS.queue_timeout.total_seconds() - 60)
    assert await world.runs.due(100) == []
    await world.advance(61)
    for key in await world.runs.due(100):
        await world.runs.expire(key)
    ended = await world.executions.get(execution.id)
    assert ended.failure is not None
    assert (ended.status, ended.failure.category) == (Status.FAILED, Category.QUEUE_TIMEOUT)


async def test_expiring_a_run_that_is_not_due_changes_nothing(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    before = await world.executions.get(execution.id)
    await world.runs.expire(key)
    assert await world.executions.get(execution.id) == before
    assert await world.runs.notices({key.run_id: claim.run.fencing_token}) == {}


async def test_retries_are_claimed_before_first_attempts(world: World) -> None:
    begun = await start(world, plan())
    [key] = await keys_of(world, begun)
    await start(world, plan())
    claim = await claimed(world, key)
    await world.runs.hand_back(key, claim.run.fencing_token)
    assert await world.runs.claimable(Platform.ANDROID, 10) == [key]
    await claimed(world, key)
    assert len(await world.runs.claimable(Platform.ANDROID, 10)) == 1


async def test_claimable_runs_are_found_by_platform_and_oldest_first(world: World) -> None:
    executions = []
    for platform in (Platform.IOS, Platform.ANDROID, Platform.IOS):
        executions.append(await start(world, plan(platform=platform)))
        await world.advance(1)
    found = await world.runs.claimable(Platform.IOS, 10)
    assert [key.execution_id for key in found] == [executions[0].id, executions[2].id]
    assert len(await world.runs.claimable(Platform.IOS, 1)) == 1


async def test_an_infrastructure_failure_delays_the_next_claim(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    await world.runs.finish(key, claim.run.fencing_token, BROKEN)
    assert await world.runs.claimable(Platform.ANDROID, 10) == []
    assert await world.runs.claim(key, "worker-1") is None
    await world.advance(1.1)
    assert await world.runs.claimable(Platform.ANDROID, 10) == [key]


async def test_still_claimable_leaves_out_claimed_ended_and_unknown_runs(world: World) -> None:
    execution = await start(world, plan(), plan())
    taken, waiting = await keys_of(world, execution)
    await claimed(world, taken)
    unknown = RunKey(execution.id, str(uuid4()))
    assert await world.runs.still_claimable([taken, waiting, unknown]) == [waiting]


async def test_max_parallel_releases_one_run_for_each_that_ends(world: World) -> None:
    execution = await start(world, plan("1"), plan("2"), plan("3"), max_parallel=1)
    for _ in range(3):
        [key] = await world.runs.claimable(Platform.ANDROID, 10)
        claim = await claimed(world, key)
        assert await world.runs.claimable(Platform.ANDROID, 10) == []
        await world.runs.finish(key, claim.run.fencing_token, AttemptResult())
    assert (await world.executions.get(execution.id)).status is Status.COMPLETED


async def test_a_retry_does_not_release_another_run(world: World) -> None:
    execution = await start(world, plan("1"), plan("2"), max_parallel=1)
    key, _ = await keys_of(world, execution)
    claim = await claimed(world, key)
    await world.runs.finish(key, claim.run.fencing_token, FAILED)
    assert await world.runs.claimable(Platform.ANDROID, 10) == [key]


async def test_cancelling_ends_waiting_runs_and_notifies_workers(world: World) -> None:
    execution = await start(world, plan("1"), plan("2"), plan("3"), max_parallel=2)
    running, queued, waiting = await keys_of(world, execution)
    claim = await claimed(world, running)
    asked = await world.executions.cancel(execution.id)
    assert (asked.status, asked.counts.cancelled, asked.counts.running) == (Status.RUNNING, 2, 1)
    assert asked.cancel_requested_at is not None
    assert await world.runs.notices({running.run_id: claim.run.fencing_token}) == {running.run_id: StopReason.CANCEL}
    cancelled = Failure(Category.CANCELLED_BY_USER, "Stopped.")
    await world.runs.finish(running, claim.run.fencing_token, AttemptResult(failure=cancelled))
    statuses = [run.status for run in await runs_of(world, execution)]
    assert statuses == [Status.CANCELLED] * 3
    assert (await world.executions.get(execution.id)).status is Status.CANCELLED
    assert queued != waiting


async def test_cancelling_is_idempotent_and_refused_after_the_end(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    assert await world.executions.cancel(execution.id) == await world.executions.cancel(execution.id)
    await world.runs.finish(key, claim.run.fencing_token, AttemptResult())
    with pytest.raises(FailedPrecondition):
        await world.executions.cancel(execution.id)


async def test_a_cancelled_run_of_a_lost_worker_ends_as_cancelled(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    await claimed(world, key)
    await world.executions.cancel(execution.id)
    await world.advance(16)
    await world.runs.expire(key)
    assert (await world.executions.get(execution.id)).status is Status.CANCELLED


async def test_lists_are_newest_first_and_filtered(world: World) -> None:
    one = await start(world, plan(), ci=Ci(branch="main", commit_sha="abc", pr_number=7))
    two = await start(world, plan())

    async def found(wanted: ExecutionFilter, page: PageRequest = ALL) -> list[str]:
        return [execution.id for execution in (await world.executions.page(wanted, page))[0]]

    both = await found(ExecutionFilter())
    assert sorted(both) == sorted([one.id, two.id])
    assert await found(ExecutionFilter(), PageRequest(2, 1)) == both[1:]
    assert await found(ExecutionFilter(), PageRequest(3, 1)) == []
    assert await found(ExecutionFilter(status=Status.QUEUED)) == both
    assert await found(ExecutionFilter(status=Status.RUNNING)) == []
    assert await found(ExecutionFilter(workflow_id=one.workflow_id)) == [one.id]
    assert await found(ExecutionFilter(app_id=two.app_ids[0])) == [two.id]
    assert await found(ExecutionFilter(source=ExecutionSource.CI)) == [one.id]
    assert await found(ExecutionFilter(branch="main", commit_sha="abc", pr_number=7)) == [one.id]
    assert await found(ExecutionFilter(branch=".*")) == []
    assert (await world.executions.page(ExecutionFilter(), PageRequest(1, 1)))[1] == 2


async def test_batch_returns_known_executions_in_order(world: World) -> None:
    one, two = await start(world, plan()), await start(world, plan())
    found = await world.executions.batch([two.id, str(uuid4()), one.id])
    assert [execution.id for execution in found] == [two.id, one.id]


async def test_runs_are_paged_in_their_order(world: World) -> None:
    execution = await start(world, *(plan(str(number)) for number in range(5)))
    page, total = await world.executions.runs(execution.id, PageRequest(2, 2))
    assert ([run.target.test_name for run in page], total) == (["2", "3"], 5)


async def test_ids_of_other_organisations_are_not_found(world: World) -> None:
    execution = await start(world, plan())
    [key] = await keys_of(world, execution)
    with bind(Caller(org_id=str(uuid4()))):
        for execution_id in (execution.id, str(uuid4())):
            await _is_unknown(world, execution_id, key.run_id)
        assert await world.executions.batch([execution.id]) == []
        assert await world.executions.page(ExecutionFilter(), ALL) == ([], 0)
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
    one, two = await start(world, plan()), await start(world, plan())
    [key] = await keys_of(world, one)
    with pytest.raises(NotFound, match=r"^Run not found$"):
        await world.executions.run(two.id, key.run_id)


async def test_the_backlog_has_the_oldest_wait_and_the_stuck_runs(world: World) -> None:
    empty = await world.runs.backlog()
    assert (empty.oldest_seconds, empty.stuck) == (0.0, 0)
    execution = await start(world, plan(), plan())
    key, _ = await keys_of(world, execution)
    await claimed(world, key)
    await world.advance(70)
    backlog = await world.runs.backlog()
    assert 70 <= backlog.oldest_seconds < 100
    assert backlog.stuck == 0
    await world.advance(10)
    assert (await world.runs.backlog()).stuck == 1
