"""Snapshots of pages, taken by page.js and converted to elements."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from services.executor.automation.devices.port import script_error
from services.executor.automation.devices.webdriver.driver_session import SCRIPT_TRIES, DriverSession, element_of
from services.executor.automation.devices.webdriver.hub_connection import HubUnreachable, Json
from services.executor.automation.screen.elements import Bounds, Element, Role
from services.executor.automation.screen.page_source.html_semantics import (
    NAMED_BY_CONTENT,
    checked_of,
    enabled_of,
    names_of,
    role_of,
    selected_of,
)
from services.executor.texts import parse_json
from services.flows.nodes import quote
from services.flows.texts import cut, cut_elsewhere

TEXT_LIMIT = 300
"""Characters of an element's inner text; a longer text is not a name."""
CUT_AT = (300, 2_000)
"""Lengths of attributes and of texts at which page.js cuts."""


@dataclass(frozen=True, slots=True)
class PageNode:
    """A node of the document `token`."""

    token: str
    number: int


async def query_page(driver: DriverSession, what: str, **request: Json) -> dict[str, Any]:
    """The answer of page.js. With `refer`, "element" holds the id of the node."""
    value: Json = None
    for _ in range(SCRIPT_TRIES):
        value = value or await driver.execute(_script(), {"what": what, **request})
    written, *elements = value if isinstance(value, list) and value else [None]
    try:
        answer = parse_json(written) if isinstance(written, str) else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise HubUnreachable("the driver's answer from the page is malformed")
    if elements:
        answer["element"] = element_of(elements[0])
    return answer


async def take_snapshot(
    driver: DriverSession, css: frozenset[str] = frozenset()
) -> tuple[Element, Mapping[Element, PageNode]]:
    """The elements of the page, whose root has the bounds of the viewport, and the node of each.

    script_error if the page is too large to be read as a whole, or if it does not accept one of the CSS selectors.
    """
    selectors: list[Json] = [*sorted(css)]
    answer = await query_page(driver, "snapshot", css=selectors)
    if "invalid" in answer:
        raise script_error(f"{quote(answer['invalid'])} is not a CSS selector that the browser knows")
    if answer["cut"]:
        raise script_error("the page is too large: more than 20,000 elements, or 200 levels")
    reader = _Reader(answer["token"], sorted(css))
    body = answer["root"]
    children = (reader.convert(body)[0],) if body is not None else ()
    screen = Element(
        role=Role.SCREEN,
        label=answer["title"],
        bounds=Bounds(0, 0, answer["width"], answer["height"]),
        attributes={"url": answer["url"], "title": answer["title"]},
        children=children,
    )
    return screen, reader.nodes


def describe_node(described: list[str]) -> str:
    """What page.js calls a node, for messages."""
    tag, name = described
    return f"{tag} {quote(_whole(name))}" if name else tag


class _Reader:
    def __init__(self, token: str, css: list[str]) -> None:
        self._token = token
        self._css = css
        self.nodes: dict[Element, PageNode] = {}

    def convert(self, seen: Mapping[str, Any]) -> tuple[Element, str]:
        """The element and its inner text."""
        tag, attributes = seen["t"], {name: _whole(value) for name, value in seen["a"].items()}
        children, own, inner = self._convert_children(seen["k"])
        role = role_of(tag, attributes)
        value = _whole(seen.get("v"))
        content = value if tag == "select" else inner if role in NAMED_BY_CONTENT or tag == "option" else own
        labels = [_whole(label) for label in seen.get("l", ())]
        names = names_of(tag, attributes, content=content or "", value=value, labels=labels)
        element = Element(
            role=role,
            text=names.text,
            label=names.label,
            hint=names.hint,
            id=names.id,
            bounds=Bounds(*seen["b"]),
            enabled=enabled_of(attributes) and not seen["d"],
            visible=seen["s"],
            checked=checked_of(tag, attributes, checked=seen.get("c")),
            focused=seen.get("f", False),
            selected=seen["chosen"] if tag == "option" else selected_of(attributes),
            clickable=seen.get("o", False),
            tag=tag,
            attributes=attributes,
            css=frozenset(self._css[index] for index in seen.get("css", ())),
            children=children,
        )
        self.nodes[element] = PageNode(self._token, seen["n"])
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


def _whole(text: Any) -> Any:
    """A text of page.js without the beginning of a secret where it may have cut it."""
    return cut_elsewhere(text, *CUT_AT) if isinstance(text, str) else text


def _join(parts: list[str]) -> str:
    return cut(" ".join(" ".join(parts).split()), TEXT_LIMIT)


@cache
def _script() -> str:
    return Path(__file__).with_name("page.js").read_text(encoding="utf-8")
