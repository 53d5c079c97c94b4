"""Maestro files like those of public projects become steps."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.parser import COMMANDS
from tests.fakes.flows import stored_steps

FLOWS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "maestro").glob("*.yaml"))}


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
