"""Maestro files like those of public projects become steps."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.flows.loader import load_flow, parse_flow
from services.flows.nodes import DocumentError
from services.flows.parser import COMMANDS
from services.flows.steps import BlockCommand, Step
from tests.fakes.flows import stored_steps

FLOWS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "maestro").glob("*.yaml"))}


def every(steps: tuple[Step, ...]) -> list[Step]:
    """The steps and those inside them."""
    found = []
    for step in steps:
        found.append(step)
        if isinstance(step.command, BlockCommand):
            found.extend(every(step.command.commands))
    return found


@pytest.mark.parametrize("name", FLOWS)
def test_a_file_means_the_same_as_its_stored_json(name: str) -> None:
    steps = stored_steps(FLOWS[name])
    assert load_flow(FLOWS[name]).problems == load_flow(steps, root="steps").problems == ()
    flow, listed = parse_flow(steps), FLOWS[name].split("\n---\n")[-1]
    commands = parse_flow(listed).steps
    assert [(step.name, step.title, step.optional) for step in flow.steps] == [
        (step.name, step.title, step.optional) for step in commands
    ]


def test_configurations() -> None:
    flow = parse_flow(stored_steps(FLOWS["hooks"]))
    assert (flow.name, flow.app_ids) == ("Before and after", {"com.example.demo"})
    assert [step.name for step in flow.on_start] == ["launchApp", "runFlow"]
    assert [step.path for step in flow.on_complete] == [
        "steps[0].onFlowComplete[0].takeScreenshot",
        "steps[0].onFlowComplete[1]",
    ]
    two = parse_flow(stored_steps(FLOWS["platforms"]))
    assert two.app_ids == {"com.example.demo", "com.example.demo.ios"}
    assert parse_flow(stored_steps(FLOWS["log_in"])).tags == ("passing",)
    env = parse_flow(stored_steps(FLOWS["env_of_a_flow_inside"])).env
    assert env == (("WHO", "ada"),)


def test_texts_are_stored_as_written() -> None:
    written = [
        step["inputText"] for step in stored_steps(FLOWS["texts"]) if isinstance(step, dict) and "inputText" in step
    ]
    signs = "Grüße \N{EARTH GLOBE EUROPE-AFRICA}"
    assert written == ["007", "1234", "a: b # c", "no", "2024-01-31", "\\${NOT_A_VARIABLE}", "two\nlines", signs]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("appId: a\n---\n- tapOnn: x", 3, 3, "did you mean tapOn?"),
        ("appId: a\n---\n- back\n- tap: x", 4, 3, "did you mean tapOn?"),
        ("appId: a\ntags: smoke\n---\n- back", 2, 7, "expected a list"),
        ("appId: a\nenv: [a]\n---\n- back", 2, 6, "expected a mapping"),
        ("appId: a\nenv: {1a: x}\n---\n- back", 2, 7, "is not a name for a variable"),
        ("appId: a\nenv: {a: '${b(1)'}\n---\n- back", 2, 10, "a closing brace is missing"),
        ("onFlowStart:\n  - bakc\n---\n- back", 2, 5, "did you mean back?"),
        ("appId: a\n---\n- back\n---\n- back", 4, 1, "remove what comes after this ---"),
        ("appId: a\n---", 3, 1, "expected a list"),
        ("appId: a", 1, 1, "the commands are missing"),
        ("appId: a\n---\n[]", 3, 1, "at least one step"),
        ("- back\n- appId: a", 2, 3, "must be the first entry"),
        ("appId: a\n---\n- runFlow: other.yaml", 3, 12, "the file other.yaml was not sent along"),
        ("---\n- evalScript: ${output.a = 1", 2, 15, "a closing brace is missing after ${"),
        ("---\n- runScript: a.js", 2, 14, "the file a.js was not sent along"),
        ("---\n- &a back\n- *a", 3, 3, "aliases"),
    ],
)
def test_a_file_is_refused_with_line_and_column(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        stored_steps(text)
    assert (error.value.line, error.value.column) == (line, column)
    assert message in error.value.message
    assert load_flow(text).problems[0] == error.value or load_flow(text).problems


def test_all_problems_of_a_file_are_reported_together() -> None:
    found = load_flow("appId: a\ntags: x\n---\n- back\n- tapp: x\n- swipe").problems
    assert [(each.line, each.column) for each in found] == [(2, 7), (5, 3), (6, 3)]


def test_a_byte_order_mark_is_ignored() -> None:
    assert stored_steps("\N{ZERO WIDTH NO-BREAK SPACE}appId: a\n---\n- back") == [{"appId": "a"}, "back"]


LINES = st.lists(
    st.sampled_from(
        [*COMMANDS, "- ", ": ", "\n", "  ", "{", "}", "[", "]", "x", "'", '"', "${", "a", "||", "1", "---\n", "appId",
         "env", "onFlowStart", "when", "true", "commands", "element", "&a", "*a", "!!b", "#", "|", ">"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def load_or_none(text: str) -> list[object] | None:
    """The steps, or None if they are refused; any other exception fails the test."""
    try:
        return list(stored_steps(text))
    except DocumentError:
        return None


@given(st.text(max_size=80) | LINES)
def test_any_file_is_loaded_or_is_a_document_error(text: str) -> None:
    steps = load_or_none(text)
    assert (steps is None) == bool(load_flow(text).problems)
    assert steps is None or load_flow(steps, root="steps").problems == ()
