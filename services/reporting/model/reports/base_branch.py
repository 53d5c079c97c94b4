"""What is known of a test on the base branch (docs/gate.md)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.reporting.model.history import Attempt
from services.reporting.model.reports.breakage import Branches, Side, Sighting


@dataclass(frozen=True, slots=True)
class BaseLines:
    """Where the verdicts on the base branch are: the first line with one decides."""

    base: str
    side: Side
    lines: tuple[Branches, ...]


@dataclass(frozen=True, slots=True)
class OnBase:
    """The newest verdict on the base branch; `passed` is a pass there that a failure does not stand against."""

    seen: Sighting
    passed: Attempt | None = None

    @property
    def fails(self) -> bool:
        return self.seen.fails and self.passed is None

    @property
    def build_ids(self) -> set[str]:
        """The builds that are spoken of."""
        return {self.seen.build_id, *([self.passed.build.id] if self.passed else ())}


def base_lines(own: str | None, base: str) -> BaseLines:
    """Where the verdicts on the base branch are, for an execution on branch `own`.

    What an execution of the base branch itself broke must not count as known, so only builds before its own do.
    Without a branch it counts as one of the base branch, and all that have none are: a team that names no branches
    gets "fails already on the build before".
    """
    if own is None:
        return BaseLines(base, Side.BEFORE, ((base, None),))
    return BaseLines(base, Side.BEFORE if own == base else Side.OTHER, ((base,), (None,)))


def passed_since(
    attempts: Iterable[Attempt], failure: Sighting, own: Sighting, where: BaseLines, *, storms: bool
) -> Attempt | None:
    """The pass on the base branch that `failure`, which was found there, does not stand against; None: it stands.

    A build that was tested for two branches is of one of them for lookups, and what a storm failed on hides what
    passed there before. The attempts tell what CI named for each run, so they know of passes that lookups miss.
    """
    counted = [attempt for attempt in attempts if attempt.passed or storms or not attempt.storm]
    if where.side is Side.BEFORE:
        counted = [attempt for attempt in counted if attempt.build.key < own.place]
    named = _newest(attempt for attempt in counted if attempt.branch == where.base)
    if failure.branch is None and where.lines[0] == (where.base,):  # it stands in for a branch that CI did not name
        return named if named and named.passed else None
    newest = _newest([*_unnamed(counted, where), *([named] if named else [])])
    return newest if newest and newest.passed and newest.build.key > failure.place else None


def _unnamed(counted: Sequence[Attempt], where: BaseLines) -> list[Attempt]:
    """Those on builds that CI named no branch for, where these count as the base branch."""
    if None not in where.lines[0]:
        return []
    named = {attempt.build.id for attempt in counted if attempt.branch is not None}
    return [attempt for attempt in counted if attempt.build.id not in named]


def _newest(attempts: Iterable[Attempt]) -> Attempt | None:
    """The newest attempt on the newest build."""
    return max(attempts, key=_place, default=None)


def _place(attempt: Attempt) -> tuple[tuple[datetime, str], tuple[datetime, str, int, str]]:
    return (attempt.build.key, attempt.recency)
