"""Sentences: when a model is asked, what it may do, what is cached, and what fails the step."""

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.model.results import CacheOutcome, Resolution, StepStatus
from mobiletest_automation.model.run_config import (
    CacheRetryMode,
    ExecutionMode,
    FallbackTrigger,
    Grounder,
    LlmConfig,
    RunConfig,
)
from mobiletest_automation.model_ports import CannotContinue, ModelFailed, TaskDone
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Point, Role
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.step_cache.cache import StoredStepCache
from tests.fakes.devices import FakeDevice, button, screen
from tests.fakes.models import FakeCache, FakeModel
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.automation.attempts import PAY, category, failure_of, model_costs
from tests.unit.automation.attempts import run_with_model as run


async def test_a_model_is_asked_where_the_rules_have_no_answer() -> None:
    model = FakeModel([ChosenAction(Action.TAP, PAY), TaskDone(), ChosenAction(Action.TAP, PAY)])
    device = FakeDevice(screen(PAY))
    result = await run(device, "Buy it", 'Tap "Buy"', "Tap Pay", model=model)
    assert category(result) is None
    assert device.done.count("tap Pay") == 3
    assert [step.resolution for step in result.steps] == [Resolution.MODEL, Resolution.MODEL, Resolution.RULE]
    assert [task.sentence for task in model.tasks] == ["Buy it", 'Tap "Buy"']
    assert model_costs(result) == [(2, 20), (2, 20), (0, 0)]


@pytest.mark.parametrize(
    ("trigger", "ask", "expected"),
    [
        (FallbackTrigger.NEVER, True, Category.SCRIPT_ERROR),
        (FallbackTrigger.STEP_FAIL, False, Category.SCRIPT_ERROR),
        (FallbackTrigger.FINAL_FAIL, False, Category.SCRIPT_ERROR),
        (FallbackTrigger.FINAL_FAIL, True, None),
    ],
)
async def test_fallback_trigger_and_attempt_decide_whether_a_model_may_be_asked(
    trigger: FallbackTrigger, ask: bool, expected: Category | None
) -> None:
    model = FakeModel()
    result = await run(FakeDevice(), "Buy it", config=RunConfig(fallback_trigger=trigger), ask_model=ask, model=model)
    assert category(result) is expected
    assert bool(model.tasks) is (expected is None)


async def test_no_model_is_asked_about_a_check_that_failed() -> None:
    model = FakeModel()
    result = await run(FakeDevice(), 'I see "Nothing"', model=model)
    assert (category(result), model.tasks) == (Category.ASSERTION_FAILED, [])


@pytest.mark.parametrize(
    "failed",
    [Category.CONFIG_INVALID, Category.LLM_UNAVAILABLE, Category.LLM_BUDGET_EXCEEDED, Category.GOAL_NOT_REACHED],
)
async def test_a_failing_model_fails_the_step_and_its_calls_count(failed: Category) -> None:
    model = FakeModel([ChosenAction(Action.TAP, PAY), ModelFailed(failed, "why")])
    result = await run(FakeDevice(screen(PAY)), "Buy it", model=model)
    assert category(result) is failed
    assert result.steps[0].message == "the model could not help: why"
    assert (result.steps[0].status, model_costs(result)) == (StepStatus.FAILED, [(2, 20)])


async def test_a_missing_model_fails_the_step_with_config_invalid() -> None:
    result = await run(FakeDevice(), "Buy it")
    assert result.failure is not None
    assert (result.failure.category, result.failure.category.fault) == (Category.CONFIG_INVALID, Fault.NEITHER)
    assert "MOBILETEST_LLM_BASE_URL" in result.failure.message
    assert result.failure.reason == "this step needs a model, and none is configured"


async def test_a_model_that_gives_up_or_never_ends_fails_the_step() -> None:
    gives_up = await run(FakeDevice(), "Buy it", model=FakeModel([CannotContinue("there is no shop")]))
    assert failure_of(gives_up).category is Category.GOAL_NOT_REACHED
    assert "there is no shop" in failure_of(gives_up).message
    device = FakeDevice(screen(PAY))
    endless = await run(device, "Buy it", model=FakeModel([ChosenAction(Action.TAP, PAY)] * 20))
    assert (failure_of(endless).category, device.done.count("tap Pay")) == (Category.GOAL_NOT_REACHED, 5)
    assert "within 5 actions" in failure_of(endless).message


async def test_a_model_gets_the_refusal_of_the_device_and_may_continue() -> None:
    device = FakeDevice(screen(PAY))
    device.failing["press"] = DeviceFailure(Category.SCRIPT_ERROR, "there is no such key")
    model = FakeModel([ChosenAction(Action.PRESS_KEY, value="sideways"), ChosenAction(Action.TAP, PAY)])
    assert category(await run(device, "Buy it", model=model)) is None
    assert "there is no such key" in model.reported[1]
    device.failing["press"] = DeviceFailure(Category.SESSION_LOST, "gone")
    lost = await run(device, "Buy it", model=FakeModel([ChosenAction(Action.PRESS_KEY, value="enter")]))
    assert category(lost) is Category.SESSION_LOST


async def test_a_slow_model_times_the_step_out() -> None:
    model = FakeModel([ChosenAction(Action.WAIT_FOR, value="1")] * 100)
    model.step_seconds = 0.0
    assert category(await run(FakeDevice(), "Buy it", model=model)) is Category.STEP_TIMEOUT


async def test_actions_at_points() -> None:
    here = Point(10, 20)
    actions = [Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS, Action.TYPE, Action.CLEAR]
    model = FakeModel([*(ChosenAction(action, value="x", point=here) for action in actions)])
    device = FakeDevice(screen())
    config = RunConfig(
        execution_mode=ExecutionMode(grounder_type=Grounder.VISION),
        llm_config=LlmConfig(primary_model="eyes"),
        disable_grid=True,
    )
    assert category(await run(device, "Draw", config=config, model=model)) is None
    assert device.done[2:] == [
        *("tap 10,20", "double_tap 10,20", "long_press 10,20 1", "tap 10,20", "type x", "tap 10,20", "clear None"),
    ]
    [options] = model.options
    assert (options.vision, options.grid, options.config.primary_model) == (True, False, "eyes")


async def test_replacing_a_text_clears_the_field_each_time() -> None:
    """It is not cached: the entry would contain the typing only."""
    name, cache = Element(role=Role.FIELD, label="Name", text="Ada", id="name"), FakeCache()
    for _ in range(2):
        device = FakeDevice(screen(name))
        result = await run(device, 'Set "Name" to "Eve"', cache=cache)
        assert category(result) is None
        assert [what.split()[0] for what in device.done if what.split()[0] in ("clear", "type")] == ["clear", "type"]
    device = FakeDevice(screen(name))
    await run(device, 'Type "Eve" into "Name"', cache=cache)
    assert not [what for what in device.done if what.startswith("clear")]


class CountingDevice(FakeDevice):
    """Counts how often its screen is read."""

    reads = 0

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        self.reads += 1
        return await super().tree(css)


async def test_a_second_run_of_rule_steps_makes_no_store_call() -> None:
    name = Element(role=Role.FIELD, label="Name")
    steps = ("Tap Pay", 'Type "Ada" into Name', 'I see "Pay"', "Pay is enabled", "Go back")
    store, reads = FakeStepCacheStore(), []
    for _ in range(2):
        device = CountingDevice(screen(PAY, name))
        result = await run(device, *steps, cache=StoredStepCache(store))
        assert [(step.resolution, step.cache) for step in result.steps] == [(Resolution.RULE, None)] * 5
        reads.append(device.reads)
    assert (store.calls, reads) == (0, [4, 4])


async def test_a_second_run_of_an_ambiguous_step_needs_no_model_and_no_waiting() -> None:
    one, other = button("Add", id="one"), button("Add", id="other")
    cache, model = StoredStepCache(FakeStepCacheStore()), FakeModel([ChosenAction(Action.TAP, other)])
    first = await run(FakeDevice(screen(one, other)), "Tap Add", cache=cache, model=model)
    device = FakeDevice(screen(one, other))
    second = await run(device, "Tap Add", cache=cache, model=model)
    assert [(result.steps[0].resolution, result.steps[0].cache) for result in (first, second)] == [
        (Resolution.MODEL, CacheOutcome.MISS),
        (Resolution.CACHE, CacheOutcome.HIT),
    ]
    assert (len(model.tasks), device.timer.now()) == (1, 0)


async def test_actions_of_a_model_are_replayed_from_the_cache() -> None:
    yes = button("Yes")
    device, cache = FakeDevice(screen(PAY, yes)), FakeCache()
    model = FakeModel([ChosenAction(Action.TAP, PAY), ChosenAction(Action.TAP, yes)])
    first = await run(device, "Buy it", model=model, cache=cache)
    second = await run(device, "Buy it", model=model, cache=cache)
    assert (category(first), category(second)) == (None, None)
    assert [(step.cache, step.resolution, step.model_calls) for step in (*first.steps, *second.steps)] == [
        (CacheOutcome.MISS, Resolution.MODEL, 3),
        (CacheOutcome.HIT, Resolution.CACHE, 0),
    ]
    assert device.done[2:4] == device.done[6:8] == ["tap Pay", "tap Yes"]


async def test_actions_are_not_cached_if_one_of_them_cannot_be() -> None:
    for moves in (
        [ChosenAction(Action.TAP, PAY), ChosenAction(Action.ASSERT_NOT_VISIBLE, value="Off")],
        [TaskDone("it was so already")],
    ):
        cache = FakeCache()
        assert category(await run(FakeDevice(screen(PAY)), "Buy it", model=FakeModel(moves), cache=cache)) is None
        assert cache.kept == {}


@pytest.mark.parametrize(
    ("mode", "expected", "cache_failed"),
    [
        (CacheRetryMode.STEP, None, False),
        (CacheRetryMode.NONE, Category.ASSERTION_FAILED, False),
        (CacheRetryMode.FULL_RERUN, Category.ASSERTION_FAILED, True),
    ],
)
async def test_a_cached_action_that_fails_is_discarded(
    mode: CacheRetryMode, expected: Category | None, cache_failed: bool
) -> None:
    cache = FakeCache({"Buy it": ChosenAction(Action.ASSERT_CHECKED, Element(role=Role.CHECKBOX, text="Mug"))})
    model = FakeModel([ChosenAction(Action.TAP, PAY)])
    config = RunConfig(cache_retry_mode=mode)
    result = await run(FakeDevice(screen(PAY)), "Buy it", config=config, model=model, cache=cache)
    assert (category(result), result.cache_failed) == (expected, cache_failed)
    assert result.steps[0].cache is CacheOutcome.STALE
    assert list(cache.kept) == (["Buy it"] if expected is None else [])


async def test_a_device_failure_does_not_discard_a_cached_action() -> None:
    device, cache = FakeDevice(screen(PAY)), FakeCache({"Buy it": ChosenAction(Action.TAP, PAY)})
    device.failing["tap"] = DeviceFailure(Category.SESSION_LOST, "gone")
    assert category(await run(device, "Buy it", cache=cache)) is Category.SESSION_LOST
    assert "Buy it" in cache.kept


async def test_a_cache_failure_that_was_retried_does_not_count() -> None:
    config = RunConfig(cache_retry_mode=CacheRetryMode.FULL_RERUN)
    cache = FakeCache({"Look for Pay": ChosenAction(Action.ASSERT_VISIBLE)})
    retry = {"retry": {"maxRetries": 1, "commands": ["Look for Pay"]}}
    model = FakeModel([ChosenAction(Action.ASSERT_VISIBLE, PAY)])
    result = await run(FakeDevice(screen(PAY)), retry, 'I see "Nothing"', config=config, cache=cache, model=model)
    assert [step.status for step in result.steps] == ["passed", "warned", "passed", "failed"]
    assert (category(result), result.cache_failed) == (Category.ASSERTION_FAILED, False)
