"""Readers of arguments that several commands have: selectors, conditions, directions, points and variables."""

import re
from collections.abc import Mapping
from typing import cast

from services.flows.nodes import Node, quote, read_optional
from services.flows.patterns import Pattern, PatternError, compile_pattern
from services.flows.selectors import Condition, Direction, Position, Selector

PATTERN_LIMIT = 500
NESTING_LIMIT = 6
INDEX_LIMIT = 1_000
DESCENDANTS_LIMIT = 20
ENV_LIMIT = 200
VALUE_LIMIT = 10_000
PIXELS_LIMIT = 100_000

COMMON_FIELDS = ("label", "optional")
"""Fields of every command."""

_STATES = ("enabled", "checked", "focused", "selected")
_SIZES = ("width", "height", "tolerance")
_RELATIONS = ("below", "above", "leftOf", "rightOf", "childOf", "containsChild", "containsDescendants")
CRITERIA = ("text", "id", "index", *_STATES, *_SIZES, *_RELATIONS)
_UNSUPPORTED = {
    "traits": "use text or id",
    "css": "use text or id",
    "timeout": "use extendedWaitUntil, which has a timeout",
    "waitUntilVisible": "every command waits for its element",
    "point": "only tapOn, doubleTapOn and longPressOn have it",
}
_POSITION = re.compile(r"\s*(\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*,\s*(\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*")
_APP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)


def read_selector(node: Node, *, also: tuple[str, ...] = (), depth: int = 0, required: bool = True) -> Selector:
    """A selector: a text, or a mapping of criteria that may also have the fields `also`."""
    if not node.is_mapping:
        return Selector(text=read_pattern(node))
    if depth > NESTING_LIMIT:
        raise node.error(f"selectors may be nested at most {NESTING_LIMIT} deep")
    _refuse_unsupported(node.mapping(), also)
    entries = node.fields((*CRITERIA, *also))
    if required and not set(entries) & set(CRITERIA):
        raise node.error(f"a selector needs at least one of {', '.join(CRITERIA)}")

    def state(name: str) -> bool | None:
        return read_optional(entries, name, Node.boolean)

    def size(name: str) -> float | None:
        return read_optional(entries, name, lambda value: value.number(0, PIXELS_LIMIT))

    def other(name: str) -> Selector | None:
        return read_optional(entries, name, lambda value: read_selector(value, depth=depth + 1))

    return Selector(
        text=read_optional(entries, "text", read_pattern),
        id=read_optional(entries, "id", read_pattern),
        index=read_optional(entries, "index", lambda value: value.integer(0, INDEX_LIMIT)),
        enabled=state("enabled"),
        checked=state("checked"),
        focused=state("focused"),
        selected=state("selected"),
        width=size("width"),
        height=size("height"),
        tolerance=size("tolerance"),
        below=other("below"),
        above=other("above"),
        left_of=other("leftOf"),
        right_of=other("rightOf"),
        child_of=other("childOf"),
        contains_child=other("containsChild"),
        contains_descendants=read_optional(
            entries, "containsDescendants", lambda value: _read_descendants(value, depth + 1)
        ),
    )


def _refuse_unsupported(entries: Mapping[str, Node], also: tuple[str, ...]) -> None:
    for name, instead in _UNSUPPORTED.items():
        if name in entries and name not in also:
            raise entries[name].error_at_key(f"{name} is not supported here: {instead}")


def _read_descendants(node: Node, depth: int) -> tuple[Selector, ...]:
    if not 0 < len(node.items()) <= DESCENDANTS_LIMIT:
        raise node.error(f"expected a list of 1 to {DESCENDANTS_LIMIT} selectors")
    return tuple(read_selector(item, depth=depth) for item in node.items())


def read_pattern(node: Node) -> Pattern:
    """A regular expression for a whole text, or a text that matches itself."""
    source = node.string()
    if not source.strip():
        raise node.error("the text to look for is empty")
    if len(source) > PATTERN_LIMIT:
        raise node.error(f"the text to look for is longer than {PATTERN_LIMIT} characters")
    if node.pending:
        return Pattern(source)
    try:
        return compile_pattern(source)
    except PatternError as error:
        raise node.error(f"{error}; a selector's text is a regular expression that matches the whole text") from error


def read_condition(node: Node) -> Condition:
    """A condition of `when` or `while`."""
    allowed = ("visible", "notVisible", "platform", "true")
    entries = node.fields(allowed)
    if not entries:
        raise node.error(f"a condition needs at least one of {', '.join(allowed)}")
    return Condition(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        platform=read_optional(entries, "platform", lambda value: value.choice(("android", "ios"))),
        truth=read_optional(entries, "true", lambda value: value.string(limit=VALUE_LIMIT)),
    )


def read_element(node: Node) -> Selector:
    """The selector of an argument, which may itself be marked as optional (see `is_optional`)."""
    return read_selector(node, also=COMMON_FIELDS)


def is_optional(entries: Mapping[str, Node]) -> bool:
    """Whether a command is marked as optional, directly or at its element."""
    inner = (entries[name] for name in ("element", "visible", "notVisible") if name in entries)
    marked = [entries, *(node.mapping() for node in inner if node.is_mapping)]
    return any(read_optional(each, "optional", Node.boolean) for each in marked)


def read_direction(node: Node) -> Direction:
    return cast("Direction", node.choice(("up", "down", "left", "right")))


def read_position(node: Node) -> Position:
    """A point: "50%, 90%" of the screen, or "120, 400" in pixels."""
    if node.pending:
        return Position(0, 0, True)
    found = _POSITION.fullmatch(node.string(limit=100))
    if found is None or found[2] != found[4]:
        raise node.error('expected a point such as "50%, 90%" or "120, 400"')
    relative = found[2] == "%"
    x, y = float(found[1]), float(found[3])
    if relative and not (x <= 100 and y <= 100):
        raise node.error("the percentages of a point are between 0% and 100%")
    return Position(x / 100, y / 100, relative) if relative else Position(x, y, relative)


def read_app_id(node: Node) -> str:
    """The id of an app: its package name or bundle id."""
    text = node.string(limit=500).strip()
    if not node.pending and not _APP_ID.fullmatch(text):
        raise node.error('expected the id of an app, such as "com.example.shop"')
    return text


def read_milliseconds(node: Node, limit_seconds: float) -> float:
    """A duration in milliseconds, as seconds."""
    return node.number(0, limit_seconds * 1000) / 1000


def read_env(node: Node) -> tuple[tuple[str, str], ...]:
    """Names and values of variables; numbers are taken as they were written."""
    entries = node.mapping()
    if len(entries) > ENV_LIMIT:
        raise node.error(f"more than {ENV_LIMIT} variables")
    for name, value in entries.items():
        if not _NAME.fullmatch(name):
            raise value.error_at_key(
                f"{quote(name)} is not a name for a variable: use letters, digits and _, not beginning with a digit"
            )
    return tuple((name, "" if value.is_null else value.string(limit=VALUE_LIMIT)) for name, value in entries.items())
