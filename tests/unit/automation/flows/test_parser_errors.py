"""Errors have a location and suggest the most similar known word."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.configuration import CONFIGURATION_KEYS as CONFIGURATION
from mobiletest_automation.flows.loader import load_flow, parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.flows.steps import STEP_LIMIT, Step
from tests.unit.automation.flows.filling import fill


def refusal(value: object) -> DocumentError:
    with pytest.raises(DocumentError) as error:
        parse_flow(value)
    return error.value


JSON: list[tuple[object, str, str]] = [
    ([{"tapOnn": "x"}], "steps[0].tapOnn", 'unknown command "tapOnn"; did you mean tapOn?'),
    ([{"assertvisible": "x"}], "steps[0].assertvisible", "did you mean assertVisible?"),
    ([{"frobnicate": 1}], "steps[0].frobnicate", "known: action, addMedia, assertDarkMode"),
    ([{"Type": "x"}], "steps[0].Type", "known: "),
    ([{"Verify that": "x"}], "steps[0].Verify that", "put a sentence with a colon into quotes"),
    (["lunchApp"], "steps[0]", "did you mean launchApp?"),
    (["bakc"], "steps[0]", "did you mean back?"),
    (["hideTheKeyboard"], "steps[0]", "did you mean hideKeyboard?"),
    ([{"tapOn": "x", "back": None}], "steps[0].back", '"back" needs a dash of its own'),
    ([{}], "steps[0]", "one command, not 0"),
    ([""], "steps[0]", "empty"),
    ([5], "steps[0]", "a sentence or one command"),
    ([None], "steps[0]", "a sentence or one command"),
    ([[]], "steps[0]", "a sentence or one command"),
    ([], "steps", "at least one step"),
    ({"tapOn": "x"}, "steps", "expected a list, not a mapping"),
    (None, "steps", "expected a list, not nothing"),
    (["x" * 501], "steps[0]", "longer than 500"),
    (["Tap ${name"], "steps[0]", "a closing brace is missing"),
    ([{"tapOn": "${"}], "steps[0].tapOn", "a closing brace is missing"),
    ([{"inputText": {"text": "${'a}"}}], "steps[0].inputText.text", "a quote is not closed"),
    ([{"tapOn": None}], "steps[0].tapOn", "expected text, not nothing"),
    ([{"tapOn": "  "}], "steps[0].tapOn", "empty"),
    ([{"tapOn": {}}], "steps[0].tapOn", "at least one of text, id"),
    ([{"tapOn": {"label": "x"}}], "steps[0].tapOn", "at least one of text, id"),
    ([{"tapOn": {"txt": "x"}}], "steps[0].tapOn.txt", "did you mean text?"),
    ([{"tapOn": {"text": "x", "index": 1001}}], "steps[0].tapOn.index", 'from -1000 to 1000, not "1001"'),
    ([{"tapOn": {"traits": "round"}}], "steps[0].tapOn.traits", "text, long-text, square"),
    ([{"tapOn": {"text": "x", "index": 1.5}}], "steps[0].tapOn.index", "a whole number"),
    ([{"tapOn": {"text": "x", "enabled": "perhaps"}}], "steps[0].tapOn.enabled", "true or false"),
    ([{"tapOn": {"below": {"frm": "x"}}}], "steps[0].tapOn.below.frm", "unknown field"),
    ([{"tapOn": "(?=a)"}], "steps[0].tapOn", "regular expression"),
    ([{"tapOn": "x" * 2001}], "steps[0].tapOn", "longer than 2000"),
    ([{"eraseText": -1}], "steps[0].eraseText", "from 0 to 10000"),
    ([{"eraseText": "many"}], "steps[0].eraseText", "expected a number"),
    ([{"swipe": {}}], "steps[0].swipe", "direction"),
    ([{"swipe": {"start": "1,2"}}], "steps[0].swipe", "end is missing"),
    ([{"swipe": {"start": "1,2", "end": "3,4", "direction": "up"}}], "steps[0].swipe", "either"),
    ([{"swipe": {"start": "101%,2%", "end": "3%,4%"}}], "steps[0].swipe.start", "between 0% and 100%"),
    ([{"extendedWaitUntil": {"timeout": 1}}], "steps[0].extendedWaitUntil", "visible or notVisible"),
    ([{"runFlow": "login.yaml"}], "steps[0].runFlow", "list its commands"),
    ([{"runFlow": {"file": "login.yaml"}}], "steps[0].runFlow", "list its commands"),
    ([{"runFlow": {"when": {"visible": "x"}}}], "steps[0].runFlow", "commands is missing"),
    (
        [{"runFlow": {"when": {"platform": "tv"}, "commands": ["back"]}}],
        "steps[0].runFlow.when.platform",
        "android, ios, web",
    ),
    ([{"retry": {"maxRetries": "x", "commands": ["back"]}}], "steps[0].retry.maxRetries", "expected a number, not"),
    ([{"repeat": {"times": 1, "commands": ["ok", {"tapon": 1}]}}], "steps[0].repeat.commands[1].tapon", "tapOn"),
]


def test_json_is_refused_with_the_path() -> None:
    errors = [(value, refusal(value), path, message) for value, path, message in JSON]
    wrong = [
        row
        for row in errors
        if (row[1].path, row[1].line, row[1].column) != (row[2], None, None) or row[3] not in row[1].message
    ]
    assert wrong == []
    assert [row for row in errors if str(row[1]) != f"{row[2]}: {row[1].message}"] == []


YAML: list[tuple[str, int, int, str]] = [
    ("- back\n- tapOnn: x", 2, 3, "did you mean tapOn?"),
    ("- back\n- tapOn:x", 2, 3, 'a blank is missing after "tapOn:"'),
    ("- tapOn:\n    txt: x", 2, 5, "did you mean text?"),
    ("- tapOn:\n    text: x\n    index: one", 3, 12, "expected a number"),
    ("- Type: the text", 1, 3, 'unknown command "Type"'),
    ('- "Cart" is visible', 1, 10, "into quotes"),
    ("- Check: this: out", 1, 14, "into quotes"),
    ("- tapOn: x\n- tapOn: *y", 2, 10, "aliases"),
    ("- tapOn: x\n  back:", 2, 3, '"back" needs a dash of its own'),
    ("- tapOn:\n    id: x\n  optional: true", 3, 3, 'unexpected field "optional" beside tapOn: indent it below tapOn:'),
    ("- launchApp:\n  clearState: true", 2, 3, "or belongs below launchApp: with more indentation"),
    ("- launchApp\n  - back", 1, 3, "their dashes align"),
    ("- back\n- assertNotVisible: Failed.*+", 2, 21, '"*+" is a possessive quantifier'),
    ("- tapOn:\n    id: (?!x)y", 2, 9, "look-around"),
    ("tapOn: x", 1, 1, "begin each with a dash"),
    ("launchApp", 1, 1, "begin each with a dash"),
    ("-launchApp", 1, 1, "a space is missing after the dash"),
    ("-tapOn: x", 1, 1, "a space is missing after the dash"),
    ("appId: a\n---\n-tapOn: x\n-back:", 3, 1, "a space is missing after the dash"),
    ("appId:a\n---\n- back", 1, 1, 'a blank is missing after "appId:"'),
    ("just words", 1, 1, "expected a list"),
    ("", 1, 1, "the file has no commands"),
    ("# nothing\n", 1, 1, "the file has no commands"),
    ("appId: com.a\n---\n- back\n---\n- back", 4, 1, "remove what comes after this ---"),
    ("appId: a\n---\n- back\n- tap: x", 4, 3, "did you mean tapOn?"),
    ("appId: a\ntags: smoke\n---\n- back", 2, 7, "expected a list"),
    ("appId: a\nenv: [a]\n---\n- back", 2, 6, "expected a mapping"),
    ("appId: a\nenv: {1a: x}\n---\n- back", 2, 7, "is not a name for a variable"),
    ("appId: a\nenv: {a: '${b(1)'}\n---\n- back", 2, 10, "a closing brace is missing"),
    ("onFlowStart:\n  - bakc\n---\n- back", 2, 5, "did you mean back?"),
    ("appId: a\n---", 3, 1, "the commands are missing after ---"),
    ("appId: a", 1, 1, "the commands are missing"),
    ("appId: a\n---\n[]", 3, 1, "at least one step"),
    ("- back\n- appId: a", 2, 3, "must be the first entry"),
    ("---\n- evalScript: ${output.a = 1", 2, 15, "a closing brace is missing after ${"),
]


def test_yaml_is_refused_with_line_and_column() -> None:
    errors = [(text, refusal(text), line, column, message) for text, line, column, message in YAML]
    wrong = [row for row in errors if (row[1].line, row[1].column) != row[2:4] or row[4] not in row[1].message]
    assert wrong == []


def test_depth_and_number_of_steps_are_limited() -> None:
    nested: Any = ["back"]
    for _ in range(9):
        nested = [{"retry": {"commands": nested}}]
    assert "nested at most 8 deep" in refusal(nested).message
    assert f"at most {STEP_LIMIT} steps" in refusal(["ok then"] * (STEP_LIMIT + 1)).message
    hidden = [{"retry": {"commands": ["ok then"] * 600}}] * 2
    assert f"at most {STEP_LIMIT} steps" in refusal(hidden).message
    selector: Any = "x"
    for _ in range(8):
        selector = {"below": selector}
    assert "selectors may be nested" in refusal([{"tapOn": selector}]).message


def test_all_problems_of_steps_are_reported_together() -> None:
    problems = load_flow([{"tapOnn": 1}, "fine sentence", {"swipe": {}}, {"back": 1}], root="steps").problems
    assert [error.path for error in problems] == ["steps[0].tapOnn", "steps[2].swipe", "steps[3].back"]
    assert load_flow(["Tap it", "back"], root="steps").problems == ()
    assert [error.message for error in load_flow([], root="steps").problems] == ["a test needs at least one step"]
    assert [error.path for error in load_flow("- [", root="steps").problems] == ["steps"]
    assert [error.path for error in load_flow({"a": 1}, root="body").problems] == ["body"]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ARGUMENTS = (
    "text id when while times commands visible start direction element point true permissions arguments "
    "containsDescendants optional label ${A} ${A+1}"
)
KEYS = st.sampled_from([*COMMANDS, *CONFIGURATION, *ARGUMENTS.split()])
ANYTHING = st.recursive(
    SCALARS | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


def accepted(value: object) -> tuple[Step, ...] | None:
    """The steps, or None if they are refused; any other exception fails the test."""
    try:
        return parse_flow(value).steps
    except DocumentError:
        return None


def filled(step: Step, value: str) -> Step | None:
    """The step with a value for A, or None if that is refused; any other exception fails the test."""
    try:
        return fill(step, {"A": value})
    except DocumentError:
        return None


@given(st.lists(ANYTHING, max_size=3), st.text(max_size=20) | st.sampled_from(["1", "true", "50%, 50%", "com.a"]))
def test_any_value_is_filled_in_or_is_a_document_error(value: object, held: str) -> None:
    for step in accepted(value) or ():
        done = filled(step, held)
        assert done is None or done.name == step.name


@given(ANYTHING | st.lists(ANYTHING, max_size=4))
def test_any_json_is_parsed_or_is_a_document_error(value: object) -> None:
    steps = accepted(value)
    assert (steps is None) == bool(load_flow(value, root="steps").problems)
    assert all(step.title for step in steps or ())
