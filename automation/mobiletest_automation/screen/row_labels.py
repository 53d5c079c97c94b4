"""Which text of a row labels which control or value: settings, forms, receipts and lists of definitions."""

import math
import re
from collections.abc import Callable, Iterable
from itertools import pairwise

from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_parts import (
    TEXT_ROLES,
    is_control,
    is_field,
    is_on_line,
    is_remark,
    is_right_of,
    is_text,
    is_value,
    name_of_control,
    nearest_on_line,
    only,
)

# What is further up, or larger, is no row, form or receipt; both bound the work on hostile screens.
MOST_LEVELS = 10
MOST_ELEMENTS = 200
# A larger container is no row or card, whose other texts may be values too.
MOST_BESIDE = 40
# A row has a label and at most two more texts, such as a value and an explanation.
MOST_TEXTS = 3
_LETTER = re.compile(r"[^\W\d_]")


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
        if not is_text(label):
            return None
        return self._owned_by(label, is_control)

    def label_of(self, element: Element) -> str:
        """The text that labels a field or a control; empty without one."""
        if element not in self._labels:
            self._labels[element] = self._find_label(element)
        return self._labels[element]

    def _find_label(self, element: Element) -> str:
        kind = is_field if element.editable else is_control
        for container in (element, *self._containers(element)):
            texts = self._texts(container)
            if texts:
                label = next((each for each in texts if self._owned_by(each, kind) is element), None)
                return "" if label is None else label.text or label.label
        return ""

    def value_of(self, label: Element) -> Element | None:
        """What a row shows for the text: the field that it labels, or a text after it."""
        if not is_text(label) or not _LETTER.search(label.text or label.label):
            return None
        field = self._owned_by(label, is_field)
        if field is not None:
            return field
        for container in self._containers(label):
            shown = [each for each in self._inside(container, is_value) if not self._is_in_control(each, container)]
            if label not in shown:
                return None
            if len(shown) > 1:
                value = _value_among(shown, label, container)
                doubtful = value is None or self._is_label(value) or self._is_doubtful(value, label, container)
                return None if value is None or doubtful else self._whole(value)
            if any(self._is_in_control(each, container) for each in self._inside(container, is_text)):
                return None
        return None

    def _is_label(self, text: Element) -> bool:
        """Whether it says what something else is. A field has a label of its own, or none."""
        if text.editable or (text.text or text.label).rstrip().endswith(":"):
            return True
        return is_text(text) and any(self._owned_by(text, kind) is not None for kind in (is_control, is_field))

    def texts_besides(self, label: Element, value: Element, most: int = MOST_TEXTS) -> list[Element]:
        """The other texts of a row with a label and a value; none if it has more texts than `most`."""
        row = next((each for each in self._containers(label) if value in walk(each)), None)
        texts = [] if row is None else self._texts(row)
        return [each for each in texts if each not in (label, value)] if len(texts) <= most else []

    def _is_doubtful(self, value: Element, label: Element, container: Element) -> bool:
        """Whether something else may be the value, or the label is the head of a column."""
        if is_right_of(value, label):
            return self._is_head(label, container)
        between = self._outline.between(label, value)
        if any(is_text(each) and self._is_in_control(each, container) for each in between):
            return True
        around = (each for each in self._containers(container) if self._outline.size_of(each) <= MOST_BESIDE)
        texts = (text for each in around for text in self._texts(each))
        return any(is_right_of(text, label) or is_right_of(text, value) for text in texts)

    def _is_head(self, label: Element, container: Element) -> bool:
        """Whether the row is the first of a table: the only one of its part, or followed by rows of numbers."""
        part = self._outline.parent(container)
        if part is None or part.tag == "thead" or all(each.tag == "th" for each in container.children):
            return part is not None
        following = part.children[part.children.index(container) + 1 :]
        first = (self._inside(each, is_text)[:1] for each in following if self._outline.size_of(each) <= MOST_BESIDE)
        return any(texts and texts[0].text and not _LETTER.search(texts[0].text) for texts in first)

    def _whole(self, value: Element | None) -> Element | None:
        """The outermost element with nothing but this text."""
        while value is not None and (around := self._outline.parent(value)) is not None and around.text == value.text:
            if around.role not in TEXT_ROLES or len(around.children) > 1:
                break
            value = around
        return value

    def _owned_by(self, label: Element, kind: Kind) -> Element | None:
        if (label, kind) not in self._owned:
            owned = self._find_owned(label, kind)
            otherwise = owned is not None and self._is_named_otherwise(owned, label)
            self._owned[label, kind] = None if otherwise else owned
        return self._owned[label, kind]

    def _is_named_otherwise(self, owned: Element, label: Element) -> bool:
        """Whether it has a name without that text, or not the only one with it. No title labels a search field."""
        if owned.editable:
            return label.role is Role.HEADING and bool(owned.hint or owned.label)
        name, text = name_of_control(owned).casefold(), (label.text or label.label).casefold()
        if name in ("", text):
            return False
        controls = (each for each in self._outline.visible if is_control(each))
        return [each for each in controls if text in name_of_control(each).casefold()] != [owned]

    def _find_owned(self, label: Element, kind: Kind) -> Element | None:
        """The only one that fits in the row of the label, or on its line if there are several rows."""
        for container in self._containers(label):
            elements = self._inside(container, kind)
            if not elements:
                continue
            below = self._field_below(label, container) if kind is is_field else None
            if below is not None:
                return below
            texts = self._texts(container)
            if len(elements) == 1 and len(texts) <= MOST_TEXTS:
                named = len(texts) > 1 and bool(elements[0].hint or elements[0].label)
                owned = texts[:1] == [label] and label in self._nearest_texts(elements[0])
                return elements[0] if owned and not (elements[0].editable and named) else None
            return only(self._by_line(container, kind).get(label, ()))
        return None

    def _field_below(self, label: Element, container: Element) -> Element | None:
        """The only field of the box after the label, if that is nearer to it than what is before it."""
        beside = [each for each in container.children if self._is_shown(each)]
        if label not in beside:
            return None
        place = beside.index(label)
        after = next((each for each in beside[place + 1 :] if not is_remark(each)), None)
        fields = self._inside(after, is_field) if after is not None else []
        if after is None or len(fields) != 1 or self._texts(after):
            return None
        if any(each is not after and is_on_line(after, each) and self._inside(each, is_field) for each in beside):
            return None
        before = beside[place - 1 : place] if place else []
        ends = [each.bounds.bottom for box in before for each in self._inside(box, is_field)[-1:] or [box]]
        above = label.bounds.y - max(ends, default=-math.inf)
        return fields[0] if 0 <= fields[0].bounds.y - label.bounds.bottom < above else None

    def _is_shown(self, element: Element) -> bool:
        """Whether it is there for people: not a spacer."""
        empty = element.role is Role.OTHER and not (element.children or element.text or element.label)
        return element in self._visible and element.bounds.height > 0 and not empty

    def _nearest_texts(self, element: Element) -> list[Element]:
        """The texts of the innermost container that has any: a heading above the row is none of them."""
        return next((texts for each in (element, *self._containers(element)) if (texts := self._texts(each))), [])

    def _by_line(self, container: Element, kind: Kind) -> dict[Element, list[Element]]:
        """What fits, by the nearest text on its line."""
        if (container, kind) not in self._lines:
            lines = self._lines[container, kind] = {}
            texts = self._texts(container)
            owned = self._inside(container, kind)
            for each in owned:
                nearest = nearest_on_line(each, texts, owned)
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
            texts = self._inside(container, is_text)
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


def _value_among(shown: list[Element], label: Element, container: Element) -> Element | None:
    """The value, of a label and one value, or of several pairs of both."""
    place = shown.index(label)
    if len(shown) % 2 or place % 2:
        line = [each for each in shown if is_on_line(each, label) or is_on_line(label, each)]
        pair = line == shown[place : place + 2] and len(line) > 1
        return only(each for each in line if is_right_of(each, label)) if place == 0 or pair else None
    pairs = list(zip(shown[::2], shown[1::2], strict=True))
    beside = {is_right_of(value, name) for name, value in pairs}
    if True in beside and any(is_on_line(name, other) for (name, _), (other, _) in pairwise(pairs)):
        return None
    if len(pairs) > 1 and True not in beside and container.role is not Role.LIST and not _alternate(pairs):
        return None
    return shown[place + 1] if len(beside) == 1 else None


def _alternate(pairs: list[tuple[Element, Element]]) -> bool:
    """Whether labels look different from values, or each pair is closer together than to the next."""
    names, values = ({(each.role, each.bounds.height) for each in side} for side in zip(*pairs, strict=True))
    if names.isdisjoint(values):
        return True
    within = max(value.bounds.y - name.bounds.bottom for name, value in pairs)
    return all(within < after.bounds.y - value.bounds.bottom for (_, value), (after, _) in pairwise(pairs))
