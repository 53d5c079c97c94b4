"""A model judges whether a step reached its aim; a step that did not is repeated, or fails."""

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import ExecutionMode, FallbackTrigger, Grounder, RunConfig
from mobiletest_automation.model_ports import Judgement, TaskDone
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.sentences.intents import Action
from tests.fakes.devices import FakeDevice, screen
from tests.fakes.models import FakeCache, FakeModel
from tests.unit.automation.attempts import PAY, category, failure_of, model_costs
from tests.unit.automation.attempts import run_with_model as run


def reflecting(retries: int) -> RunConfig:
    return RunConfig(execution_mode=ExecutionMode(enable_reflection=True, reflection_retries=retries))


async def test_reflection_repeats_a_step_that_missed_its_aim() -> None:
    missed, reached = Judgement(False, "the cart is empty"), Judgement(True, "")
    device, model, cache = FakeDevice(screen(PAY)), FakeModel(verdicts=[missed, reached]), FakeCache()
    result = await run(device, "Tap Pay", 'I see "Pay"', config=reflecting(1), model=model, cache=cache)
    assert (category(result), device.done.count("tap Pay"), model.judged) == (None, 2, ["Tap Pay", "Tap Pay"])
    assert model_costs(result) == [(2, 20), (0, 0)]
    assert "Tap Pay" in cache.kept


async def test_a_step_that_reflection_rejects_fails_and_is_not_cached() -> None:
    model, cache = FakeModel(verdicts=[Judgement(False, "the cart is empty")] * 3), FakeCache()
    result = await run(FakeDevice(screen(PAY)), "Tap Pay", config=reflecting(2), model=model, cache=cache)
    assert failure_of(result).category is Category.GOAL_NOT_REACHED
    assert "the cart is empty" in failure_of(result).message
    assert (cache.kept, model.verdicts) == ({}, [])


async def test_a_model_gets_the_reason_why_reflection_rejected_the_step() -> None:
    model = FakeModel(
        [ChosenAction(Action.TAP, PAY), TaskDone()], verdicts=[Judgement(False, "wrong one"), Judgement(True, "")]
    )
    assert category(await run(FakeDevice(screen(PAY)), "Buy it", config=reflecting(1), model=model)) is None
    assert "wrong one" in model.tasks[1].why


async def test_a_check_after_an_action_does_not_prove_the_action() -> None:
    moves = [ChosenAction(Action.TAP, PAY), ChosenAction(Action.ASSERT_VISIBLE, PAY), TaskDone()]
    model = FakeModel(moves, verdicts=[Judgement(False, "nothing was bought")])
    result = await run(FakeDevice(screen(PAY)), "Buy it", config=reflecting(0), model=model)
    assert (category(result), model.judged) == (Category.GOAL_NOT_REACHED, ["Buy it"])


@pytest.mark.parametrize(
    ("sentence", "answers", "passes"),
    [
        ('Tap "Buy"', [], False),
        ('Tap "Buy"', [ChosenAction(Action.WAIT_FOR, value="1")], False),
        ('Tap "Buy"', [TaskDone("it was so already"), ChosenAction(Action.TAP, PAY)], True),
        ('"Buy" is enabled', [], False),
        ('"Buy" is enabled', [ChosenAction(Action.TAP, PAY)], False),
        ('"Buy" is enabled', [ChosenAction(Action.ASSERT_VISIBLE, PAY)], True),
        ('"Buy" is disabled', [ChosenAction(Action.ASSERT_VISIBLE, PAY)], False),
        ('The text of "Buy" is "Pay"', [ChosenAction(Action.ASSERT_TEXT, PAY, "Pay")], True),
        ('The text of "Buy" is "Paid"', [ChosenAction(Action.ASSERT_TEXT, PAY, "Pay")], False),
        ('I do not see "off"', [], False),
        ('I do not see "off"', [ChosenAction(Action.ASSERT_NOT_VISIBLE, value="Gone")], False),
        ('I do not see "off"', [ChosenAction(Action.ASSERT_NOT_VISIBLE, value="Off by 1")], True),
        ("If there is a banner, close it", [], True),
    ],
)
async def test_a_model_must_do_what_the_rules_know_to_be_missing(
    sentence: str, answers: list[ChosenAction | TaskDone], passes: bool
) -> None:
    shown = screen(PAY, Element(role=Role.TEXT, text="Turn off the light"))
    result = await run(FakeDevice(shown), sentence, model=FakeModel(answers))
    assert category(result) is (None if passes else Category.GOAL_NOT_REACHED)


async def test_the_rules_check_where_a_model_sees_the_same_elements() -> None:
    config = RunConfig(execution_mode=ExecutionMode(grounder_type=Grounder.LLM))
    for sentence in ('I see "Paid"', 'I do not see "Pay"', '"Pay" is disabled'):
        model = FakeModel()
        result = await run(FakeDevice(screen(PAY)), sentence, config=config, model=model)
        assert (category(result), model.tasks) == (Category.ASSERTION_FAILED, [])
    model = FakeModel([ChosenAction(Action.TAP, PAY)])
    never = RunConfig(execution_mode=config.execution_mode, fallback_trigger=FallbackTrigger.NEVER)
    assert category(await run(FakeDevice(screen(PAY)), "I see that all is well", config=never, model=model)) is None
    assert len(model.tasks) == 1


async def test_cached_actions_are_not_judged() -> None:
    cache = FakeCache({"Tap Pay": ChosenAction(Action.TAP, PAY)})
    result = await run(FakeDevice(screen(PAY)), "Tap Pay", config=reflecting(1), model=FakeModel(), cache=cache)
    assert (category(result), model_costs(result)) == (None, [(0, 0)])
