"""Goals: planned by a model, run as inner steps, proven on the screen, and cached."""

from collections.abc import Sequence

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, CacheOutcome, Resolution, StepStatus
from mobiletest_automation.model.run_config import CacheRetryMode, ExecutionMode, FallbackTrigger, RunConfig
from mobiletest_automation.model_ports import GoalReached, Judgement, NextSteps
from mobiletest_automation.ports import StoredSteps
from tests.fakes.devices import FakeDevice, screen
from tests.fakes.models import FakeCache, FakeModel
from tests.unit.automation.attempts import PAY, category, failure_of, model_costs
from tests.unit.automation.attempts import run_with_model as run

PLANNING = RunConfig(execution_mode=ExecutionMode(enable_planning=True))


def kinds(result: AttemptResult) -> Sequence[str]:
    return [f"{'  ' * step.depth}{step.text} {step.status}" for step in result.steps]


async def test_a_goal_is_planned_run_as_inner_steps_and_cached() -> None:
    device, cache = FakeDevice(screen(PAY)), FakeCache()
    model = FakeModel(plans=[NextSteps(("Tap Pay", "Go back")), GoalReached("Pay")])
    first = await run(device, "Buy a mug", config=PLANNING, model=model, cache=cache)
    assert category(first) is None
    assert kinds(first) == ["Buy a mug passed", "  Tap Pay passed", "  Go back passed", '  I see "Pay" passed']
    assert model_costs(first) == [(2, 20), (0, 0), (0, 0), (0, 0)]
    assert first.steps[0].resolution is Resolution.MODEL
    assert cache.kept["Buy a mug"] == StoredSteps(("Tap Pay", "Go back", 'I see "Pay"'))
    second = await run(device, "Buy a mug", config=PLANNING, model=model, cache=cache)
    assert (category(second), kinds(second), sum(calls for calls, _ in model_costs(second))) == (None, kinds(first), 0)
    assert (second.steps[0].resolution, second.steps[0].cache) == (Resolution.CACHE, CacheOutcome.HIT)


async def test_a_failing_plan_is_replaced_once() -> None:
    device, cache = FakeDevice(screen(PAY)), FakeCache()
    model = FakeModel(plans=[NextSteps(("Tap Pay", "Tap Nowhere")), NextSteps(("Go back",)), GoalReached("Pay")])
    config = RunConfig(execution_mode=ExecutionMode(enable_planning=True), fallback_trigger=FallbackTrigger.NEVER)
    result = await run(device, "Buy a mug", config=config, model=model, cache=cache)
    assert category(result) is None
    assert kinds(result)[2] == "  Tap Nowhere warned"
    assert "this step failed: Tap Nowhere" in model.reported[1]
    assert cache.kept["Buy a mug"] == StoredSteps(("Tap Pay", "Go back", 'I see "Pay"'))
    twice = FakeModel(plans=[NextSteps(("Tap Nowhere",)), NextSteps(("Tap Anywhere",))])
    failing = await run(device, "Buy a cup", config=config, model=twice, cache=cache)
    assert (failure_of(failing).category, failure_of(failing).step_index) == (Category.GOAL_NOT_REACHED, 0)
    assert "Tap Anywhere" not in cache.kept
    assert "Buy a cup" not in cache.kept


async def test_a_goal_needs_visible_proof() -> None:
    model = FakeModel(plans=[GoalReached("Thank you"), GoalReached("Thank you")])
    result = await run(FakeDevice(screen(PAY)), "Buy a mug", config=PLANNING, model=model)
    assert category(result) is Category.GOAL_NOT_REACHED
    assert "does not show the text 'Thank you'" in model.reported[1]


async def test_a_goal_that_reflection_rejects_is_not_reached() -> None:
    config = RunConfig(execution_mode=ExecutionMode(enable_planning=True, enable_reflection=True))
    model = FakeModel(plans=[GoalReached("Pay")] * 2, verdicts=[Judgement(False, "nothing was bought")] * 2)
    result = await run(FakeDevice(screen(PAY)), "Buy a mug", config=config, model=model)
    assert failure_of(result).category is Category.GOAL_NOT_REACHED
    assert "nothing was bought" in failure_of(result).message


@pytest.mark.parametrize(
    ("mode", "expected"), [(CacheRetryMode.STEP, None), (CacheRetryMode.FULL_RERUN, Category.ELEMENT_NOT_FOUND)]
)
async def test_a_cached_plan_that_fails_is_discarded_and_replaced_if_configured(
    mode: CacheRetryMode, expected: Category | None
) -> None:
    cache = FakeCache({"Buy a mug": StoredSteps(("Tap Nowhere",))})
    config = RunConfig(
        execution_mode=ExecutionMode(enable_planning=True),
        cache_retry_mode=mode,
        fallback_trigger=FallbackTrigger.NEVER,
    )
    model = FakeModel(plans=[NextSteps(("Tap Pay",)), GoalReached("Pay")])
    result = await run(FakeDevice(screen(PAY)), "Buy a mug", config=config, model=model, cache=cache)
    assert (category(result), result.cache_failed) == (expected, expected is not None)
    assert result.steps[0].cache is CacheOutcome.STALE
    assert ("Buy a mug" in cache.kept) is (expected is None)


async def test_a_device_lost_in_a_goal_is_the_failure() -> None:
    device = FakeDevice(screen(PAY))
    device.failing["tap"] = DeviceFailure(Category.SESSION_LOST, "gone")
    result = await run(device, "Buy a mug", config=PLANNING, model=FakeModel(plans=[NextSteps(("Tap Pay",))]))
    assert (failure_of(result).category, failure_of(result).step_index) == (Category.SESSION_LOST, 1)
    assert [step.status for step in result.steps] == [StepStatus.FAILED, StepStatus.FAILED]
