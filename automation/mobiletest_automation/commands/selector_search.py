"""Finds the elements that match a selector of a command, as Maestro does."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from mobiletest_automation.flows.nodes import suggest
from mobiletest_automation.flows.patterns import Pattern, WorkBudget, WorkBudgetExceeded
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.page_source.html_semantics import ids_of

_STATES = ("enabled", "checked", "focused", "selected")
_TRAITS: dict[str, Callable[[Element], bool]] = {
    "text": lambda element: bool(element.text) or _has_any_text(element),
    "long-text": lambda element: len(element.text) > 200,
    "square": lambda element: abs(element.bounds.width - element.bounds.height) < 0.03 * element.bounds.height,
}
# What the element itself meets, whatever is around it.
_OWN_CRITERIA = ("text", "id", "css", "traits", "width", "height", "tolerance", *_STATES)

_POSITIONS = ("below", "above", "left_of", "right_of")
_MUST_BE = {
    "below": "it must be below",
    "above": "it must be above",
    "left_of": "it must be left of",
    "right_of": "it must be right of",
    "contains_child": "it must contain",
    "contains_descendants": "it must contain",
}
SIMPLER_SELECTOR_HINT = "use fewer relative positions or a simpler regular expression"

# The costs of testing an element and of reading its containers, in units of a WorkBudget.
_ELEMENT_COST = 4
_CONTAINER_COST = 20

# Of several matches so many are named beside the one that is used.
_OTHERS_NAMED = 4

# A misspelt text is compared with so many on the screen, of at most this length.
_SIMILAR_AMONG = 500
_SIMILAR_LENGTH = 100

# Where a selector searches: elements in the order of the source, parents first.
_Pool = Sequence[Element]


def find_by_selector(selector: Selector, outline: Outline) -> list[Element]:
    """The elements on the screen that match, in the order of the source, clickable ones first.

    Of nested elements only the innermost counts, unless the selector says nothing of the element itself. `childOf`
    searches in the first element that matches it. `index` counts from the top of the screen, and picks one.

    Raises:
        WorkBudgetExceeded: for a selector that takes too long.
    """
    return _Search(outline).find(selector, outline.selectable, or_screen=True)


def describe_matches(elements: Sequence[Element]) -> str:
    """Which of several elements is used, and which are not; empty if there is only one."""
    if len(elements) < 2:
        return ""
    first, *others = (_with_place(element) for element in elements[: 1 + _OTHERS_NAMED])
    more = ", ..." if len(elements) > 1 + _OTHERS_NAMED else ""
    also = ", ".join(others)
    return (
        f"{len(elements)} elements match, the first is used: {first}; not {also}{more}: "
        "add an index or a position to choose another"
    )


def _with_place(element: Element) -> str:
    middle = element.bounds.center
    return f"{element.describe()} at {middle.x:g}, {middle.y:g}"


def explain_missing(selector: Selector, outline: Outline | None, *, absent: bool = False) -> str:
    """Why nothing matches, where that is because of another element that the selector names, as a container.

    Empty if the element itself is what is missing, or if it takes too long to find out. If it should be `absent`,
    only another element that is not on the screen is worth a word.
    """
    if outline is None:
        return ""
    try:
        return _Explanation(outline, absent=absent).explain(selector, outline.selectable)
    except WorkBudgetExceeded:
        return ""


class _Search:
    """One search on one screen, within a work budget."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._work = WorkBudget()

    def find(self, selector: Selector, pool: _Pool, *, or_screen: bool = False) -> list[Element]:
        """Those that match, in the order in which they count, or the one at the index.

        With `or_screen` the screen itself, as the last, may be what contains something.
        """
        if selector.child_of is not None:
            pool = self.inside(self.find(selector.child_of, pool, or_screen=True), pool)
        elements = self._candidates(selector, pool)
        for name in _POSITIONS:
            other = getattr(selector, name)
            if other is not None:
                elements = _in_direction(name, elements, self.find(other, pool))
        elements = self._containing(selector, elements, pool, or_screen=or_screen)
        if selector.index is not None:
            return _element_at(selector.index, elements)
        return sorted(elements, key=_is_clickable, reverse=True)

    def inside(self, containers: list[Element], pool: _Pool) -> _Pool:
        """The first of the containers, and what is in it."""
        if not containers:
            return ()
        self._work.spend(len(pool))
        within = set(walk(containers[0]))
        return [element for element in pool if element in within]

    def _candidates(self, selector: Selector, pool: _Pool) -> list[Element]:
        """Those that match by themselves; all, if the selector says nothing of the element itself."""
        if _says_nothing_itself(selector):
            return list(pool)
        self._work.spend(len(pool) * _ELEMENT_COST)
        elements = [element for element in pool if self._matches(selector, element)]
        self._work.spend(len(elements) * _CONTAINER_COST)
        return self._outline.innermost(elements)

    def _containing(
        self, selector: Selector, elements: list[Element], pool: _Pool, *, or_screen: bool
    ) -> list[Element]:
        """Those that contain what the selector says."""
        child, descendants = selector.contains_child, selector.contains_descendants
        if child is None and descendants is None:
            return elements
        anything = _says_nothing_itself(selector)
        elsewhere = (*_POSITIONS, "child_of", "index")
        if anything and or_screen and all(getattr(selector, name) is None for name in elsewhere):
            elements = [*elements, self._outline.root]
        if child is not None:
            children = set(self.find(child, pool))
            elements = [element for element in elements if not children.isdisjoint(element.children)]
        for each in descendants or ():
            containers = self._containers_of(each, pool)
            elements = [element for element in elements if element in containers]
        if anything and descendants is not None:
            innermost = set(self._outline.innermost(elements))
            elements = [element for element in elements if element in innermost or _is_clickable(element)]
        return elements

    def _containers_of(self, descendant: Selector, pool: _Pool) -> set[Element]:
        """The elements that contain one that matches; with an index, one with as many in it as the index needs."""
        index = descendant.index or 0
        needed = index + 1 if index >= 0 else -index
        inner = self.find(replace(descendant, index=None), pool)
        self._work.spend(len(inner) * _CONTAINER_COST)
        if needed > 1:
            around = Counter(each for element in inner for each in (element, *self._outline.ancestors(element)))
            inner = [each for each, count in around.items() if count >= needed]
        return self._outline.ancestors_of_all(inner)

    def _matches(self, selector: Selector, element: Element) -> bool:
        if selector.text is not None and not self._matches_text(selector.text, _texts(element)):
            return False
        if selector.id is not None and not self._matches_text(selector.id, _ids(element)):
            return False
        if selector.css is not None and selector.css not in element.css:
            return False
        if not _has_size(selector, element) or not all(_TRAITS[trait](element) for trait in selector.traits or ()):
            return False
        expected = {name: getattr(selector, name) for name in _STATES}
        return all(state is None or state == _has_state(element, name) for name, state in expected.items())

    def _matches_text(self, pattern: Pattern, texts: Iterable[str]) -> bool:
        return any(pattern.matches(text, self._work) for text in texts)


class _Explanation(_Search):
    """Says which of the elements that a selector names is missing."""

    def __init__(self, outline: Outline, *, absent: bool) -> None:
        super().__init__(outline)
        self._absent = absent

    def explain(self, selector: Selector, pool: _Pool) -> str:
        container = selector.child_of
        if container is None:
            return self._explain_relations(selector, pool)
        alone = replace(selector, child_of=None)
        elements = self.find(container, pool, or_screen=True)
        if not elements:
            return self._missing(container, "its container", pool, instead=alone)
        why = self._explain_relations(alone, self.inside(elements, pool))
        if why:
            return f"in its container, {elements[0].describe()}: {why}"
        if self._absent:
            return ""
        more = f" (the first of {len(elements)} that match)" if len(elements) > 1 else ""
        elsewhere = ", but it is elsewhere on the screen" if self._is_there(alone, pool) else ""
        return f"its container, {elements[0].describe()}{more}, does not contain it{elsewhere}"

    def _explain_relations(self, selector: Selector, pool: _Pool) -> str:
        for name, words in _MUST_BE.items():
            other = getattr(selector, name)
            for each in other if isinstance(other, tuple) else (other,):
                if each is not None and not self.find(each, pool):
                    return self._missing(each, f"what {words}", pool)
        return ""

    def _missing(self, other: Selector, role: str, pool: _Pool, *, instead: Selector | None = None) -> str:
        why = self.explain(other, pool)
        but = f", but {instead} is" if instead is not None and self._is_there(instead, pool) else ""
        return f"{role}, {other}, is not on the screen{but}" + (f": {why}" if why else _similar(other, pool))

    def _is_there(self, selector: Selector, pool: _Pool) -> bool:
        return not _says_nothing_itself(selector) and bool(self.find(selector, pool))


def _has_state(element: Element, name: str) -> bool:
    """Whether it has the state; on Android what is no control may be called checked, too."""
    called_checked = name == "checked" and not element.tag and element.attributes.get(name) == "true"
    return called_checked or bool(getattr(element, name))


def _has_any_text(element: Element) -> bool:
    """Whether the source has a text of the element, which may be empty: of each element of a page or of iOS."""
    return bool(element.tag) or not {"text", "type"}.isdisjoint(element.attributes)


def _texts(element: Element) -> list[str]:
    """Text, label and hint without those that are empty; an empty text if the source has one, and nothing else."""
    texts = [each for each in (element.text, element.label, element.hint) if each]
    return texts or ([""] if _has_any_text(element) else [])


def _says_nothing_itself(selector: Selector) -> bool:
    return all(getattr(selector, name) is None for name in _OWN_CRITERIA)


def _is_clickable(element: Element) -> bool:
    """Whether the source says so of the element itself; as for Maestro, nothing is on iPhones and in browsers."""
    return element.clickable and not element.tag and "traits" not in element.attributes


def _in_direction(name: str, elements: list[Element], others: list[Element]) -> list[Element]:
    """The elements in that direction of at least one of the others."""
    if not others:
        return []
    match name:
        case "below":
            least = min(other.bounds.y for other in others)
            return [element for element in elements if element.bounds.y > least]
        case "above":
            most = max(other.bounds.y for other in others)
            return [element for element in elements if element.bounds.y < most]
        case "left_of":
            most = max(other.bounds.x for other in others)
            return [element for element in elements if element.bounds.x < most]
        case _:
            least = min(other.bounds.x for other in others)
            return [element for element in elements if element.bounds.x > least]


def _element_at(index: int, elements: list[Element]) -> list[Element]:
    """The one at the index, counted from the top of the screen, as a list; none if there are fewer."""
    ordered = sorted(elements, key=lambda element: (element.bounds.y, element.bounds.x))
    position = index + (len(ordered) if index < 0 else 0)
    return ordered[position : position + 1] if position >= 0 else []


def _has_size(selector: Selector, element: Element) -> bool:
    sizes = ((selector.width, element.bounds.width), (selector.height, element.bounds.height))
    return all(wanted is None or abs(wanted - size) <= (selector.tolerance or 0) for wanted, size in sizes)


def _ids(element: Element) -> list[str]:
    """The id, its part after the slash, and the full resource id; of an element of a page all that may be its id.

    An empty one if the source has an id that is empty.
    """
    if element.tag:
        return ids_of(element.attributes)
    if element.id:
        return [element.id, element.id.rsplit("/", 1)[-1], element.attributes.get("resource-id", element.id)]
    return [""] if not {"resource-id", "type"}.isdisjoint(element.attributes) else []


def _similar(selector: Selector, pool: _Pool) -> str:
    """A hint to what is spelled nearly so."""
    if selector.id is not None:
        names = {name.rsplit("/", 1)[-1] for element in pool[:_SIMILAR_AMONG] for name in _ids(element)}
        word = selector.id.source
    elif selector.text is not None:
        names = {text for element in pool[:_SIMILAR_AMONG] for text in (element.text, element.label, element.hint)}
        word = selector.text.source
    else:
        return ""
    return suggest(word, sorted(name for name in names if 0 < len(name) <= _SIMILAR_LENGTH))
