"""Compares what compare_builds reports with what was planted, by kind of change."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mobiletest_automation.screen.changes import ElementChange, ScreenChange, ScreenChangeKind, SeenScreen

BUILDS = RUNS = 5


@dataclass(frozen=True, slots=True)
class Planted:
    """A change of an app. `screens` are the names that the screen has, `names` those of the elements that may be meant.

    `kind` is that of the report: new and gone are screens, everything else changes of an element.
    """

    kind: str
    screens: frozenset[str]
    names: frozenset[str] = frozenset()
    planted_as: str = ""


@dataclass(slots=True)
class Case:
    """What the runs of both builds saw, the pictures, and what was changed in between."""

    name: str
    before: list[SeenScreen] = field(default_factory=list)
    after: list[SeenScreen] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    planted: list[Planted] = field(default_factory=list)


@dataclass(slots=True)
class Score:
    """Counts by kind."""

    planted: Counter[str] = field(default_factory=Counter)
    detected: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)

    def add(self, case: Case, changes: Sequence[ScreenChange]) -> None:
        left = list(case.planted)
        self.planted.update(each.planted_as or each.kind for each in left)
        for screen, change in _reported(changes):
            kind = str(change.kind) if change is not None else str(screen.kind)
            hit = next((each for each in left if _is_meant(each, screen, change)), None)
            if hit is not None:
                left.remove(hit)
                self.detected[hit.planted_as or hit.kind] += 1
            else:
                self.wrong[kind] += 1
                self.mistakes.append(f"{case.name}: wrong: {screen.name}: {describe(change) or kind}")
        self.mistakes += [f"{case.name}: missed: {each}" for each in left]

    @property
    def precision(self) -> float:
        return self.detected.total() / max(self.detected.total() + self.wrong.total(), 1)

    @property
    def recall(self) -> float:
        return self.detected.total() / max(self.planted.total(), 1)

    def table(self) -> str:
        """Markdown: a row for each kind."""
        rows = ["| Kind | Planted | Detected | Wrong | Precision | Recall |", "| --- | --- | --- | --- | --- | --- |"]
        for kind in sorted(self.planted | self.wrong):
            planted, detected, wrong = self.planted[kind], self.detected[kind], self.wrong[kind]
            reported = detected + wrong
            shares = f"{detected / reported:.2f}" if reported else "-", f"{detected / planted:.2f}" if planted else "-"
            rows.append(f"| {kind} | {planted} | {detected} | {wrong} | {shares[0]} | {shares[1]} |")
        total = self.planted.total(), self.detected.total(), self.wrong.total()
        rows.append(f"| all | {total[0]} | {total[1]} | {total[2]} | {self.precision:.3f} | {self.recall:.3f} |")
        return "\n".join(rows)


def describe(change: ElementChange | None) -> str:
    if change is None:
        return ""
    after = change.after.text or change.after.label or change.after.id if change.after else ""
    return f"{change.kind} {change.role} {change.name!r} -> {after!r} certain={change.certain}"


def _reported(changes: Iterable[ScreenChange]) -> Iterable[tuple[ScreenChange, ElementChange | None]]:
    for screen in changes:
        if screen.kind is ScreenChangeKind.CHANGED:
            yield from ((screen, each) for each in screen.elements)
        elif screen.kind is not ScreenChangeKind.UNKNOWN:
            yield screen, None


def _is_meant(planted: Planted, screen: ScreenChange, change: ElementChange | None) -> bool:
    if screen.name not in planted.screens:
        return False
    if change is None:
        return planted.kind == str(screen.kind)
    if planted.kind != str(change.kind):
        return False
    sides = [each for each in (change.before, change.after) if each is not None]
    return bool(planted.names & {name for each in sides for name in (each.text, each.label, each.hint, each.id)})
