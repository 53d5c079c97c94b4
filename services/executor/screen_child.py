"""Lists and compares the screens of builds, in a child process of `screen_pool`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias

from mobiletest.executor.v1 import runs_pb2
from mobiletest.executor.v1 import screens_pb2 as pb

from mobiletest_automation.screen.build_changes import compare_builds, screen_name
from mobiletest_automation.screen.changes import (
    ElementChange,
    ElementChangeKind,
    ScreenChange,
    ScreenChangeKind,
    SeenScreen,
    describe,
    summarize,
)
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.identity import ElementIdentity, as_bound
from mobiletest_automation.screen.merged_screens import Moment
from mobiletest_automation.screen.screen_groups import ScreenGroup, Sighting, group_screens
from mobiletest_automation.screen.stored_trees import UnreadableTree, decode_tree
from services.chassis.packed_parts import pack, unpack
from services.chassis.proto_values import to_enum_number, to_timestamp
from services.executor.messages import bound_element_proto, screen_url
from services.executor.model.build_screens import TEXT_LIMIT, SeenRuns, SeenStep, trees_in_turn

# Elements of all trees that are read.
ELEMENTS_LIMIT = 100_000
# Pictures that are asked for.
PICTURES_LIMIT = 200
SCREENS_LIMIT = 200
ELEMENTS_OF_SCREEN = 50
ELEMENTS_OF_ALL = 1_000
STEPS_LIMIT = 20

_ORDER = (ScreenChangeKind.NEW, ScreenChangeKind.GONE, ScreenChangeKind.CHANGED, ScreenChangeKind.UNKNOWN)
_Steps: TypeAlias = Mapping[tuple[str, int], SeenStep]


def answer(request: bytes) -> bytes:
    """The hashes of the pictures that are needed, and the message; the request is one of `screen_pool`."""
    header, contents = unpack(request)
    sides = [_runs(side) for side in header["sides"]]
    blobs = dict(zip(header["blobs"], contents, strict=True))
    trees = _decode(trees_in_turn(sides), blobs)
    notices = [*header["notices"], *_unread(sides, trees)]
    if not header["ids"]:
        return pack([], [_list(sides[0], trees, notices).SerializeToString()])
    wanted: dict[str, None] = {}

    def ask(picture: str) -> None:
        wanted[picture] = None

    read: Callable[[str], bytes | None] = blobs.get if header["with_pictures"] else ask
    comparison = _compare(sides, header["ids"], trees, read)
    comparison.notice = " ".join(notices)
    return pack(list(islice(wanted, PICTURES_LIMIT)), [comparison.SerializeToString()])


def _runs(fields: Mapping[str, Any]) -> SeenRuns:
    steps = [SeenStep(**{**step, "seen_at": datetime.fromisoformat(step["seen_at"])}) for step in fields["steps"]]
    return SeenRuns(**{**fields, "steps": steps})


def _decode(names: Iterable[str], blobs: Mapping[str, bytes]) -> dict[str, Element]:
    """The trees that can be read, until there are too many elements."""
    trees: dict[str, Element] = {}
    elements = 0
    for name in names:
        try:
            tree = decode_tree(blobs.get(name, b""))
        except UnreadableTree:
            continue
        elements += sum(1 for _ in walk(tree))
        if elements > ELEMENTS_LIMIT:
            break
        trees[name] = tree
    return trees


def _unread(sides: Iterable[SeenRuns], trees: Mapping[str, Element]) -> Iterator[str]:
    steps = [step for side in sides for step in side.steps]
    if unread := sum(step.tree not in trees for step in steps):
        yield f"{unread} of {len(steps)} kept screens were not read: they are deleted, damaged or too many."


def _seen(side: SeenRuns, trees: Mapping[str, Element]) -> Iterator[SeenScreen]:
    """What can be read, the first step of a run first."""
    for step in sorted(side.steps, key=lambda each: each.step_index):
        if step.tree in trees:
            yield SeenScreen(trees[step.tree], step.run_id, step.test, step.step_key, step.step_index, step.picture)


def _steps(sides: Iterable[SeenRuns]) -> dict[tuple[str, int], SeenStep]:
    return {(step.run_id, step.step_index): step for side in sides for step in side.steps}


def _list(side: SeenRuns, trees: Mapping[str, Element], notices: Sequence[str]) -> pb.ListScreensResponse:
    steps = _steps([side])
    seen = (Sighting(each, Moment(each.test, each.step), after=False) for each in _seen(side, trees))
    items = [_app_screen(group, steps) for group in group_screens(seen)]
    items.sort(key=lambda each: (-each.runs, each.title))
    return pb.ListScreensResponse(items=items, runs=side.runs, notice=" ".join(notices))


def _app_screen(group: ScreenGroup, steps: _Steps) -> pb.AppScreen:
    seen = [(steps[each.seen.run_id, each.seen.step_index], each.seen) for each in group.sightings]
    newest, example = max(seen, key=lambda pair: (pair[0].seen_at, bool(pair[0].picture)))
    fingerprints = Counter(step.fingerprint for step, _ in seen)
    places = Counter((step.test_id, step.test_name, step.step_index, step.step) for step, _ in seen)
    return pb.AppScreen(
        fingerprint=fingerprints.most_common(1)[0][0],
        title=screen_name(example.tree)[:TEXT_LIMIT],
        example=_seen_screen(newest),
        runs=len({step.run_id for step, _ in seen}),
        first_seen_at=to_timestamp(min(step.seen_at for step, _ in seen)),
        last_seen_at=to_timestamp(newest.seen_at),
        steps=[_step_proto(*place) for place, _ in places.most_common(STEPS_LIMIT)],
    )


def _step_proto(test_id: str, test_name: str, step_index: int, step: str) -> pb.ScreenStep:
    return pb.ScreenStep(test_id=test_id, test_name=test_name, step_index=step_index, step=step)


def _seen_screen(step: SeenStep) -> pb.SeenScreen:
    return pb.SeenScreen(
        execution_id=step.execution_id,
        run_id=step.run_id,
        step=_step_proto(step.test_id, step.test_name, step.step_index, step.step),
        tree=step.tree,
        tree_url=screen_url(step.tree),
        picture=step.picture,
        picture_url=screen_url(step.picture),
        simulated=step.simulated,
    )


def _compare(
    sides: Sequence[SeenRuns],
    ids: Sequence[str],
    trees: Mapping[str, Element],
    read_picture: Callable[[str], bytes | None],
) -> pb.ScreenComparison:
    before, after = ([*_seen(side, trees)] for side in sides)
    changes = compare_builds(before, after, read_picture)
    changes.sort(key=lambda change: (_ORDER.index(change.kind), not change.certain))
    kinds = Counter(change.kind for change in changes)
    base, build = (
        pb.ComparedScreens(build_id=name, version=side.version, runs=side.runs, screens=len(seen))
        for name, side, seen in zip(ids, sides, (before, after), strict=True)
    )
    return pb.ScreenComparison(
        build=build,
        base=base,
        new=kinds[ScreenChangeKind.NEW],
        gone=kinds[ScreenChangeKind.GONE],
        changed=kinds[ScreenChangeKind.CHANGED],
        unknown=kinds[ScreenChangeKind.UNKNOWN],
        screens=_screen_changes(changes[:SCREENS_LIMIT], _steps(sides)),
        summary=summarize(changes),
    )


def _screen_changes(changes: Iterable[ScreenChange], steps: _Steps) -> Iterator[pb.ScreenChange]:
    left = ELEMENTS_OF_ALL
    for change in changes:
        elements = change.elements[: min(ELEMENTS_OF_SCREEN, left)]
        left -= len(elements)
        yield pb.ScreenChange(
            kind=to_enum_number(pb.ScreenChangeKind, change.kind),
            title=change.name[:TEXT_LIMIT],
            certain=change.certain,
            before=_example(change.before, steps),
            after=_example(change.after, steps),
            elements=[_element_change(each, change) for each in elements],
            element_count=len(change.elements),
            reason=change.reason,
        )


def _example(seen: SeenScreen | None, steps: _Steps) -> pb.SeenScreen | None:
    return _seen_screen(steps[seen.run_id, seen.step_index]) if seen is not None else None


def _element_change(change: ElementChange, screen: ScreenChange) -> pb.ElementChange:
    return pb.ElementChange(
        kind=to_enum_number(pb.ElementChangeKind, ElementChangeKind(change.kind)),
        role=change.role,
        name=change.name[:TEXT_LIMIT],
        certain=change.certain,
        description=describe(change),
        count=change.count,
        before=_element(change.before, screen.before),
        after=_element(change.after, screen.after),
    )


def _element(identity: ElementIdentity | None, seen: SeenScreen | None) -> runs_pb2.BoundElement | None:
    if identity is None or seen is None:
        return None
    return bound_element_proto(as_bound(identity, seen.tree.bounds))
