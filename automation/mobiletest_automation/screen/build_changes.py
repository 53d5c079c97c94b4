"""Compares the screens that the runs of two builds saw."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from mobiletest_automation.screen.changes import (
    COMES_AND_GOES,
    NOT_REACHED,
    ElementChange,
    ElementChangeKind,
    ReadPicture,
    ScreenChange,
    ScreenChangeKind,
    SeenScreen,
    identity_name,
)
from mobiletest_automation.screen.element_changes import (
    RUNS_TO_BE_CERTAIN,
    Differing,
    MatchedScreen,
    differing_elements,
    missing_elements,
    moved_elements,
)
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.fingerprint import id_shape, own_id, title_words
from mobiletest_automation.screen.identity import ElementIdentity, identity_of
from mobiletest_automation.screen.merged_screens import MergedScreen, Moment, Sight, shown_name, stable_name
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.screen_groups import Sighting, group_screens
from mobiletest_automation.screen.style_changes import restyled_elements

# Changes that are listed for a screen.
CHANGES_LIMIT = 200


def compare_builds(
    before: Iterable[SeenScreen], after: Iterable[SeenScreen], read_picture: ReadPicture | None = None
) -> list[ScreenChange]:
    """What changed on the screens from one build to the next, as far as it is known.

    What differs between the runs of one build is no change, nor is another number, date or time in a text. Takes
    seconds for a thousand screens: call it in a thread. Pictures are read for screens that both builds saw at the
    same step; without `read_picture` nothing is restyled.
    """
    journeys = _Journey(before), _Journey(after)
    sightings = (
        Sighting(seen, moment, after=place == 1)
        for place, journey in enumerate(journeys)
        for seen, moment in journey.seen
    )
    changes: list[ScreenChange] = []
    for group in group_screens(sightings):
        here, there = (_merge(group.of_build(after=place)) for place in (False, True))
        if here is not None and there is not None:
            changes += _compare(MatchedScreen(here, there), read_picture)
        elif there is not None:
            changes.append(_compare_presence(there, journeys[1], journeys[0], ScreenChangeKind.NEW))
        elif here is not None:
            changes.append(_compare_presence(here, journeys[0], journeys[1], ScreenChangeKind.GONE))
    return changes


@dataclass(slots=True)
class _Route:
    """How far a run of a test has come: `path` is a hash of the steps until now with their indices."""

    path: int = 0
    times: Counter[str] = field(default_factory=Counter)


class _Journey:
    """What the runs of a build saw, and where they came."""

    def __init__(self, screens: Iterable[SeenScreen]) -> None:
        self.seen: list[tuple[SeenScreen, Moment]] = []
        # The runs that reached a moment, and those that came to a step on a path.
        self.reached: dict[Moment, set[str]] = defaultdict(set)
        self.came_by: dict[int, set[str]] = defaultdict(set)
        # The paths on which runs came to a moment.
        self.paths: dict[Moment, set[int]] = defaultdict(set)
        routes: dict[tuple[str, str], _Route] = defaultdict(_Route)
        trees: dict[int, Element] = {}
        for seen in screens:
            route = routes[seen.run_id, seen.test]
            route.path = hash((route.path, seen.test, seen.step, seen.step_index))
            moment = Moment(seen.test, seen.step, route.times[seen.step])
            route.times[seen.step] += 1
            self.reached[moment].add(seen.run_id)
            self.came_by[route.path].add(seen.run_id)
            self.paths[moment].add(route.path)
            self.seen.append((_share_tree(seen, trees), moment))


def _share_tree(seen: SeenScreen, trees: dict[int, Element]) -> SeenScreen:
    """With the tree that was seen first of those that are equal."""
    state = hash(
        tuple(
            (each.role, each.text, each.label, each.id, each.bounds, each.enabled, each.visible, len(each.children))
            for each in walk(seen.tree)
        )
    )
    return replace(seen, tree=trees.setdefault(state, seen.tree))


def _merge(sightings: list[Sighting]) -> MergedScreen | None:
    if not sightings:
        return None
    merged = MergedScreen(sightings[0].seen)
    for each in sightings:
        merged.add(each.seen, each.moment)
    return merged


def _compare_presence(screen: MergedScreen, own: _Journey, other: _Journey, kind: ScreenChangeKind) -> ScreenChange:
    """The screen is new or gone if every run saw it at some moment, and runs of the other build did not see it there.

    Those must have come there by the same steps: else another test was run, or the test was changed, and it is not
    known.
    """
    steady = [moment for moment, runs in screen.moments.items() if runs.keys() == own.reached[moment]]
    runs = {run for moment in steady for run in screen.moments[moment]}
    passed = {run for moment in steady for path in own.paths[moment] for run in other.came_by.get(path, ())}
    reason = "" if passed else NOT_REACHED if steady else COMES_AND_GOES
    example = screen.examples[0]
    before, after = (example, None) if kind is ScreenChangeKind.GONE else (None, example)
    return ScreenChange(
        kind=ScreenChangeKind.UNKNOWN if reason else kind,
        name=screen_name(example.tree),
        certain=min(len(runs), len(passed)) >= RUNS_TO_BE_CERTAIN,
        before=before,
        after=after,
        reason=reason,
    )


def screen_name(tree: Element) -> str:
    """Its title as a person reads it, or else the screen's id or the name of its first element."""
    named = (each for each in walk(tree) if each.visible and title_words(each))
    title = next(named, None)
    if title is not None and (name := next(filter(None, map(shown_name, walk(title))), "")):
        return name
    return tree.label or own_id(tree) or next(filter(None, map(shown_name, walk(tree))), "") or "screen without a name"


def _compare(screen: MatchedScreen, read_picture: ReadPicture | None) -> list[ScreenChange]:
    changes = _element_changes(screen, read_picture)
    if not changes:
        return []
    before, after = screen.before.examples[0], screen.after.examples[0]
    return [
        ScreenChange(
            kind=ScreenChangeKind.CHANGED,
            name=screen_name(after.tree),
            certain=any(each.certain for each in changes),
            before=before,
            after=after,
            elements=tuple(islice(changes, CHANGES_LIMIT)),
        )
    ]


_VALUES: dict[ElementChangeKind, Callable[[Element], Hashable]] = {
    ElementChangeKind.RENAMED: stable_name,
    ElementChangeKind.ROLE_CHANGED: lambda element: element.role,
    ElementChangeKind.ID_CHANGED: lambda element: id_shape(own_id(element)),
    ElementChangeKind.DISABLED: lambda element: element.enabled,
}


def _element_changes(screen: MatchedScreen, read_picture: ReadPicture | None) -> list[ElementChange]:
    identities = _Identities()
    changes = [
        *_missing(screen, identities, ElementChangeKind.GONE),
        *_missing(screen, identities, ElementChangeKind.ADDED),
    ]
    for kind, value in _VALUES.items():
        may_alternate = kind is ElementChangeKind.DISABLED
        changes += _changes_of(kind, differing_elements(screen, value, may_alternate=may_alternate), identities)
    changes += _changes_of(ElementChangeKind.MOVED, moved_elements(screen), identities)
    if read_picture is not None:
        changes += _changes_of(ElementChangeKind.RESTYLED, restyled_elements(screen, read_picture), identities)
    return _by_row(changes)


def _missing(screen: MatchedScreen, identities: "_Identities", kind: ElementChangeKind) -> Iterator[ElementChange]:
    added = kind is ElementChangeKind.ADDED
    for each in missing_elements(screen, added=added):
        identity = identities.of(next(iter(each.element.sights.values())))
        before, after = (None, identity) if added else (identity, None)
        name, certain = identity_name(identity), each.certain
        yield ElementChange(kind=kind, role=identity.role, name=name, certain=certain, before=before, after=after)


def _changes_of(
    kind: ElementChangeKind, differing: list[Differing], identities: "_Identities"
) -> Iterator[ElementChange]:
    """Without the text in a button that has changed as the button itself."""
    every = {each.one for each in differing}
    for each in differing:
        if each.one.parent is None or (each.one.parent in every and kind is not ElementChangeKind.MOVED):
            continue
        if not _counts(kind, each.before.element, each.after.element):
            continue
        before, after = identities.of(each.before), identities.of(each.after)
        switched_on = kind is ElementChangeKind.DISABLED and each.after.element.enabled
        yield ElementChange(
            kind=ElementChangeKind.ENABLED if switched_on else kind,
            role=before.role,
            name=identity_name(before),
            certain=each.certain,
            before=before,
            after=after,
        )


def _counts(kind: ElementChangeKind, before: Element, after: Element) -> bool:
    """A name that is only a number is data, and an element that had no id has not got another one."""
    if kind is ElementChangeKind.RENAMED:
        return not {stable_name(before), stable_name(after)} & {"", "0"}
    return kind is not ElementChangeKind.ID_CHANGED or all(id_shape(own_id(each)) for each in (before, after))


def _by_row(changes: list[ElementChange]) -> list[ElementChange]:
    """One change instead of the same one in every row of a list."""
    rows: dict[Hashable, ElementChange] = {}
    for place, change in enumerate(changes):
        identity = change.before or change.after
        in_row = identity is not None and "cell[" in identity.path
        names = tuple(each and (each.words, each.id) for each in (change.before, change.after))
        key: Hashable = (change.kind, change.role, change.certain, names) if in_row else place
        rows[key] = replace(change, count=rows[key].count + 1) if key in rows else change
    return list(rows.values())


class _Identities:
    """The identities of elements, with an outline for each tree."""

    def __init__(self) -> None:
        self._outlines: dict[int, Outline] = {}

    def of(self, sight: Sight) -> ElementIdentity:
        outline = self._outlines.setdefault(id(sight.root), Outline(sight.root))
        return identity_of(sight.element, outline)
