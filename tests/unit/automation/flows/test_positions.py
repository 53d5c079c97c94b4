"""Where steps are written, as it is stored beside them and read when they run."""

import json
from collections.abc import Mapping

import pytest

from mobiletest_automation.flows import positions
from mobiletest_automation.flows import workspace as workspaces
from mobiletest_automation.flows.loader import LoadedFlow, load_flow, parse_flow
from mobiletest_automation.flows.positions import FlowSource, SourcePosition, read_positions
from mobiletest_automation.flows.steps import Flow
from mobiletest_automation.flows.workspace import Workspace, find_flows

FILES = {
    "flows/main.yaml": """appId: com.example.shop
onFlowStart:
  - launchApp
onFlowComplete:
  - runFlow: ../shared/clean.yaml
---
# a comment
- Tap "Log in"
- back
- runFlow: ../shared/pay.yaml
- repeat:
    times: 2
    commands:
      - retry:
          maxRetries: 2
          file: ../shared/clean.yaml
- inputText:
    label: Type
    text: ${EMAIL}
""",
    "shared/pay.yaml": """appId: com.example.pay
env:
  AMOUNT: ${SUM}
---
- launchApp
- runFlow:
    when:
      true: ${AMOUNT == 1}
    file: clean.yaml
    env: {KIND: all}
- tapOn: ${AMOUNT}
""",
    "shared/clean.yaml": "env: {KIND: \"${KIND || 'some'}\"}\n---\n- evalScript: ${output.done = 1}\n- stopApp\n",
}


def load(files: Mapping[str, str], path: str) -> LoadedFlow:
    return load_flow(files[path], files, path, path=path)


def stored(loaded: LoadedFlow) -> tuple[Flow, FlowSource]:
    """The flow of the steps as they are stored, and its source."""
    flow = parse_flow(json.loads(json.dumps(loaded.steps)))
    return flow, read_positions(loaded.positions, flow)


def lines(source: FlowSource, files: Mapping[str, str]) -> list[str]:
    """What is written where each step begins."""
    return [f"{at.file}: {files[at.file].splitlines()[at.line - 1][at.column - 1 :]}" for at in source.steps.values()]


def test_each_step_of_a_stored_flow_is_found_in_its_file() -> None:
    """In the flow, in the files that it runs, in blocks and in hooks, whether it has arguments or none."""
    _, source = stored(load(FILES, "flows/main.yaml"))
    clean = ["shared/clean.yaml: evalScript: ${output.done = 1}", "shared/clean.yaml: stopApp"]
    assert lines(source, FILES) == [
        "flows/main.yaml: launchApp",
        'flows/main.yaml: Tap "Log in"',
        "flows/main.yaml: back",
        "flows/main.yaml: runFlow: ../shared/pay.yaml",
        "shared/pay.yaml: launchApp",
        "shared/pay.yaml: runFlow:",
        "shared/pay.yaml: runFlow:",
        *clean,
        "shared/pay.yaml: tapOn: ${AMOUNT}",
        "flows/main.yaml: repeat:",
        "flows/main.yaml: retry:",
        "flows/main.yaml: file: ../shared/clean.yaml",
        *clean,
        "flows/main.yaml: inputText:",
        "flows/main.yaml: runFlow: ../shared/clean.yaml",
        *clean,
    ]


def test_each_text_with_variables_is_found_by_its_path() -> None:
    flow, source = stored(load(FILES, "flows/main.yaml"))
    assert source.texts == {
        "steps[3].runFlow.commands[1].runFlow.when.true": SourcePosition("shared/pay.yaml", 8, 13),
        "steps[3].runFlow.commands[2].tapOn": SourcePosition("shared/pay.yaml", 11, 10),
        "steps[5].inputText.text": SourcePosition("flows/main.yaml", 19, 11),
    }
    assert set(source.steps) == {step.path for step in flow.every_step()}


def test_steps_without_a_file_have_no_positions() -> None:
    """Nobody knows what file a flow was in that was sent as a text, nor its lines in JSON."""
    assert load_flow("- back\n").positions == ""
    assert load_flow(["back"], path="main.yaml").positions == ""
    flow = parse_flow(["back"])
    assert read_positions("", flow) == FlowSource()


def test_positions_of_other_steps_are_not_taken() -> None:
    two = load({"a.yaml": "- back\n- back\n"}, "a.yaml").positions
    assert read_positions(two, parse_flow(["back"])) == FlowSource()


def test_steps_that_stay_the_same_are_stored_as_the_same_when_their_lines_move() -> None:
    before, after = (load({"a.yaml": text}, "a.yaml") for text in ("- back\n", "# A comment.\n\n- back\n"))
    assert before.steps == after.steps
    assert before.positions != after.positions


def test_long_positions_are_those_of_the_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(FILES, "flows/main.yaml")
    monkeypatch.setattr(positions, "POSITIONS_LENGTH", len(loaded.positions) - 1)
    _, source = stored(load(FILES, "flows/main.yaml"))
    assert (len(source.steps), source.texts) == (19, {})
    monkeypatch.setattr(positions, "POSITIONS_LENGTH", 10)
    assert load(FILES, "flows/main.yaml").positions == ""


def test_the_positions_of_a_workspace_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace({"a.yaml": "- back\n", "b.yaml": "- back\n"})
    first = find_flows(workspace).flows[0].positions
    monkeypatch.setattr(workspaces, "POSITIONS_LENGTH", len(first))
    assert [flow.positions for flow in find_flows(workspace).flows] == [first, ""]


def test_a_step_is_located_with_the_steps_that_run_each_file() -> None:
    _, source = stored(load(FILES, "flows/main.yaml"))
    position, run_from = source.locate("steps[3].runFlow.commands[1].runFlow.commands[0].runFlow.commands[1].stopApp")
    assert str(position) == "shared/clean.yaml:4:3"
    assert [*map(str, run_from)] == ["shared/pay.yaml:6:3", "flows/main.yaml:10:3"]
    assert source.locate("steps[2]") == (SourcePosition("flows/main.yaml", 9, 3), ())
    assert source.locate("plan[0]") == (None, ())


def test_a_variable_of_the_header_is_located() -> None:
    text = "env:\n  A: a\n  B: ${A.b.c}\n---\n- back\n"
    _, source = stored(load({"a.yaml": text}, "a.yaml"))
    assert source.locate("env.B") == (SourcePosition("a.yaml", 3, 6), ())
