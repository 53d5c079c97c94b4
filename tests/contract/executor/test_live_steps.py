"""The port LiveAttempts: what attempts under way have reached is shown, and never in place of how they ended."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult, StepStatus
from services.executor.ports.runs import Claim, LiveAttempt
from services.executor.storage.change_notifier import RUNS_AT_ONCE, ChangeNotifier, ChangeWaiter, StepsNotifier
from services.executor.storage.live_steps import MongoLiveAttempts
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, finish, lose, run_of, running

FOREVER = 3600.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SCREEN = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 10)


def step(index: int, status: StepStatus) -> StepResult:
    return StepResult(index=index, kind="sentence", text="Tap $Pay", status=status, started_at=NOW)


PASSED, UNDER_WAY = step(0, StepStatus.PASSED), step(1, StepStatus.RUNNING)


def reached(claim: Claim, *steps: StepResult) -> LiveAttempt:
    return LiveAttempt(
        key=claim.key,
        org_id=claim.run.org_id,
        token=claim.run.fencing_token,
        number=claim.attempt,
        device="phone-1",
        simulated=True,
        steps=steps,
        artifacts=(SCREEN,),
    )


class Watched:
    """A notifier that looks for new steps when a test says so."""

    def __init__(self, world: World) -> None:
        self.changes = ChangeNotifier(world.mongo)
        self.steps = StepsNotifier(world.mongo, self.changes)

    async def news(self, waiter: ChangeWaiter) -> list[str]:
        """The ids of the runs with steps that a look finds; nothing else may wake the waiter."""
        await self.steps.look()
        return list(await waiter.wait(0))


async def test_watchers_are_notified_of_new_steps_once(world: World) -> None:
    claim, other, live = await running(world), await running(world), MongoLiveAttempts(world.mongo)
    watched = Watched(world)
    with watched.changes.subscribe(claim.execution.id, steps=True) as waiter:
        assert await watched.news(waiter) == []
        await live.write([reached(claim, UNDER_WAY), reached(other, UNDER_WAY)])
        assert await watched.news(waiter) == [claim.run.id]
        assert await watched.news(waiter) == []
        await live.write([reached(claim, PASSED, UNDER_WAY)])
        assert await watched.news(waiter) == [claim.run.id]
        await finish(world, claim, AttemptResult(steps=(PASSED,)))
        assert await watched.news(waiter) == []


async def test_only_who_wants_steps_is_notified_of_them(world: World) -> None:
    claim, watched = await running(world), Watched(world)
    await MongoLiveAttempts(world.mongo).write([reached(claim, UNDER_WAY)])
    with watched.changes.subscribe(claim.execution.id) as waiter:
        assert await watched.news(waiter) == []
        assert watched.changes.executions_with_steps() == []


@pytest.mark.parametrize("changes", [False, True])
async def test_many_runs_are_named_some_at_a_time_and_a_change_is_not_forgotten(world: World, changes: bool) -> None:
    watched = Watched(world)
    ids = [f"run-{number}" for number in range(RUNS_AT_ONCE + 1)]
    with watched.changes.subscribe("an execution", steps=True) as waiter:
        watched.changes.notify_steps("an execution", ids)
        watched.changes.notify_steps("an execution", ids[-1:])
        if changes:
            waiter.wake()
        assert [list(await waiter.wait(FOREVER)) for _ in range(2)] == [ids[:-1], ids[-1:]]
        assert await waiter.wait(FOREVER if changes else 0) == []
        assert await waiter.wait(0) == []


async def attempts_of(world: World, claim: Claim) -> tuple[Attempt, ...]:
    return (await run_of(world, claim.key)).attempts


async def test_an_attempt_under_way_shows_its_steps_device_and_artifacts(world: World) -> None:
    claim, live = await running(world), MongoLiveAttempts(world.mongo)
    await live.write([reached(claim, UNDER_WAY)])
    await live.write([reached(claim, PASSED, UNDER_WAY)])
    [attempt] = await attempts_of(world, claim)
    assert attempt.steps == (PASSED, UNDER_WAY)
    assert (attempt.device, attempt.simulated, attempt.artifacts) == ("phone-1", True, (SCREEN,))


async def test_the_final_steps_replace_the_live_ones_and_a_late_write_changes_nothing(world: World) -> None:
    claim, live = await running(world), MongoLiveAttempts(world.mongo)
    await live.write([reached(claim, UNDER_WAY)])
    final = step(1, StepStatus.FAILED)
    await finish(world, claim, AttemptResult(device="phone-2", simulated=False, steps=(PASSED, final)))
    await live.write([reached(claim, UNDER_WAY)])
    [attempt] = await attempts_of(world, claim)
    assert attempt.steps == (PASSED, final)
    assert (attempt.device, attempt.simulated, attempt.artifacts) == ("phone-2", False, ())


async def test_a_write_that_began_before_the_end_does_not_change_the_final_steps(world: World) -> None:
    """It has seen the lease, and comes after the final steps."""
    claim, live = await running(world), MongoLiveAttempts(world.mongo)
    final = step(1, StepStatus.FAILED)
    await finish(world, claim, AttemptResult(steps=(PASSED, final)))
    await live.update([reached(claim, UNDER_WAY)])
    [attempt] = await attempts_of(world, claim)
    assert (attempt.steps, attempt.device) == ((PASSED, final), None)


async def test_a_lost_attempt_keeps_what_it_had_reached_and_can_write_nothing_more(world: World) -> None:
    lost, live = await running(world), MongoLiveAttempts(world.mongo)
    await live.write([reached(lost, PASSED, UNDER_WAY)])
    await lose(world, lost.key)
    owner = await claimed(world, lost.key, "worker-2")
    await live.write([reached(lost, step(0, StepStatus.FAILED))])
    await live.write([replace(reached(owner, UNDER_WAY), device="phone-2")])
    first, second = await attempts_of(world, lost)
    assert first.failure is not None
    assert first.failure.category is Category.EXECUTOR_LOST
    assert first.steps == (PASSED, replace(UNDER_WAY, status=StepStatus.WARNED, message="not finished"))
    assert (first.device, first.artifacts) == ("phone-1", ())
    assert (second.device, second.steps) == ("phone-2", (UNDER_WAY,))
