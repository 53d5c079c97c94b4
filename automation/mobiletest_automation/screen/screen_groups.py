"""Groups what was seen by the screen that it shows, in both builds at once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from mobiletest_automation.screen.changes import SeenScreen
from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.fingerprint import (
    ScreenFingerprint,
    fingerprint_of,
    id_shape,
    own_id,
    title_words,
)
from mobiletest_automation.screen.merged_screens import MergedElement, Moment, read_tree

# Screens that are told apart; what is seen of more is not compared.
GROUPS_LIMIT = 500
# The share of what two screens have, by weight, that is the same on screens of one title ...
_WITH_TITLE = 0.2
# ... on screens whose title differs ...
_WITHOUT_TITLE = 0.7
# ... and on screens that were seen at the same step.
_AT_STEP = 0.4
_ROWS = frozenset({Role.CELL, Role.LIST})


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """What was seen, when, and in which build."""

    seen: SeenScreen
    moment: Moment
    after: bool


@dataclass(slots=True, eq=False)
class ScreenGroup:
    """What shows one screen. `tokens` are what all of it has in common or some of it has."""

    title: str
    tokens: set[str]
    sightings: list[Sighting] = field(default_factory=list)

    def of_build(self, *, after: bool) -> list[Sighting]:
        return [each for each in self.sightings if each.after is after]

    @property
    def moments(self) -> set[Moment]:
        return {each.moment for each in self.sightings}

    def absorb(self, other: "ScreenGroup") -> None:
        self.sightings += other.sightings
        self.tokens |= other.tokens
        self.title = self.title or other.title


def group_screens(sightings: Iterable[Sighting]) -> list[ScreenGroup]:
    """The screens that both builds saw, the most frequent first; of both builds if they are in a group."""
    alike: dict[tuple[str, ScreenFingerprint], ScreenGroup] = {}
    fingerprints: dict[int, tuple[str, ScreenFingerprint]] = {}
    for each in sightings:
        key = fingerprints.get(id(each.seen.tree))
        if key is None:
            key = fingerprints[id(each.seen.tree)] = _key(each.seen.tree)
        if key not in alike:
            alike[key] = ScreenGroup(key[0], _tokens(each.seen.tree))
        alike[key].sightings.append(each)
    weights = _weights(alike.values())
    groups: list[ScreenGroup] = []
    for group in sorted(alike.values(), key=lambda each: -len(each.sightings)):
        same = max(groups, key=lambda each: _score(each, group, weights), default=None)
        if same is not None and _score(same, group, weights) > 0:
            same.absorb(group)
        elif len(groups) < GROUPS_LIMIT:
            groups.append(group)
    return _join_across_builds(groups, weights)


def _key(tree: Element) -> tuple[str, ScreenFingerprint]:
    return title_of(tree), fingerprint_of(tree)


def title_of(tree: Element) -> str:
    """The words of its heading or title bar, or of the page's title; empty if it has none."""
    titles = (title_words(each) for each in walk(tree) if each.visible)
    return next(filter(None, titles), "")


def _tokens(tree: Element) -> set[str]:
    tokens = {_token(each) for each in read_tree(tree).walk()}
    if url := tree.attributes.get("url", ""):
        tokens.add(f"url|{id_shape(url.partition('?')[0].rstrip('/'))}")
    return tokens - {""}


def _token(element: MergedElement) -> str:
    """What says which screen it is on: an id, or a name that is not in a row of a list."""
    sight = element.sample()
    if shape := id_shape(own_id(sight)):
        return f"{element.role}#{shape}"
    above = element
    while above.parent is not None:
        if above.role in _ROWS:
            return str(element.role)
        above = above.parent
    return f"{element.role}|{min(element.words)}" if element.words else ""


def _weights(groups: Iterable[ScreenGroup]) -> dict[str, float]:
    """Less for what is on screens with many titles, such as tabs."""
    titles: dict[str, set[str]] = defaultdict(set)
    for group in groups:
        for token in group.tokens:
            titles[token].add(group.title)
    return {token: 1 / len(every) for token, every in titles.items()}


def _score(one: ScreenGroup, other: ScreenGroup, weights: dict[str, float]) -> float:
    """Above 0 if both are the same screen."""
    same_title = bool(one.title) and one.title == other.title
    share = _overlap(one.tokens, other.tokens, weights)
    return share if share >= (_WITH_TITLE if same_title else _WITHOUT_TITLE) else 0.0


def _overlap(one: set[str], other: set[str], weights: dict[str, float]) -> float:
    shared, smaller = one & other, one if len(one) <= len(other) else other
    whole = sum(weights[token] for token in smaller)
    return sum(weights[token] for token in shared) / whole if whole else 0.0


def _join_across_builds(groups: list[ScreenGroup], weights: dict[str, float]) -> list[ScreenGroup]:
    """Join what only the build before has with what only the build after has, if both were seen at the same steps."""
    only = [[each for each in groups if {one.after for one in each.sightings} == {after}] for after in (False, True)]
    scored = [
        (_overlap(one.tokens, other.tokens, weights), one, other)
        for one in only[0]
        for other in only[1]
        if one.moments & other.moments
    ]
    joined: set[ScreenGroup] = set()
    for share, one, other in sorted(scored, key=lambda each: -each[0]):
        if share >= _AT_STEP and not joined & {one, other}:
            one.absorb(other)
            joined |= {one, other}
            groups.remove(other)
    return groups
