"""The parts of a row: texts, fields, controls and values, and where they are on its line."""

import re
from collections.abc import Iterable
from itertools import pairwise

from mobiletest_automation.screen.elements import Element, Role

TEXT_ROLES = frozenset({Role.TEXT, Role.HEADING, Role.OTHER})
_VALUES = TEXT_ROLES | {Role.FIELD, Role.PICKER, Role.SLIDER, Role.PROGRESS}
# Values of settings that "enabled" and "disabled" may mean.
STATES = frozenset({"on", "off", "enabled", "disabled", "active", "inactive", "yes", "no", "checked", "unchecked"})
# What forms write beside a label, which is neither a label nor a value.
_REMARK = re.compile(r"\W*(?:required|mandatory|optional)?\W*", re.IGNORECASE)


def name_of_control(control: Element) -> str:
    """Its own name; empty if it has none but the text for its state that Android shows on it."""
    name = control.label or control.text
    return "" if name.strip().casefold() in STATES else name


def is_control(element: Element) -> bool:
    return element.checked is not None


def is_field(element: Element) -> bool:
    return element.editable


def is_text(element: Element) -> bool:
    text = element.text or element.label
    return element.role in TEXT_ROLES and bool(text) and not element.children and not _REMARK.fullmatch(text)


def is_remark(element: Element) -> bool:
    text = element.text or element.label
    return element.role in TEXT_ROLES and not element.children and _REMARK.fullmatch(text) is not None


def is_value(element: Element) -> bool:
    """A text that is empty may be a value too."""
    if element.role not in _VALUES or element.children or element.clickable:
        return False
    text = element.text or element.label
    return not _REMARK.fullmatch(text) if text else element.role is not Role.OTHER


def is_on_line(one: Element, other: Element) -> bool:
    middle = other.bounds.center.y
    return one.bounds.height > 0 and one.bounds.y <= middle <= one.bounds.bottom


def is_right_of(one: Element, other: Element) -> bool:
    return is_on_line(one, other) and one.bounds.x >= other.bounds.right


def nearest_on_line(control: Element, texts: list[Element], controls: list[Element]) -> Element | None:
    """With texts on both sides, the one on the side on which the line begins with a text."""
    beside = [each for each in texts if is_on_line(control, each)]
    nearest = min(beside, key=lambda each: _distance(each, control), default=None)
    left = [each for each in beside if each.bounds.x < control.bounds.x]
    if len(left) in (0, len(beside)) or sum(is_on_line(control, each) for each in controls) == 1:
        return nearest
    line = sorted((*beside, *(each for each in controls if is_on_line(control, each))), key=lambda each: each.bounds.x)
    if any((one in beside) == (other in beside) for one, other in pairwise(line)):
        return None
    return line[line.index(control) + (-1 if line[0] in beside else 1)]


def _distance(one: Element, other: Element) -> float:
    return max(one.bounds.x - other.bounds.right, other.bounds.x - one.bounds.right, 0.0)


def only(elements: Iterable[Element]) -> Element | None:
    all_found = list(elements)
    return all_found[0] if len(all_found) == 1 else None
