"""What changed on an app's screens between two builds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.printable import one_line, printable
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.identity import ElementIdentity

# Lines of a summary, and of them for one screen.
LINES_LIMIT = 50
LINES_OF_SCREEN = 12


@dataclass(frozen=True, slots=True, eq=False)
class SeenScreen:
    """What a run saw before a step. `test` and `step` (its name in all runs) say what else was seen at the same place.

    `picture` is the key of the picture, by which it is read when it is needed; empty if there is none. Decode equal
    trees once: what is one object is compared once.
    """

    tree: Element
    run_id: str
    test: str = ""
    step: str = ""
    step_index: int = 0
    picture: str = ""


# The bytes of a picture (PNG, JPEG or WebP); None if it is not there any more.
ReadPicture: TypeAlias = Callable[[str], bytes | None]


class ElementChangeKind(StrEnum):
    ADDED = "added"
    GONE = "gone"
    RENAMED = "renamed"
    MOVED = "moved"
    DISABLED = "disabled"
    ENABLED = "enabled"
    RESTYLED = "restyled"
    ROLE_CHANGED = "role_changed"
    ID_CHANGED = "id_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementChange:
    """`before` is None for what was added, `after` for what is gone; an element may have several changes.

    What is inside of an added or gone element is not listed. `count` is how many rows of a list have the change.
    """

    kind: ElementChangeKind
    role: Role
    name: str
    certain: bool
    before: ElementIdentity | None = None
    after: ElementIdentity | None = None
    count: int = 1


class ScreenChangeKind(StrEnum):
    NEW = "new"
    GONE = "gone"
    CHANGED = "changed"
    UNKNOWN = "unknown"


# Why it is not known whether a screen that one build saw is new or gone.
NOT_REACHED = "no run of the other build came to a step that shows it in the same way"
COMES_AND_GOES = "only some of the runs that came to its steps saw it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenChange:
    """`before` and `after` are examples of the screen; `elements` are the changes on one that is CHANGED.

    A change is `certain` if at least RUNS_TO_BE_CERTAIN runs of each build could have shown the opposite. `reason` says
    why a screen that one build saw is UNKNOWN in the other.
    """

    kind: ScreenChangeKind
    name: str
    certain: bool
    before: SeenScreen | None = None
    after: SeenScreen | None = None
    elements: tuple[ElementChange, ...] = ()
    reason: str = ""


def summarize(changes: Sequence[ScreenChange]) -> list[str]:
    """A line for each change, certain ones first; the last line counts those beyond LINES_LIMIT.

    What is unknown has no line. The lines are well-formed and act on no terminal or CI system. They are no Markdown:
    escape them there.
    """
    lines: list[str] = []
    for certain in (True, False):
        for change in changes:
            lines += _screen_lines(change, certain=certain)
    if len(lines) > LINES_LIMIT:
        lines[LINES_LIMIT - 1 :] = [f"{len(lines) - LINES_LIMIT + 1} more changes"]
    return lines


def _screen_lines(change: ScreenChange, *, certain: bool) -> list[str]:
    screen, end = _harmless(change.name), "" if certain else " (not certain)"
    if change.kind is ScreenChangeKind.UNKNOWN:
        return []
    if change.kind is not ScreenChangeKind.CHANGED:
        verb = "is new" if change.kind is ScreenChangeKind.NEW else "is gone"
        return [f"Screen {screen} {verb}{end}"] if change.certain is certain else []
    lines = [f"{screen}: {describe(each)}{end}" for each in change.elements if each.certain is certain]
    if len(lines) > LINES_OF_SCREEN:
        lines[LINES_OF_SCREEN - 1 :] = [f"{screen}: {len(lines) - LINES_OF_SCREEN + 1} more changes{end}"]
    return lines


_VERBS = {
    ElementChangeKind.ADDED: "was added",
    ElementChangeKind.GONE: "is gone",
    ElementChangeKind.MOVED: "was moved",
    ElementChangeKind.DISABLED: "is disabled",
    ElementChangeKind.ENABLED: "is enabled",
    ElementChangeKind.RESTYLED: "looks different",
}


def describe(change: ElementChange) -> str:
    """What changed, in one harmless line: `button "Pay" was renamed to "Buy"`."""
    return f"{_subject(change)} {_verb(change)}{f' ({change.count} rows)' if change.count > 1 else ''}"


def _subject(change: ElementChange) -> str:
    role = "element" if change.role is Role.OTHER else str(change.role)
    return f"{role} {_harmless(change.name)}" if change.name else f"{role} without a name"


def _verb(change: ElementChange) -> str:
    before, after = change.before, change.after
    if change.kind is ElementChangeKind.RENAMED and after is not None:
        return f"was renamed to {_harmless(identity_name(after))}"
    if change.kind is ElementChangeKind.ROLE_CHANGED and after is not None:
        return f"became a {'different element' if after.role is Role.OTHER else after.role}"
    if change.kind is ElementChangeKind.ID_CHANGED and before is not None and after is not None:
        return f"has the id {_harmless(after.id)} instead of {_harmless(before.id)}"
    return _VERBS[change.kind]


def identity_name(identity: ElementIdentity) -> str:
    """What a person would call the element; empty if nothing identifies it."""
    if identity.role is Role.FIELD:
        return identity.label or identity.hint or identity.id
    return identity.text or identity.label or identity.id


def _harmless(text: str) -> str:
    return printable(one_line(quote(text)))
