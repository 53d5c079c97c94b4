"""A failure names where its step is written, and where the file of the step is run from."""

from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.workspace_media import WorkspaceMedia
from mobiletest_automation.model.failures import Category
from tests.fakes.devices import FakeDevice, button, screen
from tests.fakes.workspaces import PNG
from tests.unit.automation.attempts import failure_of, run

MAIN = "main.yaml"


async def trace_of(files: dict[str, str]) -> list[str]:
    """The position of the failure, and those that its file is run from."""
    loaded = load_flow(files[MAIN], files, MAIN, path=MAIN)
    device = FakeDevice(screen(button("Pay")))
    result = await run(device, *loaded.steps, positions=loaded.positions)
    failure = failure_of(result)
    assert failure.step_index is not None
    return [*map(str, filter(None, [failure.position])), *map(str, failure.run_from)]


async def test_a_step_in_a_file_that_a_file_runs() -> None:
    files = {
        MAIN: "appId: a\n---\n- back\n- runFlow: flows/cart.yaml\n",
        "flows/cart.yaml": "- back\n\n- repeat:\n    times: 1\n    commands:\n      - runFlow: {file: pay.yaml}\n",
        "flows/pay.yaml": "# pays\n-   tapOn: Later\n",
    }
    assert await trace_of(files) == ["flows/pay.yaml:2:5", "flows/cart.yaml:6:9", "main.yaml:4:3"]


async def test_the_last_try_of_a_file_that_is_tried_again() -> None:
    files = {MAIN: "- retry:\n    maxRetries: 1\n    file: pay.yaml\n", "pay.yaml": "- back\n- tapOn: Later\n"}
    assert await trace_of(files) == ["pay.yaml:2:3", "main.yaml:3:5"]


async def test_a_hook() -> None:
    header = "appId: a\nonFlowStart:\n  - back\n  - tapOn: Later\n---\n- back\n"
    assert await trace_of({MAIN: header}) == ["main.yaml:4:5"]
    header = "appId: a\nonFlowComplete:\n  - runFlow: clean.yaml\n---\n- back\n"
    assert await trace_of({MAIN: header, "clean.yaml": "- tapOn: Later\n"}) == ["clean.yaml:1:3", "main.yaml:3:5"]


async def test_a_hook_of_a_file() -> None:
    files = {
        MAIN: "- back\n- runFlow: pay.yaml\n",
        "pay.yaml": "appId: a\nonFlowComplete:\n  - assertVisible: Later\n---\n- back\n",
    }
    assert await trace_of(files) == ["pay.yaml:3:5", "main.yaml:2:3"]


async def test_an_expression_without_a_value() -> None:
    """The text that holds it, not the command around it."""
    assert await trace_of({MAIN: "- tapOn:\n    id: x\n    text: ${MISSING}\n"}) == ["main.yaml:3:11"]
    assert await trace_of({MAIN: "- tapOn:\n    id: ${1}\n    text: ${x.y.z}\n"}) == ["main.yaml:3:11"]


async def test_a_condition_and_variables_that_cannot_be_evaluated() -> None:
    files = {MAIN: "- runFlow:\n    when: {true: '${a.b}'}\n    file: pay.yaml\n", "pay.yaml": "- back\n"}
    assert await trace_of(files) == ["main.yaml:2:18"]
    files = {MAIN: "- runFlow: pay.yaml\n", "pay.yaml": "env:\n  X: ${a.b}\n---\n- back\n"}
    assert await trace_of(files) == ["main.yaml:1:3"]


async def test_a_variable_of_the_header_that_cannot_be_evaluated() -> None:
    assert await trace_before_the_first_step("env:\n  A: a\n  X: ${A.b.c}\n---\n- back\n") == ["main.yaml:3:6"]
    assert await trace_before_the_first_step("env:\n  A: a\n  X: ${JSON.parse(A)}\n---\n- back\n") == ["main.yaml:3:6"]


async def test_a_step_that_the_device_cannot_carry_out() -> None:
    """Found before the first step, in a file that the flow runs."""
    text = "- back\n- runFlow: media.yaml\n"
    assert await trace_before_the_first_step(text, media="- back\n- addMedia: [cat.png]\n") == [
        "media.yaml:2:3",
        "main.yaml:2:3",
    ]


async def trace_before_the_first_step(text: str, media: str = "") -> list[str]:
    pictures = WorkspaceMedia({"cat.png": PNG})
    loaded = load_flow(text, {"media.yaml": media}, MAIN, path=MAIN, media=pictures)
    failure = failure_of(await run(FakeDevice(), *loaded.steps, positions=loaded.positions))
    assert failure.step_index is None
    return [*map(str, filter(None, [failure.position])), *map(str, failure.run_from)]


async def test_a_text_that_its_command_refuses_once_it_is_filled_in() -> None:
    files = {MAIN: "- extendedWaitUntil:\n    visible: Pay\n    timeout: ${'soon'}\n"}
    assert await trace_of(files) == ["main.yaml:3:14"]


async def test_a_script_is_where_it_is_run() -> None:
    files = {MAIN: "- back\n- runScript: pay.js\n", "pay.js": "throw new Error('no')\n"}
    assert await trace_of(files) == ["main.yaml:2:3"]


async def test_the_step_at_which_the_time_of_a_run_ends() -> None:
    files = {MAIN: "- runFlow: pay.yaml\n", "pay.yaml": "- back\n- repeat:\n    commands:\n      - back\n"}
    loaded = load_flow(files[MAIN], files, MAIN, path=MAIN)
    result = await run(FakeDevice(), *loaded.steps, positions=loaded.positions, run_seconds=0.3)
    failure = failure_of(result)
    assert failure.category is Category.RUN_TIMEOUT
    assert str(failure.position) in ("pay.yaml:2:3", "pay.yaml:4:9")
    assert [*map(str, failure.run_from)] == ["main.yaml:1:3"]


async def test_every_step_is_recorded_with_its_position() -> None:
    files = {MAIN: "- runFlow: pay.yaml\n- Tap Later\n", "pay.yaml": "- back\n"}
    loaded = load_flow(files[MAIN], files, MAIN, path=MAIN)
    result = await run(FakeDevice(), *loaded.steps, positions=loaded.positions)
    assert [*map(str, (step.position for step in result.steps))] == ["main.yaml:1:3", "pay.yaml:1:3", "main.yaml:2:3"]


async def test_steps_that_come_from_no_file_have_no_position() -> None:
    result = await run(FakeDevice(), "Tap Later")
    failure = failure_of(result)
    assert (failure.position, failure.run_from, result.steps[0].position, failure.trace) == (None, (), None, "")
