"""Pages run in the world of what reads them, and may replace all of it: each answer ends in a tree or a verdict."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError
from mobiletest_automation.devices.webdriver.native_view import read_tree
from mobiletest_automation.devices.webdriver.web_view import WebView
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import walk
from tests.examples import examples

NODE = {"n": 1, "t": "button", "a": {"id": "pay"}, "k": ["Pay"], "b": [1, 2, 30, 40.5], "s": True, "d": False, "l": []}
PAGE = {"token": "x", "width": 300, "height": 600, "title": "Shop", "url": "http://a.b/", "cut": False, "root": NODE}


class Driver:
    """Answers each script with the same, or raises it."""

    commands = 0

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def execute(self, script: str, *arguments: object) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def perform(self, pressed: object, *, lasting: float = 0.0) -> None:
        """Keys reach any page."""


def view(answer: object) -> WebView:
    return WebView(cast("DriverSession", Driver(answer)))


def written(value: object) -> list[str]:
    return [json.dumps(value)]


async def test_the_answer_of_page_js_is_read() -> None:
    root = await view(written(PAGE)).tree()
    assert [(each.text, each.id) for each in walk(root)] == [("", ""), ("Pay", "pay")]


def end(act: Coroutine[Any, Any, Any]) -> Any:
    """What it returns, or the failure that it raises."""
    try:
        return asyncio.run(act)
    except DeviceFailure as failure:
        return failure


def changed(path: tuple[Any, ...], value: object) -> Any:
    """The page with another value at this place."""
    page = json.loads(json.dumps(PAGE))
    at = page
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return page


PLACES = [
    *((name,) for name in PAGE),
    *(("root", name) for name in (*NODE, "v", "c", "f", "o", "css")),
    *(("root", "b", index) for index in range(4)),
    *((("root", "a", "id"), ("root", "k", 0), ("root", "l"))),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=examples(300))
@given(st.sampled_from(PLACES), JSON)
@example(("title",), {})  # a form called "title"
@example(("root", "b"), "[1,2,3,4]")  # Array.prototype.toJSON of old libraries
@example(("root", "b", 0), 10**400)
def test_a_page_that_changes_its_answer_ends_in_a_tree_or_a_verdict(place: tuple[Any, ...], value: object) -> None:
    root = end(view(written(changed(place, value))).tree())
    if isinstance(root, DeviceFailure):
        assert root.category is Category.SCRIPT_ERROR
    else:
        assert all(isinstance(text, str) for each in walk(root) for text in (each.text, each.label, each.hint, each.id))


def nested(levels: int) -> Any:
    page = json.dumps(changed(("root", "k"), ["*"]))
    before, _, after = page.partition('"*"')
    inner = json.dumps(NODE).partition('"Pay"')
    return [f"{before}{inner[0] * levels}{inner[2] * levels}{after}"]


@pytest.mark.parametrize(
    "answer",
    [
        DriverError("javascript error", "javascript error: node.getAttribute is not a function"),
        DriverError("unknown error", "unknown error: call function result missing int 'status'"),
        DriverError("unknown error", "unknown error: Runtime.callFunctionOn threw exception: 1"),
        DriverError("unknown error", "unknown error: cannot deserialize the result value received from Runtime"),
        ["{"],
        ["[]"],
        [{}],
        ["null"],
        "x",
        7,
        nested(600),
        nested(100_000),
    ],
    ids=lambda answer: str(answer)[:40],
)
async def test_a_page_that_breaks_what_reads_it_costs_no_verdict(answer: object) -> None:
    """Another attempt would not help: it is no failure of the device."""
    with pytest.raises(DeviceFailure, match="the page cannot be read") as failed:
        await view(answer).tree()
    assert failed.value.category is Category.SCRIPT_ERROR


async def test_a_driver_that_answers_null_is_a_failure_of_the_device() -> None:
    with pytest.raises(DeviceFailure) as failed:
        await view(None).tree()
    assert failed.value.category is Category.NETWORK_ERROR


@given(JSON)
def test_a_page_that_forges_other_answers_ends_in_a_verdict(value: Any) -> None:
    for answer in ({"html": value}, {"refused": value}, {"put": value}, {"x": value}, {"ready": value}):
        page = view(written(answer))
        for act in (page.source(), page.clear(None, 3), page.hide_keyboard()):
            failure = end(act)
            assert not isinstance(failure, DeviceFailure) or failure.category is Category.SCRIPT_ERROR


@pytest.mark.parametrize(
    "inside",
    ["<a>" * 1_000 + "</a>" * 1_000, "<a/>" * 30_000, f'<a text="{"x" * 5_000_000}"/>', "<a " + 'b="" ' * 300 + "/>"],
    ids=["deep", "wide", "long", "attributes"],
)
def test_a_screen_that_is_too_large_is_a_verdict(inside: str) -> None:
    for number in range(300):
        inside = inside.replace('b=""', f'b{number}=""', 1)
    with pytest.raises(DeviceFailure, match="the screen is too large to be read") as failed:
        read_tree(f"<hierarchy>{inside}</hierarchy>", "Android")
    assert failed.value.category is Category.SCRIPT_ERROR
