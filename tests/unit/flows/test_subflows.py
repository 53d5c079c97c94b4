"""The files that a flow runs are inlined, and their problems are located in them."""

import pytest

from services.flows.loader import load_flow, parse_flow
from services.flows.nodes import DocumentError
from services.flows.parser import fill_step
from services.flows.steps import RunFlow
from services.flows.variables import BuiltInVariables, initial_scope
from tests.fakes.flows import stored_steps

LOG_IN = """appId: com.example.shop
env: {EMAIL: ada@example.com, PASSWORD: secret}
onFlowStart: [launchApp]
---
- inputText: ${EMAIL}
- runFlow: ../shared/accept.yaml
"""
ACCEPT = "- tapOn: {text: Accept, optional: true}\n"
FILES = {"sub/log-in.yaml": LOG_IN, "./shared/accept.yaml": ACCEPT}


def test_commands_of_other_files_are_inlined() -> None:
    steps = stored_steps("appId: a\n---\n- runFlow: sub/log-in.yaml\n- back\n", FILES)
    accept = {"label": "shared/accept.yaml", "commands": [{"tapOn": {"text": "Accept", "optional": True}}]}
    inner = ["launchApp", {"inputText": "${EMAIL}"}, {"runFlow": accept}]
    env = {"EMAIL": "ada@example.com", "PASSWORD": "secret"}
    assert steps == [
        {"appId": "a"},
        {"runFlow": {"label": "sub/log-in.yaml", "env": env, "commands": inner}},
        "back",
    ]
    assert [step.title for step in parse_flow(steps).steps] == ["sub/log-in.yaml", "back"]


def test_variables_given_to_a_file_override_its_own() -> None:
    flow = "- runFlow: {file: sub/log-in.yaml, label: In, when: {visible: x}, env: {EMAIL: grace@example.com}}"
    (step,) = stored_steps(flow, FILES)
    assert isinstance(step, dict)
    run = step["runFlow"]
    assert isinstance(run, dict)
    assert (run["label"], run["when"]) == ("In", {"visible": "x"})
    assert run["env"] == {"EMAIL": "grace@example.com", "PASSWORD": "secret"}


@pytest.mark.parametrize("around", ["", "env: {NAME: Bob}\n---\n"])
def test_variables_of_a_file_can_use_those_given_to_it(around: str) -> None:
    files = {"sub.yaml": 'env: {NAME: Nobody, HELLO: "Hello ${NAME}"}\n---\n- back\n'}
    flow = parse_flow(stored_steps(f"{around}- runFlow: {{file: sub.yaml, env: {{NAME: Ada}}}}\n", files))
    scope = initial_scope(flow.env, BuiltInVariables())
    outer = fill_step(flow.steps[0], scope).command
    assert isinstance(outer, RunFlow)
    inner = fill_step(outer.commands[0], scope.within(dict(outer.env))).command
    assert isinstance(inner, RunFlow)
    assert (outer.env, inner.env) == ((("NAME", "Ada"),), (("HELLO", "Hello Ada"),))
    assert [step.name for step in inner.commands] == ["back"]


def test_files_are_inlined_in_hooks_retries_and_inner_steps() -> None:
    flow = """onFlowStart:
  - runFlow: shared/accept.yaml
---
- repeat: {times: 2, commands: [{runFlow: {file: shared/accept.yaml}}]}
- retry: {maxRetries: 3, file: sub/log-in.yaml}
"""
    parsed = parse_flow(stored_steps(flow, FILES))
    assert [step.title for step in parsed.on_start] == ["shared/accept.yaml"]
    assert [step.name for step in parsed.steps] == ["repeat", "retry"]


@pytest.mark.parametrize(
    ("flow", "files", "place", "message"),
    [
        ("- runFlow: a.yaml", {}, (1, 12, "flow[0].runFlow"), "not supported in steps"),
        (
            "- runFlow: a.yml",
            {"a.yaml": ACCEPT},
            (1, 12, "flow[0].runFlow"),
            "was not sent along; did you mean a.yaml?",
        ),
        ("- runFlow: {file: ../x.yaml}", {"a.yaml": ACCEPT}, (1, 19, "flow[0].runFlow.file"), "../x.yaml was not sent"),
        ("- runFlow: a.yaml", {"a.yaml": "- back\n- tapp: x"}, (2, 3, "a.yaml[1]"), "did you mean tapOn?"),
        ("- runFlow: a.yaml", {"a.yaml": "- ["}, (2, 1, "a.yaml"), "not valid YAML"),
        ("- runFlow: a.yaml", {"a.yaml": "appId: x"}, (1, 1, "a.yaml"), "the commands are missing"),
        ("- runFlow: a.yaml", {"a.yaml": "- runFlow: a.yaml"}, (1, 12, "a.yaml[0].runFlow"), "a.yaml runs itself"),
        (
            "- runFlow: a.yaml",
            {"a.yaml": "onFlowComplete: [back]\n---\n- back"},
            (1, 1, "a.yaml"),
            "may have onFlowComplete",
        ),
        ("- runFlow: ${A}.yaml", {"a.yaml": ACCEPT}, (1, 12, "flow[0].runFlow"), "cannot have variables"),
        ("- runFlow: {file: a.yaml, commands: [back]}", {"a.yaml": ACCEPT}, (1, 13, "flow[0].runFlow"), "either file"),
    ],
)
def test_problems_are_located_in_their_file(
    flow: str, files: dict[str, str], place: tuple[int, int, str], message: str
) -> None:
    with pytest.raises(DocumentError) as error:
        stored_steps(flow, files)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == place[:2]
    assert error.value.path.startswith(place[2])
    assert load_flow(flow, files).problems


def test_a_large_file_that_runs_many_times_is_refused() -> None:
    """The result must fit into one document of the database."""
    files = {"f.yaml": f'env: {{A: "{"x" * 9_000}"}}\n---\n- back\n'}
    (fault,) = load_flow("- runFlow: f.yaml\n" * 90, files).problems
    assert "more than 524288 characters in all" in fault.message


def test_the_values_of_a_file_count_each_time_that_it_is_run() -> None:
    """Before its steps are read: the many values in this label would be read a hundred times."""
    label = ", ".join(["1"] * 15_000)
    problems = load_flow("- runFlow: f\n" * 100, {"f": f"- tapOn: {{text: x, label: [{label}]}}\n"}).problems
    assert [problem.message for problem in problems] == ["more than 40000 values in the files that are run"]
    assert problems[0].line == 3


def test_files_that_run_each_other_are_limited() -> None:
    twice = {f"{n}.yaml": f"- runFlow: {n + 1}.yaml\n" * 2 for n in range(7)} | {"7.yaml": "- back"}
    with pytest.raises(DocumentError, match="more than 100 files are run"):
        stored_steps("- runFlow: 0.yaml", twice)
    deep = {f"{n}.yaml": f"- runFlow: {n + 1}.yaml" for n in range(20)}
    with pytest.raises(DocumentError, match="files deep"):
        stored_steps("- runFlow: 0.yaml", deep)
    long = {"a.yaml": "- back\n" * 400}
    with pytest.raises(DocumentError, match="at most 1000 steps"):
        stored_steps("- runFlow: a.yaml\n" * 3, long)
    with pytest.raises(DocumentError, match="longer than 524288 characters together"):
        stored_steps("- back", {"a": "#" * 300_000, "b": "#" * 300_000})
    wide = {"a.yaml": "".join(f"- tapOn: {{text: a, id: b, label: c{n}}}\n" for n in range(400))}
    with pytest.raises(DocumentError, match="steps"):
        stored_steps("- runFlow: a.yaml\n" * 99, wide)
