"""Which text of a row labels which control or value: settings, forms, receipts and lists of definitions."""

import re
from collections.abc import Callable, Iterable

from services.executor.automation.screen.elements import Element, Role, walk
from services.executor.automation.screen.outline import Outline

MOST_LEVELS = 10
MOST_ELEMENTS = 200
"""What is further up, or larger, is no row, form or receipt; both bound the work on hostile screens."""
MOST_TEXTS = 3
"""A row has a label and at most two more texts, such as a value and an explanation."""
_TEXTS = frozenset({Role.TEXT, Role.HEADING, Role.OTHER})
_VALUES = _TEXTS | {Role.FIELD, Role.PICKER, Role.SLIDER, Role.PROGRESS}
_REMARK = re.compile(r"\W*(?:required|mandatory|optional)?\W*", re.IGNORECASE)
"""What forms write beside a label, which is neither a label nor a value."""


Kind = Callable[[Element], bool]


class RowLabels:
    """Labels and what belongs to them, on one screen. Nothing belongs to a label where two things could."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._visible = set(outline.visible)
        self._labels: dict[Element, str] = {}
        self._free_texts: dict[Element, list[Element]] = {}
        self._found: dict[tuple[Element, Kind], list[Element]] = {}
        self._lines: dict[tuple[Element, Kind], dict[Element, list[Element]]] = {}
        self._owned: dict[tuple[Element, Kind], Element | None] = {}

    def control_of(self, label: Element) -> Element | None:
        """The switch, checkbox or radio button that the text labels."""
        if not _is_text(label):
            return None
        return self._owned_by(label, _is_control)

    def label_of(self, element: Element) -> str:
        """The text that labels a field or a control; empty without one."""
        if element not in self._labels:
            self._labels[element] = self._find_label(element)
        return self._labels[element]

    def _find_label(self, element: Element) -> str:
        kind = _is_field if element.editable else _is_control
        for container in (element, *self._containers(element)):
            texts = self._texts(container)
            if texts:
                label = next((each for each in texts if self._owned_by(each, kind) is element), None)
                return "" if label is None else label.text or label.label
        return ""

    def value_of(self, label: Element) -> Element | None:
        """What a row shows for the text: the field that it labels, or a text after it."""
        field = self._owned_by(label, _is_field)
        if field is not None:
            return field
        for container in self._containers(label):
            shown = [each for each in self._inside(container, _is_value) if not self._is_in_control(each, container)]
            if label not in shown:
                return None
            if len(shown) > 1:
                return self._whole(_value_among(shown, label))
        return None

    def _whole(self, value: Element | None) -> Element | None:
        """The outermost element with nothing but this text."""
        while value is not None and (around := self._outline.parent(value)) is not None and around.text == value.text:
            if around.role not in _TEXTS or len(around.children) > 1:
                break
            value = around
        return value

    def _owned_by(self, label: Element, kind: Kind) -> Element | None:
        if (label, kind) not in self._owned:
            self._owned[label, kind] = self._find_owned(label, kind)
        return self._owned[label, kind]

    def _find_owned(self, label: Element, kind: Kind) -> Element | None:
        """The only one that fits in the row of the label, or on its line if there are several rows."""
        for container in self._containers(label):
            found = self._inside(container, kind)
            if not found:
                continue
            texts = self._texts(container)
            if len(found) == 1 and len(texts) <= MOST_TEXTS:
                return found[0] if texts and texts[0] is label else None
            return _only(self._by_line(container, kind).get(label, ()))
        return None

    def _by_line(self, container: Element, kind: Kind) -> dict[Element, list[Element]]:
        """What fits, by the nearest text on its line."""
        if (container, kind) not in self._lines:
            lines = self._lines[container, kind] = {}
            texts = self._texts(container)
            for each in self._inside(container, kind):
                nearest = _nearest_on_line(each, texts)
                if nearest is not None:
                    lines.setdefault(nearest, []).append(each)
        return self._lines[container, kind]

    def _containers(self, label: Element) -> Iterable[Element]:
        """From the innermost up to the cell of a list, or to all but the screen."""
        container = self._outline.parent(label)
        for _ in range(MOST_LEVELS):
            if container is None or container is self._outline.root:
                return
            if self._outline.size_of(container) > MOST_ELEMENTS:
                return
            yield container
            container = None if container.role is Role.CELL else self._outline.parent(container)

    def _texts(self, container: Element) -> list[Element]:
        """The texts in a container, but those of the controls in it."""
        if container not in self._free_texts:
            texts = self._inside(container, _is_text)
            self._free_texts[container] = [each for each in texts if not self._is_in_control(each, container)]
        return self._free_texts[container]

    def _is_in_control(self, element: Element, container: Element) -> bool:
        above = self._outline.parent(element) if element is not container else None
        while above is not None and above is not container:
            if above.tappable:
                return True
            above = self._outline.parent(above)
        return False

    def _inside(self, container: Element, kind: Kind) -> list[Element]:
        """In order; asked for each container and kind once."""
        if (container, kind) not in self._found:
            visible = (each for each in walk(container) if each in self._visible)
            self._found[container, kind] = [each for each in visible if kind(each)]
        return self._found[container, kind]


def _value_among(shown: list[Element], label: Element) -> Element | None:
    """The value, of a label and one value, or of several pairs of both."""
    place = shown.index(label)
    if len(shown) % 2 or place % 2:
        return _only(each for each in shown if _is_right_of(each, label)) if place == 0 else None
    pairs = list(zip(shown[::2], shown[1::2], strict=True))
    alike = len(pairs) == 1 or len({_is_right_of(value, name) for name, value in pairs}) == 1
    return shown[place + 1] if alike else None


def _is_control(element: Element) -> bool:
    return element.checked is not None


def _is_field(element: Element) -> bool:
    return element.editable


def _is_text(element: Element) -> bool:
    text = element.text or element.label
    return element.role in _TEXTS and bool(text) and not element.children and not _REMARK.fullmatch(text)


def _is_value(element: Element) -> bool:
    """A text that is empty may be a value too."""
    if element.role not in _VALUES or element.children or element.clickable:
        return False
    text = element.text or element.label
    return not _REMARK.fullmatch(text) if text else element.role is not Role.OTHER


def _is_on_line(one: Element, other: Element) -> bool:
    middle = other.bounds.center.y
    return one.bounds.height > 0 and one.bounds.y <= middle <= one.bounds.bottom


def _is_right_of(one: Element, other: Element) -> bool:
    return _is_on_line(one, other) and one.bounds.x >= other.bounds.right


def _nearest_on_line(control: Element, texts: list[Element]) -> Element | None:
    beside = [each for each in texts if _is_on_line(control, each)]
    return min(beside, key=lambda each: _distance(each, control), default=None)


def _distance(one: Element, other: Element) -> float:
    return max(one.bounds.x - other.bounds.right, other.bounds.x - one.bounds.right, 0.0)


def _only(found: Iterable[Element]) -> Element | None:
    all_found = list(found)
    return all_found[0] if len(all_found) == 1 else None
