"""Resolving a step on a page source; invalid input is refused with the field at fault."""

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.screen.page_source.nodes import SourceError
from services.chassis.errors import InvalidArgument
from services.executor.usecases.step_resolver import ELEMENTS_LIMIT, LastScreen, resolve_step

SOURCE = '<hierarchy><node class="a.Button" text="Go" bounds="[0,0][9,9]"/></hierarchy>'
LONG_TEXTS = f"<node text='{'ab' * 300}' bounds='[0,0][9,9]'/>" * 100


def test_a_sentence_and_a_command_resolve_to_the_same_element() -> None:
    for step in ("Tap Go", {"tapOn": "Go"}):
        resolution = resolve_step(step, SOURCE, Platform.ANDROID)
        assert resolution.element is not None
        assert (resolution.action, resolution.element.attributes["text"]) == ("tap", "Go")


def test_a_large_source_is_resolved() -> None:
    more = "<node attribute='of some length'/>" * 8_000
    assert resolve_step("Tap Go", SOURCE.replace("<node", f"{more}<node")).action == "tap"


@pytest.mark.parametrize(
    ("step", "source", "field", "says"),
    [
        (None, SOURCE, "step", "a sentence, or an object"),
        ("", SOURCE, "step", "step: "),
        ({"tapOnn": "Go"}, SOURCE, "step", "tapOn"),
        ({"tapOn": "Go", "back": None}, SOURCE, "step", "step"),
        ({"tapOn": "${NAME}"}, SOURCE, "step", "replace them with values"),
        ({"runFlow": {"commands": ["back"]}}, SOURCE, "step", "contains other steps"),
        ("Tap Go", "<hierarchy>", "source", "line 1, column 12"),
        ("Tap Go", SOURCE.replace("hierarchy", "AppiumAUT/XCUIElementTypeApplication"), "source", "well-formed"),
        ({"tapOn": "(.*a.*){100}z"}, f"<hierarchy>{LONG_TEXTS}</hierarchy>", "step", "too long"),
        ({"tapOn": "Go"}, f"<hierarchy>{'<node/>' * ELEMENTS_LIMIT}</hierarchy>", "source", "at most 2000"),
    ],
    ids=["null", "empty", "unknown", "two", "variables", "holder", "cut off", "broken", "work", "many"],
)
def test_invalid_steps_and_sources_are_refused(step: object, source: str, field: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        resolve_step(step, source)
    (violation,) = error.value.violations
    assert (violation.field, says in violation.message) == (field, True), violation


@pytest.mark.parametrize(
    "step",
    [
        {"tapOn": {"text": ".*", "childOf": {"text": ".*"}}},
        {"tapOn": {"text": ".*", "containsDescendants": [{"text": ".*"}]}},
    ],
    ids=str,
)
def test_broad_selectors_on_a_deep_source_are_resolved(step: object) -> None:
    """A comparison of each pair in such a tree would take minutes."""
    nodes = '<node class="a.EditText" text="a" bounds="[0,0][9,9]">' * 390 + "</node>" * 390
    resolution = resolve_step(step, f"<hierarchy>{nodes * 5}</hierarchy>")
    assert resolution.action in ("tap", "type", "none")


def test_a_source_is_read_once() -> None:
    screen = LastScreen()
    assert screen.read("one", SOURCE, None) is screen.read("one", SOURCE, None)


def test_another_organisation_source_or_platform_is_read_again() -> None:
    screen = LastScreen()
    first = screen.read("one", SOURCE, None)
    others = [("two", SOURCE, None), ("one", SOURCE.replace("Go", "Stop"), None), ("one", SOURCE, Platform.ANDROID)]
    read = [screen.read(*other) for other in others]
    assert len({first, *read}) == 4
    assert read[1].children[0].text == "Stop"


def test_nothing_is_kept_of_a_source_that_cannot_be_read() -> None:
    screen = LastScreen()
    first = screen.read("one", SOURCE, None)
    with pytest.raises(SourceError):
        screen.read("one", "<hierarchy>", None)
    assert screen.read("one", SOURCE, None) is not first
