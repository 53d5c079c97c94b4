"""Attempts of one test on one app: their order, and which of them a history retains."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from operator import attrgetter

# A history is judged by, and retains, at most so many windows of attempts.
MAX_WINDOWS = 5


@dataclass(slots=True, unsafe_hash=True, order=True)
class BuildRef:
    """A build as attempts refer to it; builds compare by (uploaded_at, id). `version` is the one it had at the time."""

    uploaded_at: datetime
    id: str
    version: str = ""

    @property
    def key(self) -> tuple[datetime, str]:
        """What builds are compared by."""
        return (self.uploaded_at, self.id)


def newer_build(one: BuildRef | None, other: BuildRef) -> BuildRef:
    """The newer of two builds; of one build with two versions, the same one in either order."""
    return other if one is None or (*other.key, other.version) > (*one.key, one.version) else one


@dataclass(slots=True, unsafe_hash=True)
class Attempt:
    """One try of one test on one build that passed or failed (no other attempts become part of a history).

    `branch` is the one that CI named, if any. `storm` is None until it is settled whether the execution is an
    infrastructure storm; such attempts count as calm.
    """

    run_id: str
    number: int
    execution_id: str
    started_at: datetime
    build: BuildRef
    test_version: int
    passed: bool
    branch: str | None = None
    storm: bool | None = None

    @property
    def recency(self) -> tuple[datetime, str, int, str]:
        """Attempts are newer by start, then execution, then attempt number (the run only breaks ties)."""
        return (self.started_at, self.execution_id, self.number, self.run_id)

    @property
    def code(self) -> tuple[str, int]:
        """Two attempts with the same build and test version ran the same code."""
        return (self.build.id, self.test_version)


@dataclass(frozen=True, slots=True)
class OrderedAttempts:
    """`order(X)` of docs/flaky.md: the window's attempts by branch, build and time, and the branch of each build."""

    attempts: tuple[Attempt, ...]
    branches: dict[str, str | None]

    def branch(self, attempt: Attempt) -> str | None:
        """The branch that the attempt's build counts as being on."""
        return self.branches[attempt.build.id]

    @property
    def newest_build(self) -> BuildRef:
        """The newest build of the window, which is that of the last attempt by construction."""
        return self.attempts[-1].build


def newest_attempts(attempts: Iterable[Attempt], window: int) -> list[Attempt]:
    """The attempts that a history is judged by: the newest MAX_WINDOWS windows, oldest first, without duplicates.

    The number does not depend on storms, so attempts may arrive and storms be settled in any order
    (docs/decisions/bounded-test-histories.md).
    """
    unique = {(attempt.run_id, attempt.number): attempt for attempt in attempts}
    return sorted(unique.values(), key=attrgetter("recency"))[-MAX_WINDOWS * window :]


def order_attempts(newest: Iterable[Attempt]) -> OrderedAttempts:
    """These attempts, given oldest first, sorted by (newest build of their branch, build, time)."""
    recent = list(newest)
    keys = [attempt.build.key for attempt in recent]
    branches = _branches(recent, max(keys, default=None))
    heads: dict[str | None, tuple[datetime, str]] = {}
    for attempt, key in zip(recent, keys, strict=True):
        branch = branches[attempt.build.id]
        heads[branch] = max(heads.get(branch, key), key)
    ranks = [(heads[branches[key[1]]], key) for key in keys]
    # The sort is stable, and `recent` is sorted by time already.
    ordered = sorted(range(len(recent)), key=ranks.__getitem__)
    return OrderedAttempts(tuple(recent[index] for index in ordered), branches)


def _branches(recent: list[Attempt], head: tuple[datetime, str] | None) -> dict[str, str | None]:
    """Build id -> the first branch that CI named; an unknown one counts as that of `head`, the newest build."""
    named: dict[str, str] = {}
    for attempt in recent:
        if attempt.branch:
            named.setdefault(attempt.build.id, attempt.branch)
    default = named.get(head[1]) if head else None
    return {attempt.build.id: named.get(attempt.build.id, default) for attempt in recent}


def retained_attempts(attempts: Iterable[Attempt], window: int) -> tuple[Attempt, ...]:
    """What a history retains, oldest first: everything back to the point where both the newest `window` attempts and
    the newest `window` attempts outside storms are complete, but no more than `newest_attempts`.

    An attempt whose storm is not settled yet does not count as outside one. Nothing in between is left out, so it is
    known how many newer attempts everything older has. What is dropped can never matter again, in whatever order
    attempts arrive and storms are settled.
    """
    recent = newest_attempts(attempts, window)
    calm = 0
    for position, attempt in enumerate(reversed(recent)):
        if calm >= window and position >= window:
            return tuple(recent[len(recent) - position :])
        calm += attempt.storm is False
    return tuple(recent)


def count_trailing(attempts: tuple[Attempt, ...], *, passed: bool) -> int:
    """How many attempts at the end have this verdict."""
    count = 0
    for attempt in reversed(attempts):
        if attempt.passed is not passed:
            break
        count += 1
    return count


def lone_failures(calm: OrderedAttempts) -> list[int]:
    """Indexes of failures whose two neighbours passed, all three on one branch."""
    positions: list[int] = []
    items = calm.attempts
    for index in range(1, len(items) - 1):
        before, here, after = items[index - 1 : index + 2]
        if here.passed or not (before.passed and after.passed):
            continue
        if calm.branch(before) == calm.branch(here) == calm.branch(after):
            positions.append(index)
    return positions


def mixed_groups(attempts: Iterable[Attempt]) -> set[tuple[str, int]]:
    """The (build, version) groups that have both verdicts."""
    passed: set[tuple[str, int]] = set()
    failed: set[tuple[str, int]] = set()
    for attempt in attempts:
        (passed if attempt.passed else failed).add(attempt.code)
    return passed & failed


def verdict_changes(calm: OrderedAttempts) -> list[int]:
    """Indexes i of pairs (i, i+1) on one branch whose verdicts differ."""
    pairs = enumerate(pairwise(calm.attempts))
    return [i for i, (a, b) in pairs if a.passed is not b.passed and calm.branch(a) == calm.branch(b)]
