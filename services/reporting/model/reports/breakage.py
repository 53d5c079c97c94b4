"""Where a test broke: the builds of its last pass and of its first failure since (docs/gate.md)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from services.reporting.model.attempts import Attempt
from services.reporting.model.snapshots import BuildSnapshot, Outcome
from services.reporting.model.tables import EPOCH, Cell, CellKey, LastRun, SourceRevision

Branches = tuple[str | None, ...]  # None: builds for which CI named no branch
PASSED, FAILED = (Outcome.PASSED,), (Outcome.FAILED,)
ANY = (Outcome.PASSED, Outcome.FAILED)


@dataclass(slots=True, unsafe_hash=True)
class BuildVerdict:
    """The newest verdict of a test on a build, the build's source revision, and how many runs passed and failed.

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
    """The cell's verdict; None without one."""
    if cell.verdict is None:
        return None
    return BuildVerdict(
        key, cell.uploaded_at, cell.verdict, cell.source_revision, passed=cell.passed, failed=cell.failed
    )


def branch_scopes(own: str | None, base: str | None) -> BranchScopes:
    """The scopes for a run on branch `own` that is compared with branch `base`; None where CI named no branch."""
    wider = tuple(dict.fromkeys((own, base, None)))
    return BranchScopes((own,) if own else wider, wider)


def find_break(own: BuildVerdict, passing: BuildVerdict | None, failing: BuildVerdict | None) -> Break:
    """The break that `own` belongs to. `failing` is the oldest failure after `passing`, if any; it may be newer than
    `own`, whose newest verdict may be a pass by now.
    """
    return Break(min(own, failing, key=lambda verdict: verdict.build_order) if failing else own, passing)


@dataclass(frozen=True, slots=True)
class ComparedBuild:
    """A build, and its source revision as CI named it."""

    build_id: str
    version: str
    uploaded_at: datetime
    branch: str | None
    commit_sha: str | None


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

    def read(self, found: Break) -> Breakage:
        key = (_identity(found.first_failing), _identity(found.last_passing))
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = breakage(found, self._builds)
        return known


def _identity(verdict: BuildVerdict | None) -> tuple[str, str | None, str | None] | None:
    return None if verdict is None else (verdict.key[2], verdict.branch, verdict.commit_sha)


def breakage(found: Break, builds: Mapping[str, BuildSnapshot]) -> Breakage:
    """The break as reports show it; `builds` are its builds, as far as they are known."""
    last = found.last_passing
    return Breakage(
        compared_build(found.first_failing, builds), compared_build(last, builds) if last else None, found.commit_range
    )


def compared_build(verdict: BuildVerdict, builds: Mapping[str, BuildSnapshot]) -> ComparedBuild:
    build = builds.get(verdict.build_id)
    version = build.version if build else ""
    uploaded_at = build.uploaded_at if build else verdict.uploaded_at
    return ComparedBuild(verdict.build_id, version, uploaded_at, verdict.branch, verdict.commit_sha)


def build_ids(breaks: Iterable[Break]) -> set[str]:
    """The builds that these breaks name."""
    return {verdict.key[2] for found in breaks for verdict in (found.first_failing, found.last_passing) if verdict}


@dataclass(frozen=True, slots=True)
class BaseScope:
    """Where to find verdicts on the base branch: the first of the scopes with a verdict decides."""

    base: str
    side: SearchSide
    scopes: tuple[Branches, ...]


@dataclass(frozen=True, slots=True)
class BaseBranchStatus:
    """The newest verdict on the base branch; `passed` is a pass there that outweighs a failure."""

    verdict: BuildVerdict
    passed: Attempt | None = None

    @property
    def fails(self) -> bool:
        return self.verdict.fails and self.passed is None

    @property
    def build_ids(self) -> set[str]:
        """The builds that a sentence may name."""
        return {self.verdict.build_id, *([self.passed.build.id] if self.passed else ())}


def base_scope(own: str | None, base: str) -> BaseScope:
    """Where to find verdicts on the base branch for an execution on branch `own`.

    What an execution of the base branch itself broke must not count as known, so only builds before its own do. An
    execution without a branch counts as one of the base branch, and so do builds without a branch: a team that names
    no branches gets "failed already on the build before".
    """
    if own is None:
        return BaseScope(base, SearchSide.BEFORE, ((base, None),))
    return BaseScope(base, SearchSide.BEFORE if own == base else SearchSide.OTHER, ((base,), (None,)))


@dataclass(frozen=True, slots=True)
class PassQuery:
    """A search for attempts that passed: on runs of one of these branches, on builds that come after this place."""

    branches: Branches
    after: tuple[datetime, str]

    def fits(self, attempt: Attempt) -> bool:
        return attempt.passed and attempt.branch in self.branches and attempt.build.key > self.after

    def wider(self, other: "PassQuery") -> "PassQuery":
        """One that finds what either finds."""
        return PassQuery((*self.branches, *other.branches), min(self.after, other.after))


def pass_query(failure: BuildVerdict, scope: BaseScope) -> PassQuery:
    """What any attempt is that outweighs `failure` (see `newer_pass`); few histories contain one."""
    if _stands_in(failure, scope):
        return PassQuery((scope.base,), (EPOCH, ""))
    unnamed = (None,) if None in scope.scopes[0] else ()
    return PassQuery((scope.base, *unnamed), failure.build_order)


def _stands_in(failure: BuildVerdict, scope: BaseScope) -> bool:
    """Whether its build, which CI named no branch for, only stands in for one of the base branch."""
    return failure.branch is None and scope.scopes[0] == (scope.base,)


def newer_pass(
    attempts: Iterable[Attempt], failure: BuildVerdict, own: BuildVerdict, scope: BaseScope, *, storms: bool
) -> Attempt | None:
    """The pass on the base branch that outweighs `failure`, which was found there; None when there is none.

    Lookups count a build that was tested for two branches as one of them only, and a storm hides an earlier pass on
    its build. The attempts have the branch of each run, so they contain passes that lookups miss.
    """
    counted = [attempt for attempt in attempts if attempt.passed or storms or not attempt.storm]
    if scope.side is SearchSide.BEFORE:
        counted = [attempt for attempt in counted if attempt.build.key < own.build_order]
    named = _newest(attempt for attempt in counted if attempt.branch == scope.base)
    if _stands_in(failure, scope):
        return named if named and named.passed else None
    newest = _newest([*_unnamed(counted, scope), *([named] if named else [])])
    return newest if newest and newest.passed and newest.build.key > failure.build_order else None


def _unnamed(counted: Sequence[Attempt], scope: BaseScope) -> list[Attempt]:
    """The attempts on builds without a branch, if these count as builds of the base branch."""
    if None not in scope.scopes[0]:
        return []
    named = {attempt.build.id for attempt in counted if attempt.branch is not None}
    return [attempt for attempt in counted if attempt.build.id not in named]


def _newest(attempts: Iterable[Attempt]) -> Attempt | None:
    """The newest attempt on the newest build."""
    return max(attempts, key=_recency, default=None)


def _recency(attempt: Attempt) -> tuple[tuple[datetime, str], tuple[datetime, str, int, str]]:
    return (attempt.build.key, attempt.recency)
