"""Commands that ask a model about the screen."""

from typing import Any

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, Resolution, StepStatus
from mobiletest_automation.model_ports import Judgement, ModelFailed, ScreenView
from tests.fakes.devices import FakeDevice, button, screen
from tests.fakes.models import FakeModel
from tests.unit.automation.attempts import failure_of, run

REQUIRED = {"optional": False}


async def ask(model: FakeModel | None, *steps: object) -> tuple[AttemptResult, FakeDevice]:
    device = FakeDevice(screen(button("Pay")))
    return await run(device, *steps, model=model), device


IT_IS_FREE, IS_NOT_TRUE = {"assertion": "It is free", **REQUIRED}, 'the model says that "It is free" is not true'
NOT_SEEN = 'the model does not see "the price" on the screen'
DEFECTS = "the model sees defects on the screen"


@pytest.mark.parametrize(
    ("step", "model", "action", "message", "reason"),
    [
        ({"assertWithAI": "The price is shown"}, FakeModel(verdicts=[Judgement(True, "It is $12")]),
         "assert_with_ai", "It is $12", None),
        ("assertNoDefectsWithAI", FakeModel(seen=[()]), "assert_no_defects_with_ai", "the model sees no defects", None),
        ({"extractTextWithAI": "the price"}, FakeModel(seen=[("$12",)]), "extract_text", 'aiOutput is "$12"', None),
        ({"assertWithAI": IT_IS_FREE}, FakeModel(verdicts=[Judgement(False, "It is $12")]),
         "", f"{IS_NOT_TRUE}: It is $12", IS_NOT_TRUE),
        ({"assertNoDefectsWithAI": REQUIRED}, FakeModel(seen=[("Pay is cut off", "Two texts overlap")]),
         "", f"{DEFECTS}: Pay is cut off; Two texts overlap", DEFECTS),
        ({"extractTextWithAI": {"query": "the price", **REQUIRED}}, FakeModel(seen=[()]), "", NOT_SEEN, NOT_SEEN),
    ],
)  # fmt: skip
async def test_an_answer_decides_the_step_and_is_counted(
    step: Any, model: FakeModel, action: str, message: str, reason: str | None
) -> None:
    result, _ = await ask(model, step)
    (done,) = result.steps
    assert (done.action, done.message) == (action, message)
    assert (done.resolution, done.model_calls, done.model_tokens) == (Resolution.MODEL, 1, 10)
    if reason is None:
        assert (result.failure, done.status) == (None, StepStatus.PASSED)
    else:
        failure = failure_of(result)
        assert (failure.category, failure.message, failure.reason) == (Category.ASSERTION_FAILED, message, reason)


async def test_they_are_optional_unless_they_say_otherwise() -> None:
    result, _ = await ask(FakeModel(verdicts=[Judgement(False, "no")]), {"assertWithAI": "It is free"}, "back")
    assert (result.failure, [step.status for step in result.steps]) == (None, [StepStatus.WARNED, StepStatus.PASSED])


@pytest.mark.parametrize("category", [Category.LLM_UNAVAILABLE, Category.LLM_BUDGET_EXCEEDED])
async def test_a_model_that_cannot_be_asked_fails_only_a_required_step(category: Category) -> None:
    class Unavailable(FakeModel):
        async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
            self.call()
            raise ModelFailed(category, "later")

    optional, _ = await ask(Unavailable(), {"assertWithAI": "It is free"})
    assert (optional.failure, optional.steps[0].status) == (None, StepStatus.WARNED)
    required, _ = await ask(Unavailable(), {"assertWithAI": {"assertion": "It is free", **REQUIRED}})
    assert (failure_of(required).category, required.steps[0].model_calls) == (category, 1)


async def test_an_extracted_text_is_a_variable_until_its_runflow_ends() -> None:
    inside = [{"extractTextWithAI": {"query": "the code", "outputVariable": "CODE"}}, {"inputText": "${CODE}"}]
    result, device = await ask(FakeModel(seen=[("A-7",)]), {"runFlow": {"commands": inside}}, {"inputText": "${CODE}"})
    assert "type A-7" in device.done
    assert 'there is no variable "CODE"' in failure_of(result).message


async def test_an_extracted_secret_is_masked() -> None:
    step = {"extractTextWithAI": {"query": "the password", "outputVariable": "PASSWORD"}}
    result, _ = await ask(FakeModel(seen=[("lovelace",)]), step)
    assert result.steps[0].message == 'PASSWORD is "${PASSWORD}"'


async def test_without_a_model_the_test_does_not_begin() -> None:
    flow = [{"onFlowComplete": [{"repeat": {"times": 1, "commands": ["assertNoDefectsWithAI"]}}]}, "back"]
    result, device = await ask(None, *flow)
    assert result.failure is not None
    assert result.failure.category is Category.CONFIG_INVALID
    assert result.failure.message.startswith("assertNoDefectsWithAI (steps[0].onFlowComplete[0].repeat.commands[0]")
    assert "set MOBILETEST_LLM_BASE_URL" in result.failure.message
    assert (device.done, result.steps) == ([], ())
