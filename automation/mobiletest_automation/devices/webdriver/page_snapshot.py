"""Snapshots of pages, taken by page.js and converted to elements."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mobiletest_automation.devices.port import DeviceFailure, script_error
from mobiletest_automation.devices.webdriver.driver_session import SCRIPT_TRIES, DriverSession, element_of
from mobiletest_automation.devices.webdriver.hub_connection import (
    BROKEN_BY_PAGE,
    DriverError,
    HubUnreachable,
    Json,
)
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.texts import cut, cut_elsewhere
from mobiletest_automation.outside_texts import parse_json
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.page_source.html_semantics import (
    NAMED_BY_CONTENT,
    checked_of,
    enabled_of,
    names_of,
    role_of,
    selected_of,
)

_MALFORMED = "its answer is malformed"
# Pixels from the screen; browsers lay nothing out beyond 2^25.
_FARTHEST = 1e9
# Characters of an element's inner text; a longer text is not a name.
TEXT_LIMIT = 300
# Lengths of attributes and of texts at which page.js cuts.
CUT_AT = (300, 2_000)


@dataclass(frozen=True, slots=True)
class PageNode:
    """A node of the document `token`."""

    token: str
    number: int


async def query_page(driver: DriverSession, what: str, **request: Json) -> dict[str, Any]:
    """The answer of page.js. With `refer`, "element" holds the id of the node.

    script_error if the page, where page.js runs, breaks it or its answer each time: another attempt would not help.
    """
    value: Json = None
    broken: DriverError | None = None
    for _ in range(SCRIPT_TRIES):
        try:
            value = value or await driver.execute(_script(), {"what": what, **request})
        except DriverError as error:
            if not BROKEN_BY_PAGE.search(error.message):
                raise
            broken = error
    if value is None:
        raise page_error(broken.message) if broken else HubUnreachable("the driver's answer from the page is malformed")
    written, *elements = value if isinstance(value, list) and value else [None]
    try:
        answer = parse_json(written) if isinstance(written, str) else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise page_error(_MALFORMED)
    if elements:
        answer["element"] = element_of(elements[0])
    return answer


async def take_snapshot(driver: DriverSession, css: frozenset[str]) -> tuple[Element, Mapping[Element, PageNode]]:
    """The elements of the page, whose root has the bounds of the viewport, and the node of each.

    script_error if the page is too large to be read as a whole, or if it does not accept one of the CSS selectors.
    """
    selectors: list[Json] = [*sorted(css)]
    answer = await query_page(driver, "snapshot", css=selectors)
    if "invalid" in answer:
        raise script_error(f"{quote(str(answer['invalid']))} is not a CSS selector that the browser knows")
    if answer.get("cut"):
        raise script_error("the page is too large: more than 20,000 elements, or 200 levels")
    try:
        return _read(answer, sorted(css))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise page_error(_MALFORMED) from error


def page_error(why: str) -> DeviceFailure:
    """The page breaks what reads it."""
    return script_error(f"the page cannot be read, because it replaces functions of the browser: {why}")


def _read(answer: Mapping[str, Any], css: list[str]) -> tuple[Element, Mapping[Element, PageNode]]:
    """TypeError and its like if the answer is not one of page.js: the page may have replaced JSON.stringify."""
    reader = _Reader(_text(answer["token"]), css)
    body = answer["root"]
    children = (reader.convert(body)[0],) if body is not None else ()
    screen = Element(
        role=Role.SCREEN,
        label=_text(answer["title"]),
        bounds=_bounds([0, 0, answer["width"], answer["height"]]),
        attributes={"url": _text(answer["url"]), "title": answer["title"]},
        children=children,
    )
    return screen, reader.nodes


def describe_node(described: Any) -> str:
    """What page.js calls a node, for messages."""
    match described:
        case [str(tag), str(name)]:
            return f"{tag} {quote(_whole(name))}" if name else tag
        case _:
            return "something"


class _Reader:
    def __init__(self, token: str, css: list[str]) -> None:
        self._token = token
        self._css = css
        self.nodes: dict[Element, PageNode] = {}

    def convert(self, seen: Mapping[str, Any]) -> tuple[Element, str]:
        """The element and its inner text."""
        tag, attributes = _text(seen["t"]), {name: _whole(value) for name, value in seen["a"].items()}
        children, own, inner = self._convert_children(seen["k"])
        role = role_of(tag, attributes)
        value = _whole(seen["v"]) if "v" in seen else None
        content = value if tag == "select" else inner if role in NAMED_BY_CONTENT or tag == "option" else own
        labels = [_whole(label) for label in seen.get("l", ())]
        names = names_of(tag, attributes, content=content or "", value=value, labels=labels)
        element = Element(
            role=role,
            text=names.text,
            label=names.label,
            hint=names.hint,
            id=names.id,
            bounds=_bounds(seen["b"]),
            enabled=enabled_of(attributes) and not seen["d"],
            visible=bool(seen["s"]),
            checked=checked_of(tag, attributes, checked=bool(seen["c"]) if "c" in seen else None),
            focused=bool(seen.get("f")),
            selected=bool(seen["chosen"]) if tag == "option" else selected_of(attributes),
            clickable=bool(seen.get("o")),
            tag=tag,
            attributes=attributes,
            css=frozenset(self._css[index] for index in seen.get("css", ())),
            children=children,
        )
        self.nodes[element] = PageNode(self._token, int(seen["n"]))
        return element, inner

    def _convert_children(self, items: list[Any]) -> tuple[tuple[Element, ...], str, str]:
        """The child elements, the text directly inside, and all the text inside."""
        children: list[Element] = []
        own: list[str] = []
        inner: list[str] = []
        for item in items:
            if isinstance(item, str):
                text = _whole(item)
                own.append(text)
                inner.append(text)
            else:
                child, text = self.convert(item)
                children.append(child)
                inner.append(text if child.visible else "")
        return tuple(children), _join(own), _join(inner)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> str:
    """A text of page.js without the beginning of a secret where it may have cut it."""
    return cut_elsewhere(_text(value), *CUT_AT)


def _bounds(numbers: list[Any]) -> Bounds:
    x, y, width, height = numbers
    if any(isinstance(each, bool) or abs(each) > _FARTHEST for each in numbers):
        raise ValueError
    return Bounds(x, y, width, height)


def _join(parts: list[str]) -> str:
    return cut(" ".join(" ".join(parts).split()), TEXT_LIMIT)


@cache
def _script() -> str:
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")
