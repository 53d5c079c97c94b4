"""Maestro files run as they are written: on the simulated device, with its built-in app."""

from pathlib import Path

import pytest

from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.model.attempts import AttemptResult, StepStatus
from services.executor.model.failures import Category
from services.executor.model.run_config import FallbackTrigger, RunConfig
from tests.fakes.flows import stored_steps

FOLDER = Path(__file__).parents[2] / "flows" / "maestro"
FLOWS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}
ELSEWHERE = {
    ("page", "android"): Category.ELEMENT_NOT_FOUND,
    ("page", "ios"): Category.ELEMENT_NOT_FOUND,
    ("link", "android"): Category.SCRIPT_ERROR,
    ("link", "ios"): Category.SCRIPT_ERROR,
    ("log_in", "ios"): Category.ELEMENT_NOT_FOUND,
}
"""What these files need is not in the built-in app: a field, a link, Android's ids on iOS."""


async def run(steps: object, platform: str = "android") -> AttemptResult:
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    plan = AttemptRequest(run_id="r", attempt=1, platform=platform, steps=steps, config=config, step_seconds=5)
    return await AttemptRunner(PooledDevices.load(None)).run(plan)


@pytest.mark.parametrize("platform", ["android", "ios"])
@pytest.mark.parametrize("name", FLOWS)
async def test_each_file_runs(name: str, platform: str) -> None:
    result = await run(stored_steps(FLOWS[name]), platform)
    failure = result.failure
    assert (failure.category if failure else None) == ELSEWHERE.get((name, platform)), failure
    assert failure or all(step.status is not StepStatus.FAILED for step in result.steps)


async def test_hooks_before_and_after_the_steps() -> None:
    steps = [
        {"onFlowStart": ["launchApp", "Tap Email"], "onFlowComplete": ["takeScreenshot", "Tap Nothing", "back"]},
        "Tap Email",
    ]
    passed = await run(steps)
    assert [step.text for step in passed.steps][:4] == ["launchApp", "Tap Email", "Tap Email", "takeScreenshot"]
    assert passed.failure is not None
    assert (passed.failure.step_index, passed.failure.category) == (4, Category.ELEMENT_NOT_FOUND)
    failed = await run([steps[0], "I see Nowhere", "Tap Email"])
    assert failed.failure is not None
    assert (failed.failure.step_index, failed.failure.category) == (2, Category.ASSERTION_FAILED)
    ended = [step.status for step in failed.steps]
    assert ended == [StepStatus.PASSED] * 2 + [StepStatus.FAILED, StepStatus.PASSED, StepStatus.FAILED]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"env": {"EMAIL": "a"}}, {"inputText": "${EMIAL}"}], 'there is no variable "EMIAL"; did you mean EMAIL?'),
        ([{"inputText": "${maestro.copiedText}"}], "use copyTextFrom first"),
        (["pasteText"], "nothing was copied"),
        ([{"env": {"N": "many"}}, {"repeat": {"times": "${N}", "commands": ["back"]}}], "expected a number"),
        ([{"env": {"Q": 'a" into "b'}}, 'Type "${Q}" into Email'], "contains a quote"),
        ([{"env": {"N": "1"}}, {"eraseText": "${N - 1}"}], "from 1 to 10000"),
        ([{"env": {"A": "${B}"}}, "back"], 'there is no variable "B"'),
        ([{"inputText": "${1 / 0}"}], "division by 0, in ${1 / 0}"),
    ],
)
async def test_a_variable_with_an_unfit_value_is_the_tests_fault(steps: list[object], message: str) -> None:
    failure = (await run(steps)).failure
    assert failure is not None
    assert failure.category is Category.SCRIPT_ERROR
    assert message in failure.message


async def test_a_missing_external_value_fails_only_the_step_that_uses_it() -> None:
    declared = {"env": {"USER": "${USER}"}}
    assert (await run([declared, "Tap Email"])).failure is None
    failure = (await run([declared, {"inputText": "${USER}"}])).failure
    assert failure is not None
    assert 'there is no variable "USER"' in failure.message


async def test_conditions_are_evaluated_in_each_round() -> None:
    steps = [
        {"setClipboard": "x"},
        {
            "repeat": {
                "while": {"true": "${maestro.copiedText != 'xxx'}"},
                "commands": [{"setClipboard": "${maestro.copiedText + 'x'}"}],
            }
        },
        {"assertTrue": "${maestro.copiedText == 'xxx'}"},
    ]
    result = await run(steps)
    assert result.failure is None
    assert [step.message for step in result.steps if step.kind == "repeat"] == ["2 rounds"]


async def test_a_false_assertion_is_reported_as_written() -> None:
    failure = (await run([{"env": {"A": "1"}}, {"assertTrue": "${A > 2}"}])).failure
    assert failure is not None
    assert (failure.category, failure.message) == (Category.ASSERTION_FAILED, "${A > 2} is not true: it is false")
    assert failure.reason == "${A > 2} is not true"
