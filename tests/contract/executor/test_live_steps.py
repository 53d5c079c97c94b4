"""The port LiveAttempts: what attempts under way have reached is shown, and never in place of how they ended."""

from dataclasses import replace
from datetime import UTC, datetime

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult, StepStatus
from services.executor.ports.runs import Claim, LiveAttempt
from services.executor.storage.live_steps import MongoLiveAttempts
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, finish, lose, run_of, running

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
