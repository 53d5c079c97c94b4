"""The pieces that several commands share: selectors, conditions, directions and points."""

import re
from typing import cast

from services.flows.commands import Condition, Direction, Position, Selector
from services.flows.nodes import Node, given
from services.flows.pattern import Pattern, PatternError, compiled

PATTERN_LIMIT = 500
NESTING_LIMIT = 6
INDEX_LIMIT = 1_000

_STATES = ("enabled", "checked", "focused", "selected")
_RELATIONS = ("below", "above", "leftOf", "rightOf", "childOf", "containsChild")
_CRITERIA = ("text", "id", "index", *_STATES, *_RELATIONS)
_POSITION = re.compile(r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*,\s*(\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*")
_APP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")


def without_variables(node: Node) -> str:
    """The text; one with ${...} is refused, for it would silently mean itself."""
    text = node.string()
    if "${" in text:
        raise node.fault("variables (${...}) are not supported: write the value out")
    return text


def selector(node: Node, *, also: tuple[str, ...] = (), depth: int = 0) -> Selector:
    """A selector: a text, or a mapping of criteria that may have the fields `also` besides."""
    if not node.is_mapping:
        return Selector(text=_pattern(node))
    if depth > NESTING_LIMIT:
        raise node.fault(f"selectors may be nested at most {NESTING_LIMIT} deep")
    entries = node.fields((*_CRITERIA, *also))
    if not set(entries) & set(_CRITERIA):
        raise node.fault(f"a selector needs at least one of {', '.join(_CRITERIA)}")

    def state(name: str) -> bool | None:
        return given(entries, name, Node.boolean)

    def other(name: str) -> Selector | None:
        return given(entries, name, lambda found: selector(found, depth=depth + 1))

    return Selector(
        text=given(entries, "text", _pattern),
        id=given(entries, "id", _pattern),
        index=given(entries, "index", lambda found: found.integer(0, INDEX_LIMIT)),
        enabled=state("enabled"),
        checked=state("checked"),
        focused=state("focused"),
        selected=state("selected"),
        below=other("below"),
        above=other("above"),
        left_of=other("leftOf"),
        right_of=other("rightOf"),
        child_of=other("childOf"),
        contains_child=other("containsChild"),
    )


def _pattern(node: Node) -> Pattern:
    source = without_variables(node)
    if not source.strip():
        raise node.fault("the text to look for is empty")
    if len(source) > PATTERN_LIMIT:
        raise node.fault(f"the text to look for is longer than {PATTERN_LIMIT} characters")
    try:
        return compiled(source)
    except PatternError as error:
        raise node.fault(f"{error}; a selector's text is a regular expression that matches the whole text") from error


def condition(node: Node, *, platform: bool = False) -> Condition:
    """A condition of `when` or `while`."""
    allowed = ("visible", "notVisible", "platform") if platform else ("visible", "notVisible")
    entries = node.fields(allowed)
    if not entries:
        raise node.fault(f"a condition needs at least one of {', '.join(allowed)}")
    return Condition(
        visible=given(entries, "visible", selector),
        not_visible=given(entries, "notVisible", selector),
        platform=given(entries, "platform", lambda found: found.choice(("android", "ios"))),
    )


def direction(node: Node) -> Direction:
    return cast("Direction", node.choice(("up", "down", "left", "right")))


def position(node: Node) -> Position:
    """A point: "50%, 90%" of the screen, or "120, 400" in pixels."""
    found = _POSITION.fullmatch(node.string(limit=100))
    if found is None or found[2] != found[4]:
        raise node.fault('expected a point such as "50%, 90%" or "120, 400"')
    relative = found[2] == "%"
    x, y = float(found[1]), float(found[3])
    if relative and not (x <= 100 and y <= 100):
        raise node.fault("a point in percent lies between 0% and 100%")
    return Position(x / 100, y / 100, relative) if relative else Position(x, y, relative)


def app_id(node: Node) -> str:
    """The id of an app: a package name or a bundle id."""
    text = without_variables(node).strip()
    if not _APP_ID.fullmatch(text):
        raise node.fault('expected the id of an app, such as "com.example.shop"')
    return text
