"""Maestro files run as they are written: on the simulated device, with its built-in app."""

import re
from functools import partial
from pathlib import Path

import pytest

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, StepStatus
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from mobiletest_automation.scripting.engine import ScriptEngine
from mobiletest_automation.scripting.http import HttpRequest, HttpResponse
from mobiletest_automation.scripting.limits import ScriptLimits
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.fakes.flows import stored_steps
from tests.unit.automation.attempts import failure_of

FOLDER = Path(__file__).parent / "flows" / "maestro"
FLOWS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}
# What these files need is not here: a field, a link, Android's ids on iOS, a model.
ELSEWHERE = {
    ("page", "android"): Category.ELEMENT_NOT_FOUND,
    ("page", "ios"): Category.ELEMENT_NOT_FOUND,
    ("link", "android"): Category.SCRIPT_ERROR,
    ("link", "ios"): Category.SCRIPT_ERROR,
    ("log_in", "ios"): Category.ELEMENT_NOT_FOUND,
    ("questions", "android"): Category.CONFIG_INVALID,
    ("questions", "ios"): Category.CONFIG_INVALID,
}


async def run(steps: object, platform: str = "android") -> AttemptResult:
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    plan = AttemptRequest(
        run_id="r", flow_name="Log in", attempt=1, platform=platform, steps=steps, config=config, step_seconds=5
    )
    return await AttemptRunner(PooledDevices(DEFAULT_POOLS)).run(plan)


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
    assert (failure_of(passed).step_index, failure_of(passed).category) == (4, Category.ELEMENT_NOT_FOUND)
    failed = await run([steps[0], "I see Nowhere", "Tap Email"])
    assert (failure_of(failed).step_index, failure_of(failed).category) == (2, Category.ASSERTION_FAILED)
    ended = [step.status for step in failed.steps]
    assert ended == [StepStatus.PASSED] * 2 + [StepStatus.FAILED, StepStatus.PASSED, StepStatus.FAILED]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"env": {"EMAIL": "a"}}, {"inputText": "${EMIAL}"}], 'there is no variable "EMIAL"; did you mean EMAIL?'),
        ([{"inputText": "${MAESTRO_EMAIL}"}], "in the environment of mobiletest run, or by -e MAESTRO_EMAIL=VALUE"),
        ([{"inputText": "${MAESTRO_SHRAD_ID}"}], "did you mean MAESTRO_SHARD_ID?"),
        ([{"inputText": "${maestro.copiedText}"}], "use copyTextFrom first"),
        (["pasteText"], "nothing was copied"),
        ([{"env": {"N": "many"}}, {"repeat": {"times": "${N}", "commands": ["back"]}}], "expected a number"),
        ([{"env": {"Q": 'a" into "b'}}, 'Type "${Q}" into Email'], "contains a quote"),
        ([{"env": {"N": "1"}}, {"eraseText": "${N - 2}"}], "from 0 to 10000"),
        ([{"env": {"A": "x${B}"}}, "back"], 'there is no variable "B"'),
        (
            [{"env": {"A": "x${B}", "B": "y"}}, "back"],
            "env.A: B is a variable of the same env, whose values do not see",
        ),
        ([{"env": {"A": "${B}"}}, {"inputText": "${A}"}], 'there is no variable "A"'),
        ([{"inputText": "${'Dear ' + NOBODY}"}], 'there is no variable "NOBODY"'),
        ([{"inputText": "${NOBODY * 2}"}], "start, or by mobiletest run -e NOBODY=VALUE"),
        ([{"assertNotVisible": "${NOBODY}"}], 'there is no variable "NOBODY"'),
        ([{"inputText": "${output.token}"}], '"output.token" is undefined'),
        ([{"inputText": "${var shelf = 4}"}], '"var shelf = 4" has no value: end it with an expression'),
        ([{"inputText": "${typeof NOBODY + NOBODY}"}], 'there is no variable "NOBODY"'),
        ([{"inputText": "${null}"}], '"null" is null'),
        ([{"inputText": "${0 / 0}"}], '"0 / 0" is NaN'),
        ([{"inputText": "${({a: 1})}"}], "is an object, not a text"),
        ([{"inputText": "${1 +}"}], "steps[0].inputText, in ${1 +}, line 1, column 1: SyntaxError"),
        ([{"inputText": "${NOBODY.name}"}], "TypeError: cannot read property 'name' of undefined"),
        ([{"inputText": "${'x'.repeat(30000)}"}], "the text becomes longer than 20000 characters"),
        ([{"inputText": "${(() => {for(;;);})()}"}], "the script was ended: it computes too long"),
    ],
)
async def test_a_variable_with_an_unfit_value_is_the_tests_fault(steps: list[object], message: str) -> None:
    failure = failure_of(await run(steps))
    assert failure.category is Category.SCRIPT_ERROR
    assert message in failure.message


@pytest.mark.parametrize(
    "source", ["const enough = 12 >= 3", "/* 12 >= 3 */", ";", "function enough() { return true }"]
)
async def test_an_expression_without_a_value_is_false(source: str) -> None:
    failure = failure_of(await run([{"assertTrue": f"${{{source}}}"}]))
    assert failure.message == f"${{{source}}} is not true: it is undefined"
    branch = {"runFlow": {"when": {"true": f"${{{source}}}"}, "commands": ["back"]}}
    assert [step.kind for step in (await run([branch])).steps] == ["runFlow"]


async def test_the_type_of_a_name_without_a_value_is_a_text() -> None:
    steps = ["launchApp", "Tap Email", {"inputText": "it is ${typeof NOBODY}"}, {"assertVisible": "it is undefined"}]
    assert (await run(steps)).failure is None


async def test_a_missing_external_value_fails_only_the_step_that_uses_it() -> None:
    declared = {"env": {"USER": "${USER}"}}
    assert (await run([declared, "Tap Email"])).failure is None
    failure = failure_of(await run([declared, {"inputText": "${USER}"}]))
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
    failure = failure_of(await run([{"env": {"A": "1"}}, {"assertTrue": "${A > 2}"}]))
    assert (failure.category, failure.message) == (Category.ASSERTION_FAILED, "${A > 2} is not true: it is false")
    assert failure.reason == "${A > 2} is not true"


def script(source: str, **more: object) -> dict[str, object]:
    return {"runScript": {"file": "a.js", "script": source, **more}}


@pytest.mark.parametrize("around", ["optional", "retry", "runFlow"])
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("let a = 1;\nthrow new Error('no ' + a)", r"a\.js, line 2, column \d+: no 1$"),
        ("1;\nnull.name", r"a\.js, line 2, column \d+: TypeError: cannot read"),
        ("const a = [];\nfor(;;) a.push(new Uint8Array(1 << 20))", r"a\.js, line 2, column \d+: .*: out of memory"),
    ],
)
async def test_nothing_tolerates_the_error_of_a_script(source: str, message: str, around: str) -> None:
    steps: dict[str, list[object]] = {
        "optional": [script(source, optional=True)],
        "retry": [{"retry": {"commands": [script(source)]}}],
        "runFlow": [{"runFlow": {"commands": [script(source)], "optional": True}}],
    }
    result = await run([*steps[around], {"evalScript": "${output.b = 1}"}])
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert re.match(message, failure_of(result).message)
    assert "evalScript" not in {step.kind for step in result.steps}


async def test_an_endless_script_ends_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = partial(ScriptEngine, limits=ScriptLimits(script_fuel=10**8))
    monkeypatch.setattr("mobiletest_automation.attempt.ScriptEngine", limited)
    steps = [script("output.a = 1;\nfor(;;) output.a.toFixed()", optional=True), "Tap Email"]
    result = await run(steps)
    assert re.match(r"a\.js, in or after line [12]: .* computes too long", failure_of(result).message)
    assert len(result.steps) == 1


async def test_output_is_shared_by_hooks_and_flows_inside() -> None:
    steps = [
        {
            "onFlowStart": [script("output.list = [NAME]", env={"NAME": "start"})],
            "onFlowComplete": [{"assertTrue": "${output.list.join() == 'start,inside,end'}"}],
        },
        {"runFlow": {"env": {"NAME": "inside"}, "commands": [script("output.list.push(NAME)")]}},
        {"evalScript": "${output.list.push('end')}"},
    ]
    result = await run(steps)
    assert result.failure is None
    assert [step.action for step in result.steps if step.kind == "runScript"] == ["run_script"] * 2


async def test_a_script_with_a_false_condition_is_skipped() -> None:
    result = await run([script("throw 1", when={"platform": "ios"}), {"evalScript": "${console.log('went', 'on')}"}])
    assert result.failure is None
    assert [(step.status, step.message) for step in result.steps] == [
        (StepStatus.SKIPPED, "its condition does not hold"),
        (StepStatus.PASSED, "went on"),
    ]


async def test_a_script_outside_of_an_expression_is_not_evaluated() -> None:
    result = await run([{"evalScript": "output.a = 1"}, {"assertTrue": "${output.a == undefined}"}])
    assert result.failure is None
    assert result.steps[0].message == "nothing was evaluated, because the text has no ${...}"


async def test_secrets_are_masked_in_what_scripts_say() -> None:
    steps = [{"env": {"PASSWORD": "hunter2"}}, script("console.log(PASSWORD); output.x = PASSWORD")]
    failing = [*steps, script("throw new Error('bad ' + output.x)")]
    result = await run(failing)
    assert failure_of(result).message.endswith(": bad ${PASSWORD}")
    assert result.steps[0].message == "${PASSWORD}"


class UnreadableFiles:
    def __contains__(self, path: object) -> bool:
        return path == "media/cat.png"

    async def read(self, path: str) -> bytes:
        raise DeviceFailure(Category.NETWORK_ERROR, "the files of the test are not available")


@pytest.mark.parametrize(
    ("file", "message"),
    [("cat.png", "http: the files of the test are not available"), ("dog.png", "the file dog.png was not sent along")],
)
async def test_a_file_of_a_form_that_cannot_be_read_ends_the_script(file: str, message: str) -> None:
    async def send(request: HttpRequest) -> HttpResponse:
        raise AssertionError("nothing is sent")

    source = f"http.post('https://a.b/', {{multipartForm: {{photo: {{filePath: '{file}'}}}}}})"
    step = {"runScript": {"script": source, "file": "media/send.js"}}
    request = AttemptRequest(run_id="r", attempt=1, platform="android", steps=["launchApp", step])
    runner = AttemptRunner(PooledDevices(DEFAULT_POOLS), http=send)
    result = await runner.run(request, files=UnreadableFiles())
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert message in failure_of(result).message


async def test_variables_of_maestro() -> None:
    steps = [
        {"assertTrue": "${MAESTRO_SHARD_ID == 1 && MAESTRO_SHARD_INDEX == 0 && MAESTRO_FILENAME == 'Log in'}"},
        {"assertTrue": "${MAESTRO_DEVICE_UDID != undefined && MAESTRO_DEVICE_UDID != ''}"},
        {"assertTrue": "${maestro.platform == 'android' && maestro.copiedText == undefined}"},
        {"setClipboard": "copied"},
        {"assertTrue": "${maestro.copiedText == 'copied'}"},
    ]
    assert (await run(steps)).failure is None


HOLD = ["${NOBODY == undefined}", "${NOBODY !== 'x'}", "${!NOBODY}", "${A == 2}", "${A}", "x", "${({a: 1})}", "${'no'}"]
DO_NOT = ["${NOBODY}", "${NOBODY == 'x'}", "${null}", "${''}", "${0}", "${'FALSE'}", "${A > 2}", "${'0.0'}"]


@pytest.mark.parametrize("condition", [*HOLD, *DO_NOT])
async def test_which_conditions_hold(condition: str) -> None:
    given, holds = {"env": {"A": "2"}}, condition in HOLD
    asserted = await run([given, {"assertTrue": condition}])
    assert asserted.failure is None if holds else failure_of(asserted).category is Category.ASSERTION_FAILED
    flow = {"runFlow": {"when": {"true": condition}, "commands": ["back"]}}
    assert (await run([given, flow])).steps[-1].kind == ("back" if holds else "runFlow")
