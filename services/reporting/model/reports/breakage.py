"""Where a test broke: the builds of its last pass and of its first failure since (docs/gate.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.snapshots import BuildSnapshot, Outcome
from services.reporting.model.sources import SourceRevision
from services.reporting.model.tables import EPOCH, Cell, CellKey, LastRun

Branches = tuple[str, ...]
PASSED, FAILED = (Outcome.PASSED,), (Outcome.FAILED,)
ANY = (Outcome.PASSED, Outcome.FAILED)


@dataclass(slots=True, unsafe_hash=True)
class BuildVerdict:
    """A verdict of a test on a build, the source revision of its run, and how many runs on the build passed and failed.

    Nothing changes one. It is not frozen, because thousands of them are created for a gate (see tables.py).
    """

    key: CellKey
    uploaded_at: datetime
    verdict: LastRun
    source_revision: SourceRevision | None = None
    passed: int = 0
    failed: int = 0

    @property
    def build_id(self) -> str:
        return self.key[2]

    @property
    def build_order(self) -> tuple[datetime, str]:
        """What builds are ordered by."""
        return (self.uploaded_at, self.build_id)

    @property
    def branch(self) -> str | None:
        return self.source_revision.branch if self.source_revision else None

    @property
    def commit_sha(self) -> str | None:
        return self.source_revision.commit_sha if self.source_revision else None

    @property
    def fails(self) -> bool:
        return self.verdict.outcome is Outcome.FAILED


class SearchSide(Enum):
    """Which builds to search, seen from one of them."""

    BEFORE = auto()  # the newest build before it
    AFTER = auto()  # the oldest build after it
    OTHER = auto()  # the newest of all builds but itself
    FIRST = auto()  # the oldest of all builds


@dataclass(frozen=True, slots=True)
class VerdictQuery:
    """A search for a verdict of the same test. Failures in infrastructure storms count only with `storms`."""

    side: SearchSide
    outcomes: tuple[Outcome, ...]
    branches: Branches
    storms: bool = False


@dataclass(frozen=True, slots=True)
class BranchScopes:
    """The branches on which a breakage is searched: `own` first, `wider` where the test never passed on these."""

    own: Branches
    wider: Branches


@dataclass(frozen=True, slots=True)
class Break:
    """`first_failing` is the first build on which a test failed since `last_passing`; None: it never passed."""

    first_failing: BuildVerdict
    last_passing: BuildVerdict | None = None

    @property
    def commit_range(self) -> str | None:
        """In git's syntax; None unless CI named both commits and they differ."""
        last = self.last_passing.commit_sha if self.last_passing else None
        first = self.first_failing.commit_sha
        return f"{last}..{first}" if last and first and last != first else None


def build_verdict(key: CellKey, cell: Cell) -> BuildVerdict | None:
    """The newest verdict of the cell, with the source revision of its run; None without one."""
    if cell.verdict is None:
        return None
    named = cell.named_verdict
    own = named if named is not None and named.run_id == cell.verdict.run_id else None
    source = own.source_revision if own else None
    return BuildVerdict(key, cell.uploaded_at, cell.verdict, source, passed=cell.passed, failed=cell.failed)


def branch_scopes(own: str | None, base: str | None) -> BranchScopes:
    """The scopes for a run on branch `own` that is compared with branch `base`; None: not known, so no branch."""
    wider = tuple(dict.fromkeys(branch for branch in (own, base) if branch is not None))
    return BranchScopes((own,) if own is not None else wider, wider)


def find_break(own: BuildVerdict, passing: BuildVerdict | None, failing: BuildVerdict | None) -> Break:
    """The break that `own` belongs to. `failing` is the oldest failure after `passing`, if any; it may be newer than
    `own`, whose newest verdict may be a pass by now. Of one build it is the one to show: a run by hand, which `own` may
    be, names no commit.
    """
    return Break(min(failing, own, key=lambda verdict: verdict.build_order) if failing else own, passing)


@dataclass(frozen=True, slots=True)
class ComparedBuild:
    """A build, and its source revision as CI named it."""

    build_id: str
    version: str
    uploaded_at: datetime
    branch: str | None
    commit_sha: str | None
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class Breakage:
    """A break with the current versions of its builds."""

    first_failing: ComparedBuild
    last_passing: ComparedBuild | None
    commit_range: str | None


class BreakageReader:
    """Breaks as reports show them; `builds` are their builds, as far as they are known. Equal ones share an object."""

    def __init__(self, builds: Mapping[str, BuildSnapshot]) -> None:
        self._builds = builds
        self._read: dict[tuple[object, ...], Breakage] = {}

    def read(self, broken: Break) -> Breakage:
        key = (_identity(broken.first_failing), _identity(broken.last_passing))
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = breakage(broken, self._builds)
        return known


def _identity(verdict: BuildVerdict | None) -> tuple[str, str | None, str | None] | None:
    return None if verdict is None else (verdict.key[2], verdict.branch, verdict.commit_sha)


def breakage(broken: Break, builds: Mapping[str, BuildSnapshot]) -> Breakage:
    """The break as reports show it; `builds` are its builds, as far as they are known."""
    last = broken.last_passing
    return Breakage(
        compared_build(broken.first_failing, builds),
        compared_build(last, builds) if last else None,
        broken.commit_range,
    )


def compared_build(verdict: BuildVerdict, builds: Mapping[str, BuildSnapshot]) -> ComparedBuild:
    build = builds.get(verdict.build_id)
    version = build.version if build else ""
    uploaded_at = build.uploaded_at if build else verdict.uploaded_at
    return ComparedBuild(verdict.build_id, version, uploaded_at, verdict.branch, verdict.commit_sha)


def build_ids(breaks: Iterable[Break]) -> set[str]:
    """The builds that these breaks name."""
    return {verdict.key[2] for broken in breaks for verdict in (broken.first_failing, broken.last_passing) if verdict}


@dataclass(frozen=True, slots=True)
class BaseScope:
    """Where to find verdicts on the base branch: which builds, seen from that of the failure."""

    base: str
    side: SearchSide

    def contains(self, attempt: Attempt, failure: BuildVerdict) -> bool:
        """Whether the attempt is one of the base branch that may have been seen before this failure.

        On the build of the failure only what had started before the failing run ended.
        """
        if attempt.branch != self.base or attempt.run_id == failure.verdict.run_id:
            return False
        if attempt.build.id == failure.build_id:
            return attempt.started_at <= failure.verdict.ended_at
        return self.side is SearchSide.OTHER or attempt.build.key < failure.build_order


def base_scope(own: str | None, base: str) -> BaseScope:
    """Where to find verdicts on the base branch for a run on branch `own`; None: its branch is not known.

    What a run of the base branch itself broke must not count as known, so only builds before its own do. A run of an
    unknown branch may be one of the base branch.
    """
    return BaseScope(base, SearchSide.BEFORE if own in (base, None) else SearchSide.OTHER)


@dataclass(frozen=True, slots=True)
class BuildPass:
    """That a test passed on a build."""

    build: BuildRef
    at: datetime


@dataclass(frozen=True, slots=True)
class BaseBranchStatus:
    """What is known of a failing test on the base branch.

    `verdict` is its newest one there, outside storms. `passed` is a pass there that outweighs a failing `verdict`, or
    that was found without one. `ran` is whether it has any verdict there, in a storm or on the build of the failure.
    """

    verdict: BuildVerdict | None = None
    passed: BuildPass | None = None
    ran: bool = False

    @property
    def fails(self) -> bool:
        """Whether the failure is known there."""
        return self.verdict is not None and self.verdict.fails and self.passed is None

    @property
    def has_passed(self) -> bool:
        return self.passed is not None or (self.verdict is not None and not self.verdict.fails)

    @property
    def build_ids(self) -> set[str]:
        """The builds that a sentence may name."""
        return {*([self.verdict.build_id] if self.verdict else ()), *([self.passed.build.id] if self.passed else ())}


NOTHING_ON_BASE = BaseBranchStatus()


@dataclass(frozen=True, slots=True)
class AttemptQuery:
    """A search for attempts of runs on a branch, on builds that come after this place; all attempts, or passes only."""

    branch: str
    after: tuple[datetime, str] = (EPOCH, "")
    only_passed: bool = True

    def fits(self, attempt: Attempt) -> bool:
        outcome = attempt.passed or not self.only_passed
        return outcome and attempt.branch == self.branch and attempt.build.key > self.after

    def wider(self, other: "AttemptQuery") -> "AttemptQuery":
        """One that finds what either finds; both are of one branch."""
        return AttemptQuery(self.branch, min(self.after, other.after), self.only_passed and other.only_passed)


def newer_pass(
    attempts: Iterable[Attempt], known: BuildVerdict, failure: BuildVerdict, scope: BaseScope, *, storms: bool
) -> BuildPass | None:
    """The pass on the base branch that outweighs `known`, a failure that was found there; None when there is none.

    Lookups count a build that was tested for two branches as one of them only, and a storm hides an earlier pass on
    its build. The attempts have the branch of each run, so they contain passes that lookups miss.
    """
    counted = [attempt for attempt in attempts if attempt.passed or storms or not attempt.storm]
    newest = max((one for one in counted if _counts(one, failure, scope)), key=_recency, default=None)
    outweighs = newest is not None and newest.passed and newest.build.key > known.build_order
    return _build_pass(newest) if newest is not None and outweighs else None


def _counts(attempt: Attempt, failure: BuildVerdict, scope: BaseScope) -> bool:
    """Whether the attempt tells how the test does on the base branch now."""
    if scope.side is SearchSide.BEFORE:
        return attempt.branch == scope.base and attempt.build.key < failure.build_order
    return attempt.branch == scope.base


def status_from_attempts(
    attempts: Iterable[Attempt], failure: BuildVerdict, scope: BaseScope, *, ran: bool
) -> BaseBranchStatus:
    """The status of a test without a verdict that lookups find; `ran`: except in storms."""
    seen = [attempt for attempt in attempts if scope.contains(attempt, failure)]
    newest = max((attempt for attempt in seen if attempt.passed), key=_recency, default=None)
    return BaseBranchStatus(passed=_build_pass(newest) if newest else None, ran=ran or bool(seen))


def _build_pass(attempt: Attempt) -> BuildPass:
    return BuildPass(attempt.build, attempt.started_at)


def _recency(attempt: Attempt) -> tuple[tuple[datetime, str], tuple[datetime, str, int, str]]:
    """What makes an attempt newer: that its build is, else the attempt itself."""
    return (attempt.build.key, attempt.recency)
