"""Elements that look different in the pictures of two builds."""

from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import TypeAlias

from PIL import Image

from mobiletest_automation.screen.changes import ReadPicture
from mobiletest_automation.screen.element_changes import Differing, MatchedScreen
from mobiletest_automation.screen.element_pixels import crop_element, has_other_height, looks_different, open_picture
from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.merged_screens import (
    MergedElement,
    MergedScreen,
    Moment,
    Sight,
    is_volatile,
    shown_name,
    size_of,
)

# Moments whose pictures are compared, and pictures of each build at a moment.
MOMENTS_LIMIT = 6
PICTURES_LIMIT = 3
# Elements of a screen whose looks are compared.
ELEMENTS_LIMIT = 400
# So many pictures of each build have to agree for a change to be certain.
_PICTURES_TO_BE_CERTAIN = 2
_CONTAINERS = frozenset({Role.SCREEN, Role.CELL, Role.LIST, Role.DIALOG, Role.PROGRESS})


@dataclass(frozen=True, slots=True, eq=False)
class _Shot:
    """A picture of a screen, and the number of the tree that was read with it."""

    number: int
    root: Element
    picture: Image.Image


@dataclass(frozen=True, slots=True)
class _Look:
    sight: Sight
    pixels: Image.Image


_Shots: TypeAlias = tuple[list[_Shot], list[_Shot]]


def restyled_elements(screen: MatchedScreen, read_picture: ReadPicture) -> list[Differing]:
    """The pairs with the same texts and state that look different in every two pictures of both builds.

    Only at moments that both saw on screens of the same size, and where nothing covers the element. What looks
    different within one build is left out.
    """
    steady = (pair for pair in screen.pairs.items() if all(map(_has_looks, pair)) and screen.is_steady(*pair))
    undecided = dict(islice(steady, ELEMENTS_LIMIT))
    restyled: dict[MergedElement, Differing] = {}
    for moment in islice(_moments_with_pictures(screen), MOMENTS_LIMIT):
        shots = _comparable_shots(screen, moment, read_picture)
        for one, other in list(undecided.items()):
            looks = _looks(one, shots[0]), _looks(other, shots[1])
            different = _are_different(*looks)
            if different is False:
                restyled.pop(one, None)
                del undecided[one]
            elif different and one not in restyled:
                enough = all(len(each) >= _PICTURES_TO_BE_CERTAIN for each in looks)
                certain = enough and screen.is_certain([moment])
                restyled[one] = Differing(one, other, looks[0][0].sight, looks[1][0].sight, certain)
    return list(restyled.values())


def _has_looks(element: MergedElement) -> bool:
    if element.role in _CONTAINERS or is_volatile(element):
        return False
    return not element.children or element.sample().tappable


def _moments_with_pictures(screen: MatchedScreen) -> list[Moment]:
    """Those whose pictures may differ: a picture that both builds have shows that nothing does."""
    here, there = (_pictures_by_moment(each) for each in (screen.before, screen.after))
    return [moment for moment in screen.moments if here.get(moment) and there.get(moment)]


def _pictures_by_moment(screen: MergedScreen) -> dict[Moment, set[str]]:
    keys: dict[Moment, set[str]] = {}
    for (moment, _), key in screen.pictures.items():
        keys.setdefault(moment, set()).add(key)
    return keys


def _comparable_shots(screen: MatchedScreen, moment: Moment, read_picture: ReadPicture) -> _Shots:
    """Pictures of screens of the same size."""
    builds = screen.before, screen.after
    sizes = [{size_of(each.examples[number].tree) for number in each.moments[moment].values()} for each in builds]
    size = min(sizes[0] & sizes[1], default=None)
    here, there = (_shots(each, moment, size, read_picture) if size else [] for each in builds)
    return here, there


def _shots(screen: MergedScreen, moment: Moment, size: tuple[int, int], read_picture: ReadPicture) -> list[_Shot]:
    pictures = [
        (number, screen.examples[number].tree, key)
        for run, number in screen.moments[moment].items()
        if (key := screen.pictures.get((moment, run))) and size_of(screen.examples[number].tree) == size
    ]
    shots: list[_Shot] = []
    for number, root, key in islice(pictures, PICTURES_LIMIT):
        content = read_picture(key)
        picture = open_picture(content) if content is not None else None
        if picture is not None:
            shots.append(_Shot(number, root, picture))
    return shots


def _looks(element: MergedElement, shots: list[_Shot]) -> list[_Look]:
    looks: list[_Look] = []
    for shot in shots:
        sight = element.sights.get(shot.number)
        if sight is None or not sight.element.visible or _is_covered(sight):
            continue
        pixels = crop_element(shot.picture, shot.root.bounds, sight.element)
        if pixels is not None:
            looks.append(_Look(sight, pixels))
    return looks


def _is_covered(sight: Sight) -> bool:
    """Whether something else lies over it, or under a part of it."""
    box = sight.element.bounds
    inside = set(walk(sight.element))
    later = False
    for each in walk(sight.root):
        if each is sight.element:
            later = True
        elif each.visible and each not in inside and (overlap := each.bounds.intersection(box)) is not None:
            whole = overlap == box and not later
            if not whole and min(overlap.width, overlap.height) > 2:
                return True
    return False


def _are_different(before: list[_Look], after: list[_Look]) -> bool | None:
    """None if it is not known: something else than the looks differs, or there is no picture."""
    pairs = [pair for pair in product(before, after) if _state(pair[0].sight) == _state(pair[1].sight)]
    answers = [_differ(*pair) for pair in pairs]
    if not answers or None in answers:
        return None
    if not all(answers):
        return False
    return not any(_differ(*pair) for build in (before, after) for pair in combinations(build, 2))


def _differ(one: _Look, other: _Look) -> bool | None:
    """None if it may only have other line ends or neighbours: it is narrower and higher, or beside something else."""
    before, after = one.sight.element.bounds, other.sight.element.bounds
    resized = has_other_height(before, after, one.sight.root.bounds)
    if resized and ((before.width - after.width) * (before.height - after.height) < 0 or before.x != after.x):
        return None
    alone = not _has_neighbour(one.sight) and not _has_neighbour(other.sight)
    return (resized and alone) or looks_different(one.pixels, other.pixels)


def _has_neighbour(sight: Sight) -> bool:
    """Whether something is beside it, around which the layout may have stretched it."""
    box = sight.element.bounds
    return any(
        min(each.bounds.bottom, box.bottom) - max(each.bounds.y, box.y) > 2
        and (each.bounds.x >= box.right - 1 or each.bounds.right <= box.x + 1)
        for each in walk(sight.root)
        if each.visible
    )


def _state(sight: Sight) -> tuple[object, ...]:
    """Everything but the style that a picture shows of it."""
    return tuple(
        (each.role, shown_name(each), each.text, each.enabled, each.checked, each.selected, each.focused)
        for each in walk(sight.element)
    )
