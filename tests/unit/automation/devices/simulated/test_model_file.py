"""App models are read, or refused with line and column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.devices.simulated.app_model import (
    AddToVariable,
    Crash,
    DoNothing,
    Freeze,
    GoBack,
    GoToScreen,
    Pace,
    SetVariable,
    TextTemplate,
)
from mobiletest_automation.devices.simulated.model_file import built_in_model, read_artifact, read_model
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.templates import Value
from mobiletest_automation.screen.elements import Role
from tests.unit.automation.devices.simulated.models import HEAD

SMALL = HEAD + "screens:\n  first: {}\n"


def test_a_minimal_model() -> None:
    model = read_model(SMALL)
    assert (model.id, model.name, model.version, list(model.screens)) == ("com.example.test", "Test", "", ["first"])
    assert model.pace is None


EVERY_FIELD = (
    HEAD
    + """
launch: {delay: 1s, crash: no memory, chance: 0.1}
pace: {step: 500ms, scale: 0.5}
state: {n: 0, name: "", on: false}
links: {"test://second": second}
screens:
  first:
    title: "{name}"
    delay: 2s
    back: {go: second}
    refresh: {add: {n: 1}}
    elements:
      - {type: field, id: name, label: Name, hint: Ada, bind: name, enter: {go: second}}
      - {type: password, bind: name}
      - {type: switch, text: "On: {on}", bind: on, enabled: n > 0, visible: name != "", selected: on}
      - type: row
        appears: {after: 1s, chance: 0.5}
        elements: [{type: text, text: a}, {type: button, text: b}]
        tap:
          - {when: on, go: second, set: {name: "x{n}", n: 3}}
          - {chance: 0.5, back: true}
          - {crash: gone}
          - {freeze: 2s}
          - {nothing: a defect}
        swipe_left: second
  second: {}
"""
)


def test_a_model_with_every_field() -> None:
    model = read_model(EVERY_FIELD)
    row = model.screens["first"].widgets[3]
    assert (row.role, row.key, row.after, row.chance) == (Role.CELL, "first/3", 1.0, 0.5)
    assert [child.key for child in row.widgets] == ["first/3/0", "first/3/1"]
    effects = [outcome.effects for outcome in row.events["tap"]]
    assert effects[1:] == [(GoBack(),), (Crash("gone"),), (Freeze(2.0),), (DoNothing("a defect"),)]
    assert [type(effect) for effect in effects[0]] == [SetVariable, SetVariable, GoToScreen]
    assert row.events["tap"][1].chance == 0.5
    assert model.screens["first"].events["refresh"][0].effects == (AddToVariable("n", 1),)
    assert model.screens["first"].widgets[1].secret
    assert (model.launch_delay, model.launch[0].chance, model.pace) == (1.0, 0.1, Pace(0.5, 0.5))
    assert list(model.links) == ["test://second"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (
            "app_model: 2\napp: {id: a}\nstart: a\nscreens: {a: {}}",
            1,
            12,
            "unsupported format version: expected 1, not 2",
        ),
        ("app_model: 1\napp: {id: a}\nscreens: {a: {}}", 1, 1, "start is missing"),
        ("app_model: 1\napp: {}\nstart: a\nscreens: {a: {}}", 2, 6, "id is missing"),
        (SMALL + "sceens: {}", 7, 1, "did you mean screens?"),
        (SMALL + "  second: {titel: x}", 7, 12, "did you mean title?"),
        (SMALL.replace("start: first", "start: frist"), 4, 8, '"frist" is not a screen; did you mean first?'),
        (HEAD + "screens: {}", 5, 10, "at least one screen"),
        (SMALL + "state: {2x: 1}", 7, 9, "not a valid name for a variable"),
        (SMALL + "state: {and: 1}", 7, 9, "not a valid name for a variable"),
        (SMALL + "state: {a: []}", 7, 12, "expected a text, a number, true or false"),
        (SMALL + "  b: {elements: [{type: buton}]}", 7, 25, "did you mean button?"),
        (SMALL + "  b: {elements: [{text: x}]}", 7, 18, "type is missing"),
        (SMALL + "  b: {elements: [{type: text, elements: []}]}", 7, 31, "a text cannot hold elements"),
        (SMALL + "  b: {elements: [{type: text, text: '{x}'}]}", 7, 37, '"x" is not a variable of state'),
        (SMALL + "  b: {elements: [{type: field, bind: x}]}", 7, 38, '"x" is not a variable of state'),
        (SMALL + "  b: {elements: [{type: text, visible: x ==}]}", 7, 40, "at character 5"),
        (SMALL + "  b: {elements: [{type: button, tap: nowhere}]}", 7, 38, '"nowhere" is not a screen'),
        (SMALL + "  b: {elements: [{type: button, tap: {}}]}", 7, 38, "this outcome has no effect"),
        (SMALL + "  b: {elements: [{type: button, tap: {chance: 2, back: true}}]}", 7, 47, "from 0 to 1"),
        (SMALL + "  b: {elements: [{type: button, tap: {set: {x: 1}}}]}", 7, 45, '"x" is not a variable of state'),
        (SMALL + "  b: {elements: [{type: button, appears: {after: soon}}]}", 7, 50, "a duration"),
        (SMALL + "pace: {step: 2h}", 7, 14, "a duration"),
        (SMALL + "first: *x", 7, 8, "aliases"),
        ("app_model: [", 1, 12, "the [ that begins here is not closed"),
    ],
)
def test_errors_point_to_the_wrong_field(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_model(text)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (line, column)


def elements(count: int) -> str:
    return ", ".join(["{type: text, text: a}"] * count)


def test_an_app_has_a_limited_number_of_elements_over_all_screens() -> None:
    small = f"  a: {{elements: [{elements(1_000)}]}}\n"
    assert read_model(HEAD + "screens:\n  first: {}\n" + small)
    nested = f"  b: {{elements: [{elements(998)}, {{type: list, elements: [{elements(2)}]}}]}}\n"
    with pytest.raises(DocumentError, match="more than 2000 elements: leave out"):
        read_model(HEAD + "screens:\n  first: {}\n" + small + nested)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04rest", b"\x00\x01", b"hello: world", b"x: app_model", b"\xff\xfeapp_model:"]
)
def test_other_artifacts_are_not_app_models(content: bytes) -> None:
    assert read_artifact(content) is None


def test_an_artifact_marked_as_app_model_must_be_valid() -> None:
    assert read_artifact(b"\xef\xbb\xbf" + SMALL.encode()) == read_model(SMALL)
    with pytest.raises(DocumentError):
        read_artifact(b"app_model: 1\nscreens: no")


def test_the_built_in_model_is_valid() -> None:
    assert list(built_in_model().screens) == ["log_in", "items", "detail"]


@given(st.text(max_size=60))
def test_any_text_is_a_model_or_a_model_error(text: str) -> None:
    with pytest.raises(DocumentError):
        read_model("app_model: 1\n" + text)


def test_texts_have_variables_in_braces() -> None:
    state: dict[str, Value] = {"cart": 2, "price": 1.5, "signed_in": True, "total": 12.0}
    template = TextTemplate("{cart} at ${price}, {signed_in} {{x}} {total}")
    assert template.fill(state) == "2 at $1.5, true {x} 12"
    assert template.names == {"cart", "price", "signed_in", "total"}
