"""Finds the elements that a target means. Exact beats case-insensitive beats hints, labels beside and ids."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

from services.executor.automation.elements import Element, Role, walk
from services.executor.automation.sentences.intents import Reading, Related, Relation, Target
from services.executor.automation.sentences.places import apart, nearest

Wanted = Callable[[Element], bool]


class Outline:
    """A tree made ready for looking things up: its visible elements in order, and who is inside whom."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self._parents: dict[Element, Element] = {}
        self._before: dict[Element, Element] = {}
        self._order: dict[Element, int] = {}
        for position, element in enumerate(walk(root)):
            self._order[element] = position
            for child in element.children:
                self._parents[child] = element
            self._before.update(zip(element.children[1:], element.children, strict=False))

    @cached_property
    def visible(self) -> tuple[Element, ...]:
        """What can be seen, but for the screen itself; what is inside something hidden cannot."""
        return tuple(element for element in self._order if element is not self.root and self._shown(element))

    def _shown(self, element: Element) -> bool:
        return all(above.visible for above in (element, *self.above(element)))

    def above(self, element: Element) -> list[Element]:
        """What the element is inside of, the innermost first."""
        found = []
        parent = self._parents.get(element)
        while parent is not None:
            found.append(parent)
            parent = self._parents.get(parent)
        return found

    def inside(self, element: Element, outer: Element) -> bool:
        return outer in self.above(element)

    def innermost(self, found: Iterable[Element]) -> list[Element]:
        """Those that hold no other one of them."""
        kept = list(found)
        holders = self.holders(kept)
        return [element for element in kept if element not in holders]

    def holders(self, found: Iterable[Element]) -> set[Element]:
        """All that any of them is inside of."""
        return {above for element in found for above in self.above(element)}

    def within(self, found: Iterable[Element], holders: Collection[Element]) -> list[Element]:
        """Those that are inside one of the holders."""
        return [element for element in found if any(above in holders for above in self.above(element))]

    def tappable(self, element: Element) -> bool:
        """Whether a tap on the element reaches something that is made for it."""
        return element.tappable or any(above.tappable for above in self.above(element))

    def label_beside(self, element: Element) -> str:
        """The text that stands directly before the element, in the same container."""
        before = self._before.get(element)
        labels = before is not None and before.visible and before.role in (Role.TEXT, Role.HEADING)
        return before.text if before is not None and labels else ""

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)


def find(
    target: Target, outline: Outline, wanted: Wanted, *, whole_phrase: bool = False, by_text_only: bool = False
) -> list[Element]:
    """The elements that the target means, in order; several when the words fit several equally well.

    `wanted` says which elements are considered at all. With `whole_phrase` only names that are the whole wording count;
    with `by_text_only` ids do not.
    """
    levels = _levels(target, outline, by_text_only=by_text_only)
    pool = [element for element in outline.visible if wanted(element)]
    if whole_phrase:
        return _named(levels, target.readings[:2], pool, outline)
    plain = tuple(reading for reading in target.readings if reading.ordinal is None and reading.name)
    found = _named(levels, plain, pool, outline)
    for reading in target.readings:
        if not found and reading not in plain:
            found = _counted(_distinct(_named(levels, (reading,), pool, outline), outline), reading.ordinal)
    if not found and target.related is not None:
        found = _seen_from(target.related, outline, wanted)
    return _distinct(found, outline)


Fits = Callable[[Element, str], bool]


def _named(levels: Sequence[Fits], readings: Sequence[Reading], pool: list[Element], outline: Outline) -> list[Element]:
    for fits in levels:
        for reading in readings:
            named = [element for element in pool if fits(element, reading.name)]
            found = _of_kind(named, reading.roles, outline)
            if found:
                return found
    return []


def _levels(target: Target, outline: Outline, *, by_text_only: bool) -> Sequence[Fits]:
    """The ways in which an element can fit a name, the best first."""
    if target.by_id:
        return (_has_id,)
    if target.partly:
        return (_contains,)
    by_text: tuple[Fits, ...] = (
        _reads,
        _reads_folded,
        lambda element, name: _is_called(element, name, outline),
    )
    if by_text_only:
        return by_text
    loosely = () if target.quoted else (_is_spelled_alike,)
    return (*by_text, _has_id_in_words, *loosely, _is_for_searching)


def _of_kind(found: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """Those of the roles, or what holds them: the "Blue mug" row is the row that reads so somewhere.

    Where nothing says what an element is, one that reacts to taps counts as a button or a link.
    """
    if not roles:
        return found
    exact = [element for element in found if element.role in roles]
    if exact:
        return exact
    if roles & _HOLDERS:
        holders = (next((above for above in outline.above(each) if above.role in roles), None) for each in found)
        return outline.in_order({holder for holder in holders if holder is not None})
    if roles & _PRESSED:
        return [element for element in found if element.clickable and element.role in _UNSAID]
    return []


_HOLDERS = frozenset({Role.CELL, Role.DIALOG, Role.LIST})


_PRESSED = frozenset({Role.BUTTON, Role.LINK})
_UNSAID = frozenset({Role.OTHER, Role.TEXT, Role.IMAGE})


def _reads(element: Element, name: str) -> bool:
    return not name or name in (_spaced(element.text), _spaced(element.label))


def _reads_folded(element: Element, name: str) -> bool:
    folded = _folded(name)
    return bool(folded) and folded in (_folded(element.text), _folded(element.label))


def _is_called(element: Element, name: str, outline: Outline) -> bool:
    """By its hint, or by the text beside a field or a switch."""
    folded = _folded(name)
    if not folded:
        return False
    if folded == _folded(element.hint):
        return True
    nameless = element.editable or element.checked is not None
    return nameless and not element.label and folded == _folded(outline.label_beside(element))


def _has_id(element: Element, name: str) -> bool:
    return bool(element.id) and name in (element.id, _short_id(element.id))


def _has_id_in_words(element: Element, name: str) -> bool:
    return _has_id(element, name) or (bool(element.id) and _id_words(name) == _id_words(_short_id(element.id)) != ())


def _is_spelled_alike(element: Element, name: str) -> bool:
    """ "Log-in" and "login" are "Log in"."""
    letters = _letters(name)
    return len(letters) > 2 and letters in (_letters(element.text), _letters(element.label), _letters(element.hint))


def _is_for_searching(element: Element, name: str) -> bool:
    """The search field is one that says so somewhere: "Search products"."""
    if name.casefold() != "search" or not element.editable:
        return False
    kinds = (element.attributes.get("type", ""), element.attributes.get("class", ""))
    names = _id_words(f"{element.label} {element.hint} {_short_id(element.id)}")
    return "search" in names or any("search" in kind.casefold() for kind in kinds)


def _contains(element: Element, name: str) -> bool:
    folded = _spaced(name).casefold()
    return any(folded in _spaced(text).casefold() for text in (element.text, element.label) if text)


def _spaced(text: str) -> str:
    return text if text.isalnum() else " ".join(text.split())


@lru_cache(maxsize=8192)
def _folded(text: str) -> str:
    """For comparing loosely: case, typographic quotes, and the punctuation at the end do not count."""
    plain = " ".join(text.split()).casefold().replace("’", "'").replace("“", '"').replace("”", '"')
    return plain.rstrip(" .:…!?*") or plain


def _short_id(identifier: str) -> str:
    return identifier.rsplit("/", 1)[-1]


@lru_cache(maxsize=8192)
def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold())) if len(text) < 200 else text


@lru_cache(maxsize=8192)
def _id_words(identifier: str) -> tuple[str, ...]:
    """log_in, log-in and logIn are the words of "log in"."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", identifier)
    return tuple(re.findall(r"[^\W_]+", apart.casefold()))


def _distinct(found: list[Element], outline: Outline) -> list[Element]:
    """Without those that hold another one of them: a button and the text on it are one thing.

    The outer one stays if it alone is made for tapping.
    """
    among = set(found)
    return outline.in_order({_made_for_tapping(each, among, outline): None for each in outline.innermost(found)})


def _made_for_tapping(element: Element, found: set[Element], outline: Outline) -> Element:
    if element.tappable:
        return element
    holders = [above for above in outline.above(element) if above in found and above.tappable]
    return holders[0] if holders else element


def _counted(found: list[Element], ordinal: int | None) -> list[Element]:
    return found if ordinal is None else _nth(found, ordinal)


def _nth(found: list[Element], ordinal: int) -> list[Element]:
    position = ordinal - 1 if ordinal > 0 else len(found) + ordinal
    return [found[position]] if 0 <= position < len(found) else []


def _seen_from(related: Related, outline: Outline, wanted: Wanted) -> list[Element]:
    seen_from = anchors(related, outline)
    if len(seen_from) != 1:
        return []
    anchor = seen_from[0]
    ordinal = next((reading.ordinal for reading in related.this.readings if reading.ordinal is not None), None)
    found = find(_uncounted(related.this), outline, wanted)
    around = {anchor, *outline.above(anchor)}
    others = [element for element in found if element not in around]
    if related.relation is Relation.INSIDE:
        return _counted(_sharing_most(others, anchor, outline), ordinal)
    if related.relation is Relation.IN_ROW_OF:
        return _counted(_in_row_of(others, anchor, outline), ordinal)
    gaps = [(gap, each) for each in others if (gap := apart(each, anchor, related.relation)) is not None]
    if ordinal is not None:
        return _nth([element for _, element in sorted(gaps, key=lambda pair: pair[0])], ordinal)
    return nearest(gaps)


def anchors(related: Related, outline: Outline) -> list[Element]:
    """What the element may be seen from; it must be one. A text stands for itself, not for the field that it labels."""
    found = find(related.anchor, outline, lambda element: True)
    texts = [each for each in found if each.text and not each.editable and each.checked is None]
    return texts if len(found) > 1 and texts else found


def _in_row_of(found: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those in the anchor's row; where nothing says what a row is, those beside it."""
    row = next((each for each in (anchor, *outline.above(anchor)) if each.role is Role.CELL), None)
    if row is not None:
        return outline.within(found, {row})
    return [element for element in found if apart(element, anchor, Relation.NEXT_TO) is not None]


def _uncounted(target: Target) -> Target:
    return replace(target, readings=tuple(replace(reading, ordinal=None) for reading in target.readings))


def _sharing_most(found: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those that share the innermost container with the anchor, or are inside it; never another row's, nor the whole
    screen's.
    """
    around = [anchor, *outline.above(anchor)][:-1]
    row = next((place for place, holder in enumerate(around) if holder.role is Role.CELL), len(around) - 1)
    places = {holder: place for place, holder in enumerate(around[: row + 1])}
    shared = [(min(map(places.__getitem__, held)), each) for each, held in _held(found, places, outline)]
    least = min((place for place, _ in shared), default=0)
    return [element for place, element in shared if place == least]


def _held(found: list[Element], holders: Collection[Element], outline: Outline) -> list[tuple[Element, list[Element]]]:
    """Those that are inside some of the holders, with these."""
    each = ((element, [above for above in outline.above(element) if above in holders]) for element in found)
    return [(element, held) for element, held in each if held]
