"""The changes of a screen's elements between two builds, from trees."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TypeAlias

from mobiletest_automation.screen.elements import NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.merged_screens import (
    MergedElement,
    MergedScreen,
    Moment,
    Pairs,
    Sight,
    align,
    is_volatile,
    size_of,
    values_at,
)

# So many runs of each build have to agree for a change to be certain.
RUNS_TO_BE_CERTAIN = 3
# Siblings whose order is compared.
_SIBLINGS_LIMIT = 100
# Trees of each build whose positions are compared.
_TREES_COMPARED = 4
# Shares of the screen's width and height that a place may differ without being another one.
_TOLERANCE = 0.06


@dataclass(slots=True)
class MatchedScreen:
    """A screen that both builds have. `moments` are those that both saw; `pairs` go from before to after.

    Where no moment is common, everything that was seen of the screen counts as one.
    """

    before: MergedScreen
    after: MergedScreen
    pairs: Pairs = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)
    sizes_agree: bool = True
    _steady: dict[MergedElement, list[Moment]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pairs = align(self.before.root, self.after.root)
        self.moments = [moment for moment in self.before.moments if moment in self.after.moments]
        here, there = ({size_of(seen.tree) for seen in screen.examples} for screen in (self.before, self.after))
        self.sizes_agree = bool(here & there)

    def steady_moments(self, element: MergedElement, *, after: bool) -> list[Moment]:
        """The common moments at which every run of its build saw the element; none if it comes and goes.

        Without common moments: those of the build, if the element is there at all of them.
        """
        if element not in self._steady:
            steady = _steady_moments(self.after if after else self.before, element)
            if self.moments:
                self._steady[element] = [each for each in steady if each in set(self.moments)]
            else:
                self._steady[element] = (
                    steady if len(steady) == len((self.after if after else self.before).moments) else []
                )
        return self._steady[element]

    def is_steady(self, one: MergedElement, other: MergedElement) -> bool:
        """Whether neither comes and goes within its build."""
        return bool(self.steady_moments(one, after=False)) and bool(self.steady_moments(other, after=True))

    def is_certain(self, moments: Iterable[Moment]) -> bool:
        """Whether enough runs of both builds saw the screen at these moments."""
        runs = [
            {run for moment in moments for run in screen.moments.get(moment, ())}
            for screen in (self.before, self.after)
        ]
        return self.sizes_agree and bool(self.moments) and all(len(each) >= RUNS_TO_BE_CERTAIN for each in runs)


@dataclass(frozen=True, slots=True)
class Missing:
    element: MergedElement
    certain: bool


def missing_elements(screen: MatchedScreen, *, added: bool) -> list[Missing]:
    """The outermost elements of one build that the other does not have, although it would have shown them."""
    here, there = (screen.after, screen.before) if added else (screen.before, screen.after)
    partners = {other: one for one, other in screen.pairs.items()} if added else screen.pairs
    missing: list[Missing] = []
    inside: set[MergedElement] = set()
    for each in here.root.walk():
        if each.parent in inside:
            inside.add(each)
        elif each not in partners:
            inside.add(each)
            if _has_likely_partner(each, partners):
                continue
            moments = screen.steady_moments(each, after=added)
            if moments and _would_be_seen(each, here, there, partners):
                missing.append(Missing(each, screen.is_certain(moments)))
    return missing


def _has_likely_partner(element: MergedElement, partners: Pairs) -> bool:
    """Whether it may be a volatile element of the other build, or a row of a list whose rows are data."""
    if element.parent is None or (counterpart := partners.get(element.parent)) is None:
        return False
    if element.role is Role.CELL and (_has_changing_rows(element.parent) or _has_changing_rows(counterpart)):
        return True
    taken = set(partners.values())
    return is_volatile(element) and any(
        other.role is element.role and other not in taken and (is_volatile(other) or not other.words)
        for other in counterpart.children
    )


def _steady_moments(screen: MergedScreen, element: MergedElement) -> list[Moment]:
    """The moments at which every run saw the element; none if at any moment only some did."""
    steady: list[Moment] = []
    for moment, runs in screen.moments.items():
        count = len(screen.runs_with(element, moment))
        if 0 < count < len(runs):
            return []
        if count:
            steady.append(moment)
    return steady


def _has_changing_rows(element: MergedElement) -> bool:
    """Whether its rows are data: some differ between the runs of a build, or are not there in each."""
    rows = [each for each in element.children if each.role is Role.CELL]
    return any(is_volatile(row) or len(row.sights) < len(element.sights) for row in rows)


def _would_be_seen(element: MergedElement, here: MergedScreen, there: MergedScreen, partners: Pairs) -> bool:
    """Whether the other build would have shown it: it may be scrolled out of a tree that lists only what is in view."""
    if not element.scrolled or element.sample().tag:
        return True
    number, sight = next(iter(element.sights.items()))
    siblings = _siblings(element, number)
    place = siblings.index(element)
    previous = next((partners[each] for each in reversed(siblings[:place]) if each in partners), None)
    following = next((partners[each] for each in siblings[place + 1 :] if each in partners), None)
    if previous is not None and following is not None:
        return bool(previous.sights.keys() & following.sights.keys())
    counterpart = partners.get(sight.parent) if sight.parent is not None else None
    if counterpart is None:
        return True
    height = sight.element.bounds.height
    return any(
        _has_room(there.examples[tree].tree, outer.element.bounds, previous, following, tree, height)
        for tree, outer in counterpart.sights.items()
    )


def _has_room(
    root: Element,
    outer: Bounds,
    previous: MergedElement | None,
    following: MergedElement | None,
    tree: int,
    height: float,
) -> bool:
    """Whether an element of this height would fit into the container where it was, or the container shrinks to fit."""
    shown = outer.intersection(root.bounds)
    if shown is None:
        return False
    ends_inside = outer.bottom < root.bounds.bottom - 1
    if previous is not None and tree in previous.sights:
        bottom = previous.sights[tree].element.bounds.bottom
        return shown.bottom - bottom >= height or (ends_inside and outer.bottom - bottom < height / 2)
    if following is not None and tree in following.sights:
        return following.sights[tree].element.bounds.y - shown.y >= height
    return previous is None and following is None and shown.height >= height


def _siblings(element: MergedElement, number: int) -> list[MergedElement]:
    """The element and its siblings in this tree, in order."""
    parent = element.sights[number].parent
    if parent is None:
        return [element]
    siblings = [each for each in parent.children if number in each.sights and each.sights[number].parent is parent]
    if element not in siblings:
        siblings.append(element)
    return sorted(siblings, key=lambda each: each.sights[number].position)


Pair: TypeAlias = tuple[MergedElement, MergedElement]


@dataclass(frozen=True, slots=True)
class Differing:
    """A pair with an example of it from each build, at the same moment if there is a common one."""

    one: MergedElement
    other: MergedElement
    before: Sight
    after: Sight
    certain: bool


def differing_elements(
    screen: MatchedScreen, value: Callable[[Element], Hashable], *, may_alternate: bool = False
) -> list[Differing]:
    """The pairs with another value at a moment at which every run of a build saw the same one.

    Those are left out whose value differs between the runs of one build, and, unless they may alternate, those whose
    new value the build before had at other moments.
    """
    steady = [pair for pair in screen.pairs.items() if screen.is_steady(*pair)]
    differing = (_differ(screen, pair, value, may_alternate=may_alternate) for pair in steady)
    return [each for each in differing if each is not None]


def _differ(
    screen: MatchedScreen, pair: Pair, value: Callable[[Element], Hashable], *, may_alternate: bool
) -> Differing | None:
    one, other = pair
    if len({value(sight.element) for each in pair for sight in each.sights.values()}) < 2:
        return None
    before, after = (
        {moment: values_at(build, each, moment, value) for moment in build.moments}
        for build, each in ((screen.before, one), (screen.after, other))
    )
    if any(len(values) > 1 for values in (*before.values(), *after.values())):
        return None
    all_before, all_after = (set().union(*values.values()) for values in (before, after))
    if not screen.moments and (len(all_before), len(all_after)) != (1, 1):
        return None
    moments = [each for each in screen.moments if before[each] and after[each] and before[each] != after[each]]
    if not may_alternate and moments:
        moments = [each for each in moments if not after[each] & all_before and not before[each] & all_after]
    if screen.moments and not moments:
        return None
    sights = _sights_at(screen.before, one, moments), _sights_at(screen.after, other, moments)
    return Differing(one, other, sights[0][0], sights[1][0], screen.is_certain(moments))


def _sights_at(screen: MergedScreen, element: MergedElement, moments: list[Moment]) -> list[Sight]:
    """Where it was seen at the first of these moments; without moments, everywhere."""
    numbers = sorted(screen.numbers(moments[:1])) if moments else list(element.sights)
    return [element.sights[number] for number in numbers if number in element.sights]


def moved_elements(screen: MatchedScreen) -> list[Differing]:
    """The pairs in another container, at another place among their siblings, or elsewhere between the same ones."""
    partners = {other: one for one, other in screen.pairs.items()}
    pairs = {
        one: other
        for one, other in screen.pairs.items()
        if screen.is_steady(one, other) and (one.ids & other.ids or not (is_volatile(one) or is_volatile(other)))
    }
    moved = {one: other for one, other in pairs.items() if _has_other_container(screen.pairs, partners, one, other)}
    for parent in pairs:
        moved.update({one: screen.pairs[one] for one in _reordered(pairs, parent, moved)})
    for one, other in pairs.items():
        if one not in moved and not {one.parent, *one.children} & moved.keys() and _is_elsewhere(screen, one, other):
            moved[one] = other
    certain = screen.is_certain(screen.moments)
    return [
        Differing(one, other, next(iter(one.sights.values())), next(iter(other.sights.values())), certain)
        for one, other in moved.items()
    ]


def _has_other_container(pairs: Pairs, partners: Pairs, one: MergedElement, other: MergedElement) -> bool:
    """Whether it is always in one container, and in another one than before, which both builds have."""
    here = {sight.parent for sight in one.sights.values()}
    there = {sight.parent for sight in other.sights.values()}
    if len(here) != 1 or len(there) != 1:
        return False
    before, after = here.pop(), there.pop()
    return before in pairs and after in partners and pairs[before] is not after


def _reordered(steady: Pairs, parent: MergedElement, moved: Pairs) -> list[MergedElement]:
    """The fewest children whose removal leaves the others in the order of the build before.

    Those whose order differs between the runs of one build have none, nor have the rows of a list with such a row.
    """
    pairs = [(one, steady[one]) for one in parent.children if one in steady and one not in moved]
    pairs = [pair for pair in islice(pairs, _SIBLINGS_LIMIT) if pair[1].parent is steady[parent]]
    inversions: dict[MergedElement, set[MergedElement]] = defaultdict(set)
    unordered: set[MergedElement] = set()
    for (one, other), (next_one, next_other) in combinations(pairs, 2):
        before, after = _orders(one, next_one), _orders(other, next_other)
        if len(before) > 1 or len(after) > 1:
            unordered |= {one, next_one}
        elif before and after and before != after:
            inversions[one].add(next_one)
            inversions[next_one].add(one)
    has_data = _has_changing_rows(parent) or _has_changing_rows(steady[parent])
    if has_data or any(each.role is Role.CELL for each in unordered):
        unordered |= {one for one, _ in pairs if one.role is Role.CELL}
    for each in unordered:
        for other in inversions.pop(each, ()):
            inversions[other].discard(each)
    reordered: list[MergedElement] = []
    while any(inversions.values()):
        most = max(inversions, key=lambda each: len(inversions[each]))
        reordered.append(most)
        for each in inversions.pop(most):
            inversions[each].discard(most)
    return reordered


def _orders(one: MergedElement, other: MergedElement) -> set[bool]:
    """Whether one is before the other, in the trees that have both."""
    return {one.sights[each].position < other.sights[each].position for each in one.sights.keys() & other.sights.keys()}


def _is_elsewhere(screen: MatchedScreen, one: MergedElement, other: MergedElement) -> bool:
    """Whether it keeps its distance to no neighbour while these stay in place, on screens of the same size."""
    compared = 0
    for number in islice(one.sights, _TREES_COMPARED):
        for there in islice(other.sights, _TREES_COMPARED):
            if size_of(screen.before.examples[number].tree) != size_of(screen.after.examples[there].tree):
                continue
            if (anchors := _anchors(screen, one, number, other, there)) is None:
                return False
            compared += 1
            size = screen.before.examples[number].tree.bounds
            if not _keep_together(anchors, size) or _keeps_place(
                one.sights[number].element.bounds, other.sights[there].element.bounds, anchors, size
            ):
                return False
    return compared > 0


def _anchors(
    screen: MatchedScreen, one: MergedElement, number: int, other: MergedElement, there: int
) -> list[tuple[Bounds, Bounds]] | None:
    """The bounds of the container and the two neighbours, before and after; None if those are not the same ones."""
    before, after = _neighbours(one, number), _neighbours(other, there)
    anchors = []
    for mine, its in zip(before, after, strict=True):
        if (mine is None) is not (its is None) or (mine is not None and screen.pairs.get(mine) is not its):
            return None
        if mine is not None and its is not None:
            boxes = mine.sights[number].element.bounds, its.sights[there].element.bounds
            if NOWHERE in boxes:
                return None
            anchors.append(boxes)
    return anchors or None


def _neighbours(element: MergedElement, number: int) -> tuple[MergedElement | None, ...]:
    siblings = _siblings(element, number)
    place = siblings.index(element)
    previous = siblings[place - 1] if place else None
    following = siblings[place + 1] if place + 1 < len(siblings) else None
    return element.sights[number].parent, previous, following


def _keep_together(anchors: list[tuple[Bounds, Bounds]], size: Bounds) -> bool:
    """Whether the container and the neighbours keep their places to each other: else the layout has flowed anew."""
    (before, after), *others = anchors
    return all(
        abs((mine.x - before.x) - (its.x - after.x)) <= _TOLERANCE * size.width
        and abs((mine.y - before.y) - (its.y - after.y)) <= _TOLERANCE * size.height
        for mine, its in others
    )


def _keeps_place(before: Bounds, after: Bounds, anchors: list[tuple[Bounds, Bounds]], size: Bounds) -> bool:
    if NOWHERE in (before, after):
        return True
    across = any(
        _keeps_distance(
            (before.x, before.right), (after.x, after.right), (mine.x, mine.right), (its.x, its.right), size.width
        )
        for mine, its in anchors
    )
    down = any(
        _keeps_distance(
            (before.y, before.bottom), (after.y, after.bottom), (mine.y, mine.bottom), (its.y, its.bottom), size.height
        )
        for mine, its in anchors
    )
    return across and down


_Span: TypeAlias = tuple[float, float]


def _keeps_distance(before: _Span, after: _Span, mine: _Span, its: _Span, size: float) -> bool:
    """Whether an edge or the middle keeps its distance to an edge or the middle of the neighbour."""
    return any(
        abs((_point(before, own) - _point(mine, edge)) - (_point(after, own) - _point(its, edge))) <= _TOLERANCE * size
        for own in (0.0, 0.5, 1.0)
        for edge in (0.0, 0.5, 1.0)
    )


def _point(span: _Span, share: float) -> float:
    return span[0] + (span[1] - span[0]) * share
