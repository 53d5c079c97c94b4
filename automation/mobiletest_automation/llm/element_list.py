"""A screen for a model: its visible elements, numbered, as delimited JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

import orjson

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline

ELEMENTS_LIMIT = 200
TEXT_LIMIT = 160
LISTED_BYTES = 32_000


@dataclass(frozen=True, slots=True)
class ElementList:
    """The listed elements, which are numbered from 1, and the screen's JSON."""

    elements: tuple[Element, ...]
    json: str

    def element(self, number: int) -> Element | None:
        return self.elements[number - 1] if 1 <= number <= len(self.elements) else None


def list_elements(tree: Element) -> ElementList:
    """The visible elements that have a text or can be acted on, in the order of the screen."""
    shown = [element for element in Outline(tree).visible if _worth_listing(element)]
    lines: list[dict[str, Any]] = []
    size = 0
    for number, element in enumerate(shown[:ELEMENTS_LIMIT], start=1):
        line = _line(number, element)
        size += len(orjson.dumps(line))
        if size > LISTED_BYTES:
            break
        lines.append(line)
    screen: dict[str, Any] = {"size": [round(tree.bounds.width), round(tree.bounds.height)], "elements": lines}
    if len(lines) < len(shown):
        screen["not_listed"] = len(shown) - len(lines)
    return ElementList(tuple(shown[: len(lines)]), _plain_json(screen))


def delimit(json: str, what: str = "screen") -> str:
    """Data between marks that the author of the data cannot foresee."""
    mark = token_hex(6)
    return f"<{what} {mark}>\n{json}\n</{what} {mark}>"


def _plain_json(value: object) -> str:
    """JSON that cannot contain a mark."""
    return orjson.dumps(value).decode().replace("<", "\\u003c").replace(">", "\\u003e")


def _worth_listing(element: Element) -> bool:
    return bool(element.name or element.text or element.tappable or element.checked is not None)


def _line(number: int, element: Element) -> dict[str, Any]:
    box = element.bounds
    texts = {"text": element.text, "label": element.label, "hint": element.hint, "id": element.id}
    line: dict[str, Any] = {"n": number, "role": str(element.role)}
    line |= {name: cut(text, TEXT_LIMIT) for name, text in texts.items() if text}
    states = _states(element)
    if states:
        line["state"] = states
    return line | {"bounds": [round(box.x), round(box.y), round(box.width), round(box.height)]}


def _states(element: Element) -> Sequence[str]:
    states = [name for name in ("focused", "selected") if getattr(element, name)]
    if not element.enabled:
        states.append("disabled")
    if element.checked is not None:
        states.append("checked" if element.checked else "unchecked")
    if element.clickable:
        states.append("clickable")
    return states
