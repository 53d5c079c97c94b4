"""Stored trees as the JSON of the API."""

import json
import zlib
from typing import Any

import pytest

from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.stored_trees import DEPTH_LIMIT, encode_tree
from services.executor.tree_json import read_tree
from tests.documents import block


def shown(root: Element) -> Any:
    return json.loads(read_tree(encode_tree(root)))


def test_elements_are_nested_without_what_is_the_same_for_most() -> None:
    attributes = {"class": "android.widget.Button"}
    button = Element(
        role=Role.BUTTON,
        text='"Pay" \u2713',
        label="Pay",
        hint="h",
        id="app:id/pay",
        tag="button",
        bounds=Bounds(0, 10.5, 20, 30),
        enabled=False,
        visible=False,
        checked=False,
        focused=True,
        selected=True,
        clickable=True,
        secret=True,
        attributes=attributes,
    )
    rows = Element(role=Role.LIST, children=(Element(role=Role.CELL, children=(Element(text="a"),)), Element()))
    root = Element(role=Role.SCREEN, children=(button, rows, Element(checked=True)))
    assert shown(root) == {
        "role": "screen",
        "children": [
            {
                "role": "button",
                "text": '"Pay" \u2713',
                "label": "Pay",
                "hint": "h",
                "id": "app:id/pay",
                "tag": "button",
                "bounds": [0, 10.5, 20, 30],
                "enabled": False,
                "visible": False,
                "checked": False,
                "focused": True,
                "selected": True,
                "clickable": True,
                "secret": True,
                "attributes": attributes,
            },
            {
                "role": "list",
                "children": [{"role": "cell", "children": [{"role": "other", "text": "a"}]}, {"role": "other"}],
            },
            {"role": "other", "checked": True},
        ],
    }


def test_the_documentation_shows_such_a_tree() -> None:
    field = Element(
        role=Role.FIELD,
        label="Email",
        hint="you@example.com",
        id="email",
        bounds=Bounds(8, 56, 344, 48),
        clickable=True,
        attributes={"class": "android.widget.EditText"},
    )
    assert shown(Element(role=Role.SCREEN, children=(field,))) == json.loads(block("docs/evidence.md", '{"role"'))


def test_a_screen_without_parts_is_one_object() -> None:
    assert read_tree(encode_tree(Element(role=Role.SCREEN))) == b'{"role":"screen"}'


def test_the_deepest_tree_that_is_kept_is_shown() -> None:
    root = Element(text="deepest")
    for _ in range(DEPTH_LIMIT):
        root = Element(children=(root, Element()))
    element, depth = shown(root), 0
    while children := element.get("children"):
        element, depth = children[0], depth + 1
    assert (element["text"], depth) == ("deepest", DEPTH_LIMIT)


@pytest.mark.parametrize("stored", [b"", b"{}", zlib.compress(b"[1, 2]"), encode_tree(Element())[:-1]])
def test_what_is_no_tree_is_not_shown(stored: bytes) -> None:
    assert read_tree(stored) == b""
