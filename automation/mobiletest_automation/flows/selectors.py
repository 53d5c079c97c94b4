"""Selectors of elements, positions and conditions: what commands take as arguments, and how they are read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal, TypeAlias, cast

from mobiletest_automation.flows.css_syntax import css_problem
from mobiletest_automation.flows.nodes import Node, quote, read_optional
from mobiletest_automation.flows.patterns import Pattern, PatternError, compile_pattern

Direction: TypeAlias = Literal["up", "down", "left", "right"]

NOT_A_WEB_PAGE = "css selects elements of web pages, and this device is not a browser: use text or id"
PATTERN_LIMIT = 2_000
NESTING_LIMIT = 6
INDEX_LIMIT = 1_000
DESCENDANTS_LIMIT = 20
PIXELS_LIMIT = 100_000
VALUE_LIMIT = 10_000

# Fields of every command.
COMMON_FIELDS = ("label", "optional")

_STATES = ("enabled", "checked", "focused", "selected")
_SIZES = ("width", "height", "tolerance")
_RELATIONS = ("below", "above", "leftOf", "rightOf", "childOf", "containsChild", "containsDescendants")
CRITERIA = ("text", "id", "css", "index", "traits", *_STATES, *_SIZES, *_RELATIONS)
TAP_FIELDS = ("point", "retryTapIfNoChange", "waitToSettleTimeoutMs", "repeat", "delay")
# Fields that Maestro accepts in every selector, and that mean nothing there.
WITHOUT_EFFECT = (*TAP_FIELDS, "waitUntilVisible", "start", "end", *COMMON_FIELDS)

TRAITS = ("text", "long-text", "square")
_POSITION = re.compile(r"\s*(-?\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*,\s*(-?\d{1,5}(?:\.\d{1,3})?)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Selects the elements that meet all the criteria; `index` picks one of them, counted from 0, from the top.

    A negative index counts from the bottom, -1 is the last. `css` is a selector of CSS, for web pages only. `traits`
    are text, long-text and square. `width` and `height` are pixels, and may differ by `tolerance`.
    """

    text: Pattern | None = None
    id: Pattern | None = None
    css: str | None = None
    index: int | None = None
    traits: tuple[str, ...] | None = None
    enabled: bool | None = None
    checked: bool | None = None
    focused: bool | None = None
    selected: bool | None = None
    width: float | None = None
    height: float | None = None
    tolerance: float | None = None
    below: "Selector | None" = None
    above: "Selector | None" = None
    left_of: "Selector | None" = None
    right_of: "Selector | None" = None
    child_of: "Selector | None" = None
    contains_child: "Selector | None" = None
    contains_descendants: "tuple[Selector, ...] | None" = None

    def __str__(self) -> str:
        criteria = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(_criterion(name, value) for name, value in criteria.items() if value is not None)


def _criterion(name: str, value: object) -> str:
    words = name.replace("_", " ")
    match name, value:
        case "text", Pattern():
            return f'"{value.source}"'
        case _, Pattern():
            return f'{words} "{value.source}"'
        case "css", _:
            return f'css "{value}"'
        case _, Selector():
            return f"{words} ({value})"
        case "traits", tuple():
            return f"traits {' '.join(value)}"
        case _, tuple():
            return f"{words} ({'; '.join(map(str, value))})"
        case _, bool():
            return words if value else f"not {words}"
        case _, float():
            return f"{words} {value:g}"
        case _:
            return f"{words} {value}"


@dataclass(frozen=True, slots=True)
class Position:
    """A point of the screen or of an element: in pixels, or as a share 0..1 of its size if `relative`."""

    x: float
    y: float
    relative: bool

    def __str__(self) -> str:
        return f"{self.x * 100:g}%, {self.y * 100:g}%" if self.relative else f"{self.x:g}, {self.y:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All parts must hold; `platform` is android, ios or web, `truth` a text that must count as true."""

    visible: Selector | None = None
    not_visible: Selector | None = None
    platform: str | None = None
    truth: str | None = None


ALWAYS = Condition()


def css_selectors_of(part: object) -> frozenset[str]:
    """Those of a command or a condition: of its own elements, also nested ones, but not of the steps that it holds."""
    return frozenset(_walk_css(part))


def _walk_css(part: object) -> Iterator[str]:
    if isinstance(part, Selector) and part.css is not None:
        yield part.css
    if not is_dataclass(part):
        return
    for field in fields(part):
        value = getattr(part, field.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Condition | Selector):
                yield from _walk_css(inner)


def read_selector(node: Node, *, depth: int = 0, required: bool = True) -> Selector:
    """A selector: a text, or a mapping of criteria."""
    if not node.is_mapping:
        return Selector(text=read_pattern(node))
    if depth > NESTING_LIMIT:
        raise node.error(f"selectors may be nested at most {NESTING_LIMIT} deep")
    if "timeout" in node.mapping():
        wrong = "timeout is not supported here: use extendedWaitUntil, which has a timeout"
        raise node.mapping()["timeout"].error_at_key(wrong)
    entries = node.fields((*CRITERIA, *WITHOUT_EFFECT))
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
        css=read_optional(entries, "css", _read_css),
        index=read_optional(entries, "index", lambda value: value.integer(-INDEX_LIMIT, INDEX_LIMIT)),
        traits=read_optional(entries, "traits", _read_traits),
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


def _read_css(node: Node) -> str:
    source = node.string(limit=PATTERN_LIMIT)
    if not node.pending and (problem := css_problem(source)):
        raise node.error(f"{quote(source)} is not a CSS selector: {problem}")
    return source


def _read_traits(node: Node) -> tuple[str, ...]:
    """Words with blanks between them; LONG_TEXT is long-text."""
    words = tuple(word.lower().replace("_", "-") for word in node.string(limit=100).split())
    if not node.pending and (not words or not set(words) <= set(TRAITS)):
        raise node.error(f"expected one or more of {', '.join(TRAITS)}, not {quote(node.raw)}")
    return words


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
    """A condition of `when` or `while`; without any part it holds. Its label and optional have no effect."""
    entries = node.fields(("visible", "notVisible", "platform", "true", *COMMON_FIELDS))
    return Condition(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        platform=read_optional(entries, "platform", lambda value: value.choice(("android", "ios", "web"))),
        truth=read_optional(entries, "true", read_truth),
    )


def read_truth(node: Node) -> str:
    """A text that must count as true. Spaces around what is written are no part of it, those in values are."""
    text = node.string(limit=VALUE_LIMIT)
    return text if node.template else text.strip()


def read_element(node: Node) -> Selector:
    """The selector of an argument, which may itself be marked as optional (see `is_optional`)."""
    return read_selector(node)


def is_optional(entries: Mapping[str, Node]) -> bool:
    """Whether a command is marked as optional, directly or at its element."""
    inner = (entries[name] for name in ("element", "visible", "notVisible") if name in entries)
    marked = [entries, *(node.mapping() for node in inner if node.is_mapping)]
    return any(read_optional(each, "optional", Node.boolean) for each in marked)


def read_direction(node: Node) -> Direction:
    return cast("Direction", node.choice(("up", "down", "left", "right")))


def read_position(node: Node) -> Position:
    """A point: "50%, 90%" of the screen, or "120, 400" in pixels; one percent sign counts for both."""
    if node.pending:
        return Position(0, 0, True)
    match = _POSITION.fullmatch(node.string(limit=100))
    if match is None:
        raise node.error('expected a point such as "50%, 90%" or "120, 400"')
    relative = "%" in (match[2], match[4])
    x, y = float(match[1]), float(match[3])
    if relative and not (0 <= x <= 100 and 0 <= y <= 100):
        raise node.error("the percentages of a point are between 0% and 100%")
    return Position(x / 100, y / 100, relative) if relative else Position(x, y, relative)
