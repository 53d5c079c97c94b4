"""Steps that hold other steps: conditions, repetitions and retries."""

from mobiletest_automation.model.failures import Category
from tests.fakes.devices import FakeDevice, button, screen
from tests.fakes.flows import stored_steps
from tests.unit.automation.attempts import failure_of, run, statuses


async def test_conditions_decide_whether_a_flow_runs() -> None:
    def flow(**when: object) -> object:
        return {"runFlow": {"when": when, "commands": ["back"]}}

    steps = [
        flow(visible="Pay"),
        flow(visible="Later"),
        flow(notVisible="Later"),
        flow(notVisible="Pay"),
        flow(platform="Android"),
        flow(platform="iOS"),
        {"runFlow": {"commands": ["back"]}},
    ]
    result = await run(FakeDevice(screen(button("Pay"))), *steps)
    assert result.failure is None
    assert statuses(result) == [
        *("runFlow passed", "  back passed", "runFlow skipped", "runFlow passed", "  back passed", "runFlow skipped"),
        *("runFlow passed", "  back passed", "runFlow skipped", "runFlow passed", "  back passed"),
    ]


async def test_repetitions_by_number_and_by_condition() -> None:
    device = FakeDevice(lambda now: screen(button("More")) if now < 3 else screen())
    steps = [
        {"repeat": {"times": 3, "commands": ["back"]}},
        {"repeat": {"while": {"visible": "More"}, "commands": ["Wait 1 s"]}},
    ]
    result = await run(device, *steps, {"repeat": {"times": 0, "commands": ["back"]}})
    assert result.failure is None
    assert device.done.count("back") == 3
    assert statuses(result)[-5:] == ["repeat passed", *["  sentence passed"] * 3, "repeat skipped"]
    assert [step.message for step in result.steps if step.kind == "repeat"] == [
        "3 rounds",
        "3 rounds",
        "its condition does not hold",
    ]


async def test_a_repetition_has_no_limit_of_its_own() -> None:
    device = FakeDevice()
    result = await run(device, {"repeat": {"times": 1_200, "commands": ["back"]}}, "back")
    assert (result.failure, device.done.count("back")) == (None, 1_201)
    message = "1200 rounds, of which 999 are shown: the last one after the first ones"
    assert (result.steps[0].message, len(result.steps)) == (message, 1_001)
    assert [step.index for step in result.steps] == [*range(1_001)]


async def test_the_last_round_of_a_long_repetition_is_recorded() -> None:
    device = FakeDevice(lambda now: screen(button("More")) if now < 180 else screen(button("Pay")))
    commands = [*["back"] * 10, "Wait 1 s", {"tapOn": {"text": "Pay", "optional": True}}, {"tapOn": "More"}]
    result = await run(device, {"repeat": {"times": 100, "commands": commands}}, step_seconds=1)
    failed = failure_of(result)
    assert (failed.step_index, result.steps[-1].status) == (result.steps[-1].index, "failed")
    assert len(result.steps) < 1_020
    assert statuses(result)[-3:] == ["  sentence passed", "  tapOn passed", "  tapOn failed"]


async def test_repetitions_inside_one_another_are_recorded_within_the_limit() -> None:
    inner = {"repeat": {"times": 30, "commands": ["back"] * 9}}
    device = FakeDevice()
    result = await run(device, {"repeat": {"times": 30, "commands": [inner]}})
    assert (result.failure, device.done.count("back"), len(result.steps) < 1_500) == (None, 8_100, True)


async def test_an_endless_repetition_ends_with_the_run() -> None:
    result = await run(FakeDevice(), {"repeat": {"commands": [{"setClipboard": "x"}]}}, run_seconds=0.3)
    assert failure_of(result).category is Category.RUN_TIMEOUT


async def test_the_last_try_of_a_retry_counts() -> None:
    device = FakeDevice(lambda now: screen(button("Pay")) if now > 25 else screen())
    retry = {"retry": {"maxRetries": 3, "commands": ["back", "Tap Pay"]}}
    result = await run(device, retry)
    assert result.failure is None
    assert result.steps[0].message == "passed at try 3"
    assert [step.status for step in result.steps if step.text == "Tap Pay"] == ["warned", "warned", "passed"]
    failing = await run(FakeDevice(), retry)
    assert (failure_of(failing).step_index, failing.steps[8].text) == (8, "Tap Pay")
    assert [step.status for step in failing.steps] == [
        *("failed", "passed", "warned", "passed", "warned", "passed", "warned", "passed", "failed"),
    ]


async def test_a_retry_has_variables_of_its_own() -> None:
    device = FakeDevice(screen(button("Pay")))
    retry = {"retry": {"env": {"WHAT": "Pay"}, "commands": [{"tapOn": "${WHAT}"}]}}
    result = await run(device, retry, {"tapOn": "${WHAT}"})
    assert "tap Pay" in device.done
    assert failure_of(result).step_index == 2


async def test_the_hook_after_a_subflow_runs_also_when_it_fails() -> None:
    """With the variables of the subflow; the first failure counts."""
    subflow = "env: {KEY: home}\nonFlowComplete: ['pressKey': '${KEY}']\n---\n- tapOn: ${WHAT}"
    flow = "- runFlow: {file: a.yaml, env: {WHAT: Pay}}\n- runFlow: {file: a.yaml, env: {WHAT: Gone}}\n- back"
    device = FakeDevice(screen(button("Pay")))
    result = await run(device, *stored_steps(flow, {"a.yaml": subflow}))
    assert statuses(result) == [
        *["runFlow passed", "  tapOn passed", "  pressKey passed"],
        *["runFlow failed", "  tapOn failed", "  pressKey passed"],
    ]
    assert failure_of(result).step_index == 4
