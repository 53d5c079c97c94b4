"""One screen as the runs of a build saw it: the elements of all its trees, each of them once."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeAlias

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.changes import SeenScreen
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.fingerprint import (
    belongs_to_system,
    id_shape,
    is_scrollable,
    is_scrolled_away,
    normalized_words,
    own_id,
)

# Elements of a tree that are compared, the first ones.
ELEMENTS_LIMIT = 5_000
# Different trees of a screen that are compared, by build.
TREES_LIMIT = 200
# Elements of a screen in all its trees, beyond which no more trees are compared.
MERGED_LIMIT = 20_000
# Different names of an element that are remembered.
_NAMES_LIMIT = 16
# A row is named after the first text among so many elements.
_ROW_ELEMENTS = 30
_NAME_LIMIT = 200

# What differs from day to day without being a change: numbers, dates, times.
_VOLATILE = re.compile(
    r"\d+(?:[.,:/\-\u2019 ]\d+)*|\b(?:[ap]\.?m\b\.?|today|yesterday|tomorrow|ago|just now"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"[\s0]+")


class Moment(NamedTuple):
    """When a screen was seen: before the step of this name for the `nth` time in a run of the test."""

    test: str
    step: str
    nth: int = 0


class Sight(NamedTuple):
    """An element in the tree below `root`, its place in the order of the tree, and what is around it."""

    element: Element
    position: int
    parent: "MergedElement | None"
    root: Element


@dataclass(slots=True, eq=False)
class MergedElement:
    """An element of a screen in all trees: `sights` by the number of the tree.

    Layout without a text is left out, so that `parent` is what a person would say it is in. `scrolled`: it is inside
    of what scrolls. `names` are its names without what is volatile, `words` those without punctuation.
    """

    role: Role
    parent: "MergedElement | None" = None
    scrolled: bool = False
    ids: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    children: "list[MergedElement]" = field(default_factory=list)
    sights: dict[int, Sight] = field(default_factory=dict)

    def walk(self) -> "Iterator[MergedElement]":
        """Itself and its descendants, parents first."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))

    def sample(self) -> Element:
        return next(iter(self.sights.values())).element


def shown_name(element: Element) -> str:
    """Its visible name; empty if it has none. What a field holds is no name."""
    return cut((element.label or element.hint) if element.editable else (element.text or element.label), _NAME_LIMIT)


def stable_name(element: Element) -> str:
    """Its name without numbers, dates and times, for which a 0 stands."""
    return _without_volatile(shown_name(element))


def _without_volatile(text: str) -> str:
    return _BLANKS.sub(lambda blanks: "0" if "0" in blanks[0] else " ", _VOLATILE.sub("0", text)).strip()


def read_tree(root: Element, number: int = 0) -> MergedElement:
    """The elements of one tree that a person would name; nothing of the system, and nothing hidden."""
    top = _new(Sight(root, 0, None, root), number, scrolled=False)
    waiting = [(child, top, is_scrollable(root)) for child in reversed(root.children)]
    position = 0
    while waiting and position < ELEMENTS_LIMIT:
        element, parent, scrolled = waiting.pop()
        if belongs_to_system(element) or not (element.visible or scrolled or is_scrolled_away(element, root)):
            continue
        position += 1
        if _is_named(element):
            one = _new(Sight(element, position, parent, root), number, scrolled=scrolled)
            parent.children.append(one)
            parent = one
        scrolls = scrolled or is_scrollable(element)
        waiting.extend((child, parent, scrolls) for child in reversed(element.children))
    return top


def _is_named(element: Element) -> bool:
    if element.role is not Role.OTHER or element.text or element.label or element.clickable:
        return True
    return not element.children and bool(element.id)


def _new(sight: Sight, number: int, *, scrolled: bool) -> MergedElement:
    element = sight.element
    shape = id_shape(own_id(element))
    words = normalized_words(_without_volatile(shown_name(element) or _row_name(element)))
    return MergedElement(
        element.role,
        sight.parent,
        scrolled,
        {shape} if shape else set(),
        {stable_name(element)},
        {words} if words else set(),
        sights={number: sight},
    )


def _row_name(element: Element) -> str:
    """The first text in a row that has no name itself."""
    if element.role is not Role.CELL:
        return ""
    inside = islice(_descendants(element), _ROW_ELEMENTS)
    return next((text for each in inside if normalized_words(text := shown_name(each))), "")


def _descendants(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _descendants(child)


Pairs: TypeAlias = dict[MergedElement, MergedElement]
_Key: TypeAlias = Callable[[MergedElement], Iterable[Hashable]]


def align(one: MergedElement, other: MergedElement) -> Pairs:
    """The elements of one screen with their counterparts in the other, as far as there are any.

    By unique ids first, then by role and words inside of counterparts, then by role and words alone where they are
    unique, and last by the place between counterparts: that is how renamed elements are recognised.
    """
    matcher = _Matcher(one, other)
    matcher.join_unique(lambda each: each.ids)
    matcher.join_inside(by_place=False)
    matcher.join_unique(_named_keys)
    matcher.join_inside(by_place=True)
    return matcher.pairs


def _named_keys(element: MergedElement) -> list[Hashable]:
    return [(element.role, words) for words in element.words]


def _id_keys(element: MergedElement) -> list[Hashable]:
    return [(element.role, words, shape) for words in element.words for shape in element.ids]


def _nameless_keys(element: MergedElement) -> list[Hashable]:
    return [] if element.words else [(element.role, *sorted(element.ids)[:1])]


class _Matcher:
    def __init__(self, one: MergedElement, other: MergedElement) -> None:
        self.pairs: Pairs = {one: other}
        self._taken: Pairs = {other: one}
        self._order = list(one.walk())
        self._others = list(other.walk())

    def _join(self, one: MergedElement, other: MergedElement) -> None:
        self.pairs[one] = other
        self._taken[other] = one

    def _left(self, elements: Iterable[MergedElement], taken: Pairs) -> list[MergedElement]:
        return [each for each in elements if each not in taken]

    def join_unique(self, key: _Key) -> None:
        here = _index(self._left(self._order, self.pairs), key)
        there = _index(self._left(self._others, self._taken), key)
        for name, ones in here.items():
            others = there.get(name, ())
            if len(ones) == len(others) == 1 and ones[0] not in self.pairs and others[0] not in self._taken:
                self._join(ones[0], others[0])

    def join_inside(self, *, by_place: bool) -> None:
        for parent in self._order:
            if (counterpart := self.pairs.get(parent)) is None or not parent.children:
                continue
            for key in (_id_keys, _named_keys):
                self._join_in_order(parent, counterpart, key, same_count=False)
            self._join_in_order(parent, counterpart, _nameless_keys, same_count=True)
            if by_place:
                self._join_by_place(parent, counterpart)

    def _join_in_order(self, parent: MergedElement, counterpart: MergedElement, key: _Key, *, same_count: bool) -> None:
        here = _index(self._left(parent.children, self.pairs), key)
        if not here:
            return
        there = _index(self._left(counterpart.children, self._taken), key)
        for name, ones in here.items():
            others = there.get(name, [])
            if same_count and len(ones) != len(others):
                continue
            ones, others = self._left(ones, self.pairs), self._left(others, self._taken)
            for one, other in zip(ones, others, strict=False):
                self._join(one, other)

    def _join_by_place(self, parent: MergedElement, counterpart: MergedElement) -> None:
        """Those that are between the same neighbours, then those that have one neighbour in common."""
        for uses in ((True, True), (True, False), (False, True)):
            here = self._gaps(parent.children, self.pairs, uses, translate=True)
            there = self._gaps(counterpart.children, self._taken, uses, translate=False)
            for gap, ones in here.items():
                if others := there.get(gap):
                    self._join_gap(self._left(ones, self.pairs), self._left(others, self._taken))
        self._join_gap(
            self._left(parent.children, self.pairs), self._left(counterpart.children, self._taken), any_name=False
        )
        cells = [
            [each for each in self._left(children, taken) if each.role is Role.CELL]
            for children, taken in ((parent.children, self.pairs), (counterpart.children, self._taken))
        ]
        for one, other in zip(*cells, strict=False):
            if is_volatile(one) or is_volatile(other) or len(cells[0]) == len(cells[1]):
                self._join(one, other)

    def _gaps(
        self, children: list[MergedElement], taken: Pairs, uses: tuple[bool, bool], *, translate: bool
    ) -> dict[Hashable, list[MergedElement]]:
        """The children without a counterpart by the neighbours that have one, in terms of the other screen."""
        before: list[MergedElement | None] = []
        last: MergedElement | None = None
        for each in children:
            before.append(last)
            if each in taken:
                last = taken[each] if translate else each
        gaps: dict[Hashable, list[MergedElement]] = defaultdict(list)
        last = None
        for each, previous in zip(reversed(children), reversed(before), strict=True):
            if each in taken:
                last = taken[each] if translate else each
            else:
                gaps[previous if uses[0] else None, last if uses[1] else None].insert(0, each)
        return gaps

    def _join_gap(self, ones: list[MergedElement], others: list[MergedElement], *, any_name: bool = True) -> None:
        """The most alike first, then, if they may have `any_name`, those of a role of which both have as many."""
        scored = sorted(
            (
                (-_likeness(one, other), abs(place - there), place, there)
                for place, one in enumerate(islice(ones, _GAP))
                for there, other in enumerate(islice(others, _GAP))
            ),
        )
        for score, _, place, there in scored:
            one, other = ones[place], others[there]
            if score < 0 and one not in self.pairs and other not in self._taken:
                self._join(one, other)
        ones, others = self._left(ones, self.pairs), self._left(others, self._taken)
        if not any_name:
            return
        for role in dict.fromkeys(each.role for each in ones):
            mine, its = ([each for each in side if each.role is role] for side in (ones, others))
            if len(mine) == len(its):
                for one, other in zip(mine, its, strict=True):
                    if not _have_other_ids(one, other):
                        self._join(one, other)


# So many elements between two neighbours are compared with each other.
_GAP = 20


def _index(elements: Iterable[MergedElement], key: _Key) -> dict[Hashable, list[MergedElement]]:
    index: dict[Hashable, list[MergedElement]] = defaultdict(list)
    for each in elements:
        for name in key(each):
            index[name].append(each)
    return index


def _likeness(one: MergedElement, other: MergedElement) -> float:
    """From 0 to 2: how much both could be the same element, which are between the same neighbours."""
    if one.words & other.words:
        return 2.0 if one.role is other.role else 1.0
    if one.role is not other.role or _have_other_ids(one, other):
        return 0.0
    if is_volatile(one) and is_volatile(other):
        return 1.5
    mine, its = ({word for words in each.words for word in words.split()} for each in (one, other))
    shared = len(mine & its) / len(mine | its) if mine and its else 0.0
    return shared if shared >= 1 / 3 else 0.0


def _have_other_ids(one: MergedElement, other: MergedElement) -> bool:
    return bool(one.ids and other.ids) and not one.ids & other.ids


def is_volatile(element: MergedElement) -> bool:
    """Whether its name differs between the trees of one build."""
    return len(element.names) > 1 or len(element.words) > 1


class MergedScreen:
    """A screen in one build: its elements, and what was seen when.

    `moments` has by run the number of the tree that was seen then, and `pictures` the keys of their pictures.
    `examples` has one thing that was seen of each tree.
    """

    def __init__(self, first: SeenScreen) -> None:
        self.root = read_tree(first.tree)
        self.examples = [first]
        self.moments: dict[Moment, dict[str, int]] = defaultdict(dict)
        self.pictures: dict[tuple[Moment, str], str] = {}
        self._numbers = {id(first.tree): 0}
        self._size = sum(1 for _ in self.root.walk())

    def add(self, seen: SeenScreen, moment: Moment) -> None:
        """Add what a run saw. It does not count if there are too many different trees or elements of this screen."""
        number = self._numbers.get(id(seen.tree))
        if number is None:
            if len(self.examples) >= TREES_LIMIT or self._size > MERGED_LIMIT:
                return
            number = self._numbers[id(seen.tree)] = len(self.examples)
            self.examples.append(seen)
            self._merge(read_tree(seen.tree, number), number)
        self.moments[moment][seen.run_id] = number
        if seen.picture:
            self.pictures[moment, seen.run_id] = seen.picture

    def _merge(self, tree: MergedElement, number: int) -> None:
        counterparts = align(tree, self.root)
        for each in tree.walk():
            place = counterparts.get(each)
            if place is None:
                place = self._insert(each, counterparts)
            sight = each.sights[number]
            parent = counterparts[each.parent] if each.parent is not None else None
            place.sights[number] = sight._replace(parent=parent)
            for mine, its in ((place.ids, each.ids), (place.names, each.names), (place.words, each.words)):
                if len(mine) < _NAMES_LIMIT:
                    mine |= its

    def _insert(self, each: MergedElement, counterparts: Pairs) -> MergedElement:
        """A new element, after the counterpart of the sibling before it."""
        assert each.parent is not None, "the root has a counterpart"  # noqa: S101
        parent = counterparts[each.parent]
        self._size += 1
        place = counterparts[each] = MergedElement(each.role, parent, each.scrolled, set(each.ids))
        siblings = each.parent.children
        before = (counterparts.get(one) for one in reversed(siblings[: siblings.index(each)]))
        previous = next((one for one in before if one is not None and one.parent is parent), None)
        parent.children.insert(parent.children.index(previous) + 1 if previous is not None else 0, place)
        return place

    def numbers(self, moments: Iterable[Moment]) -> set[int]:
        return {number for moment in moments for number in self.moments.get(moment, {}).values()}

    def runs_with(self, element: MergedElement, moment: Moment) -> set[str]:
        """The runs that saw the element at this moment."""
        return {run for run, number in self.moments.get(moment, {}).items() if number in element.sights}


def values_at(
    screen: MergedScreen, element: MergedElement, moment: Moment, value: Callable[[Element], Hashable]
) -> set[Hashable]:
    """What the runs saw of the element at this moment."""
    runs: Mapping[str, int] = screen.moments.get(moment, {})
    return {value(element.sights[number].element) for number in runs.values() if number in element.sights}


def size_of(tree: Element) -> tuple[int, int]:
    """The width and height of a screen in whole pixels."""
    return round(tree.bounds.width), round(tree.bounds.height)
