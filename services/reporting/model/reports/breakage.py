"""Where a test broke: the build of its last pass, and that of its first failure since (docs/gate.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from services.reporting.model.snapshots import BuildSnapshot, Outcome
from services.reporting.model.tables import Cell, CellKey, LastRun, Named

Branches = tuple[str | None, ...]  # None: builds for which CI named no branch
PASSED, FAILED = (Outcome.PASSED,), (Outcome.FAILED,)
ANY = (Outcome.PASSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Sighting:
    """The newest verdict of a test on a build, what CI named there, and how many runs of it passed and failed."""

    key: CellKey
    uploaded_at: datetime
    verdict: LastRun
    named: Named | None = None
    passed: int = 0
    failed: int = 0

    @property
    def build_id(self) -> str:
        return self.key[2]

    @property
    def place(self) -> tuple[datetime, str]:
        """What builds are ordered by."""
        return (self.uploaded_at, self.build_id)

    @property
    def branch(self) -> str | None:
        return self.named.branch if self.named else None

    @property
    def commit_sha(self) -> str | None:
        return self.named.commit_sha if self.named else None

    @property
    def fails(self) -> bool:
        return self.verdict.outcome is Outcome.FAILED


class Side(Enum):
    """Where to look from a build."""

    BEFORE = auto()  # the newest build before it
    AFTER = auto()  # the oldest build after it
    OTHER = auto()  # the newest of all builds but itself
    FIRST = auto()  # the oldest of all builds


@dataclass(frozen=True, slots=True)
class Sought:
    """Which verdict of the same test is looked for. Failures in infrastructure storms count only with `storms`."""

    side: Side
    outcomes: tuple[Outcome, ...]
    branches: Branches
    storms: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """Among which verdicts a breakage is looked for: those on `own` branch; where none passed, `wider` ones."""

    own: Branches
    wider: Branches


@dataclass(frozen=True, slots=True)
class Break:
    """`first_failing` is the first build on which a test failed since `last_passing`; None: it never passed."""

    first_failing: Sighting
    last_passing: Sighting | None = None

    @property
    def commit_range(self) -> str | None:
        """As git takes it; None unless CI named both commits and they differ."""
        last = self.last_passing.commit_sha if self.last_passing else None
        first = self.first_failing.commit_sha
        return f"{last}..{first}" if last and first and last != first else None


def sighting(key: CellKey, cell: Cell) -> Sighting | None:
    """The cell's verdict; None without one."""
    if cell.verdict is None:
        return None
    return Sighting(key, cell.uploaded_at, cell.verdict, cell.named, passed=cell.passed, failed=cell.failed)


def lines(own: str | None, base: str | None) -> Lines:
    """The lines of a run on branch `own` that is compared with branch `base`; None where CI named none."""
    wider = tuple(dict.fromkeys((own, base, None)))
    return Lines((own,) if own else wider, wider)


def broken(own: Sighting, passing: Sighting | None, failing: Sighting | None) -> Break:
    """The break that `own` belongs to. `failing` is the oldest failure after `passing`, as far as one was found: it may
    be newer than `own`, which may not be a failure any more.
    """
    return Break(min(own, failing, key=lambda seen: seen.place) if failing else own, passing)


@dataclass(frozen=True, slots=True)
class ComparedBuild:
    """A build, and how CI named what it was built from."""

    build_id: str
    version: str
    uploaded_at: datetime
    branch: str | None
    commit_sha: str | None


@dataclass(frozen=True, slots=True)
class Breakage:
    """A break with the builds as they are called now."""

    first_failing: ComparedBuild
    last_passing: ComparedBuild | None
    commit_range: str | None


def breakage(found: Break, builds: Mapping[str, BuildSnapshot]) -> Breakage:
    """The break as it is shown; `builds` are its builds, as far as the catalog told of them."""
    last = found.last_passing
    return Breakage(compared(found.first_failing, builds), compared(last, builds) if last else None, found.commit_range)


def compared(seen: Sighting, builds: Mapping[str, BuildSnapshot]) -> ComparedBuild:
    build = builds.get(seen.build_id)
    version = build.version if build else ""
    uploaded_at = build.uploaded_at if build else seen.uploaded_at
    return ComparedBuild(seen.build_id, version, uploaded_at, seen.branch, seen.commit_sha)


def build_ids(breaks: Iterable[Break]) -> set[str]:
    """The builds that these breaks name."""
    return {seen.build_id for found in breaks for seen in (found.first_failing, found.last_passing) if seen}
