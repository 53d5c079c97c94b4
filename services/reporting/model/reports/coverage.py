"""Coverage: the build that each attached test targets, and its state there."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from services.reporting.model.attempts import BuildRef
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, Quarantine, Status
from services.reporting.model.tables import Active, Cell, CellKey, LastRun
from services.reporting.model.variants import KnownVariants, Subject, test_of


@dataclass(frozen=True, slots=True)
class Targets:
    """The builds that tests may target: the app's current one, its newest one, and those pinned by version."""

    current: BuildSnapshot | None
    newest: BuildSnapshot | None
    by_version: Mapping[str, BuildSnapshot]

    @property
    def followed(self) -> BuildSnapshot | None:
        """The build of tests that follow the app: the current one, else the newest."""
        return self.current or self.newest

    def build(self, attachment: AttachmentSnapshot) -> BuildSnapshot | None:
        """The target; None while there is no such build."""
        pin = attachment.pinned_version
        return self.followed if pin is None else self.by_version.get(pin)

    def version(self, attachment: AttachmentSnapshot) -> str | None:
        """The target's version; a pin's, also while no build has it."""
        if attachment.pinned_version is not None:
            return attachment.pinned_version
        return self.followed.version if self.followed else None


def resolve_targets(
    current_version: str | None, newest: BuildSnapshot | None, named: Iterable[BuildSnapshot]
) -> Targets:
    """`named` are the builds whose versions the app or a pin names, as far as there are such builds."""
    by_version = {build.version: build for build in named}
    return Targets(by_version.get(current_version) if current_version else None, newest, by_version)


def targeted_versions(current_version: str | None, attachments: Iterable[AttachmentSnapshot]) -> set[str]:
    """The versions that `targets` needs the builds of."""
    return {version for version in (current_version, *(a.pinned_version for a in attachments)) if version}


class LastStatus(StrEnum):
    """The state of a test on its target build; the values are those of the contract."""

    PASSED = "passed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RUNNING = "running"
    QUEUED = "queued"
    NOT_RUN = "not_run"
    NO_VERDICT = "no_verdict"


@dataclass(frozen=True, slots=True)
class CoverageState:
    """A test on its target build; `at` is when the run ended, else started, else was queued."""

    status: LastStatus = LastStatus.NOT_RUN
    at: datetime | None = None
    execution_id: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CoverageItem:
    """One attached test; `observed` is the newest build with a verdict of it, `ran` whether it ran on any build.

    `past` is the state on `observed` of a test that did not run on its target; None if it is not known.
    """

    test_id: str
    test_name: str
    pinned_version: str | None
    target_version: str | None
    state: CoverageState
    observed: BuildRef | None
    ran: bool = False
    past: CoverageState | None = None
    target_build_id: str | None = None
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """One item for each attached test, by name."""

    current: BuildSnapshot | None
    newest: BuildSnapshot | None
    items: Sequence[CoverageItem]


_BY_OUTCOME = {
    Outcome.PASSED: LastStatus.PASSED,
    Outcome.FAILED: LastStatus.FAILED,
    Outcome.INFRA_FAILED: LastStatus.NO_VERDICT,
    Outcome.CANCELLED: LastStatus.CANCELLED,
}


def target_cells(attachments: Sequence[AttachmentSnapshot], targets: Targets, variants: KnownVariants) -> list[CellKey]:
    """The cells that `coverage_items` reads."""
    pairs = [(attachment, targets.build(attachment)) for attachment in attachments]
    return [key for attachment, build in pairs if build for key in _cells(attachment, build, variants)]


def _cells(attachment: AttachmentSnapshot, build: BuildSnapshot, variants: KnownVariants) -> list[CellKey]:
    subjects = variants.subjects(attachment.test_id)
    return [(attachment.app_id, subject, build.build_id) for subject in subjects]


@dataclass(frozen=True, slots=True)
class CoverageInputs:
    """Names, newest observed builds and quarantines by test, which tests `ran` at all, and the cells of `target_cells`
    and `past_cells`.
    """

    names: Mapping[str, str]
    observed: Mapping[str, BuildRef]
    ran: Collection[str]
    cells: Mapping[CellKey, Cell]
    quarantines: Mapping[str, Quarantine]
    variants: KnownVariants


def past_cells(app_id: str, observed: Mapping[Subject, BuildRef | None], known: Container[CellKey]) -> list[CellKey]:
    """The cells of subjects on the newest builds on which they have a verdict, without those that are known."""
    keys = ((app_id, subject, build.id) for subject, build in observed.items() if build is not None)
    return [key for key in keys if key not in known]


def newest_observed(observed: Mapping[Subject, BuildRef | None], versions: Mapping[str, str]) -> dict[str, BuildRef]:
    """The newest of the builds of each test, with its current version, or its former one if that is not known."""
    newest: dict[str, BuildRef] = {}
    for subject, build in observed.items():
        if build is None:
            continue
        known = newest.get(test_of(subject))
        if known is None or build.key > known.key:
            newest[test_of(subject)] = build
    return {test: _with_version(build, versions.get(build.id)) for test, build in newest.items()}


def _with_version(build: BuildRef, current: str | None) -> BuildRef:
    return build if current in (None, build.version) else replace(build, version=current)


def coverage_items(
    attachments: Iterable[AttachmentSnapshot], targets: Targets, known: CoverageInputs
) -> Iterator[CoverageItem]:
    """One item for each of the attachments."""
    return (_item(attachment, targets, known) for attachment in attachments)


def item_order(item: CoverageItem) -> tuple[str, str]:
    """What items are sorted by: their names."""
    return (item.test_name.casefold(), item.test_id)


def _item(attachment: AttachmentSnapshot, targets: Targets, known: CoverageInputs) -> CoverageItem:
    target = targets.build(attachment)
    keys = _cells(attachment, target, known.variants) if target else ()
    cells = [known.cells[key] for key in keys if key in known.cells]
    state, observed = coverage_state(cells), known.observed.get(attachment.test_id)
    return CoverageItem(
        test_id=attachment.test_id,
        test_name=known.names.get(attachment.test_id, attachment.test_name),
        pinned_version=attachment.pinned_version,
        target_version=targets.version(attachment),
        target_build_id=target.build_id if target else None,
        state=state,
        observed=observed,
        ran=attachment.test_id in known.ran,
        past=_past_state(attachment, observed, known) if state.status is LastStatus.NOT_RUN else None,
        quarantine=known.quarantines.get(attachment.test_id),
    )


def _past_state(attachment: AttachmentSnapshot, build: BuildRef | None, known: CoverageInputs) -> CoverageState | None:
    """The state of a test on the newest build with a verdict of it."""
    if build is None:
        return None
    keys = [(attachment.app_id, subject, build.id) for subject in known.variants.subjects(attachment.test_id)]
    state = coverage_state([known.cells[key] for key in keys if key in known.cells])
    return state if state.status in (LastStatus.PASSED, LastStatus.FAILED) else None


def coverage_state(cells: Sequence[Cell]) -> CoverageState:
    """The newest running run decides, else the newest queued one, else the last finished one of each variant: a failure
    before a run without a verdict, that before one that was cancelled, and that before a pass.
    """
    active = [item for cell in cells for item in cell.active_runs.items()]
    if active:
        return _active_state(max(active, key=_newest_running)[1])
    finished = [cell.last_run for cell in cells if cell.last_run is not None]
    return _finished_state(max(finished, key=_worst)) if finished else CoverageState()


_BADNESS = (LastStatus.PASSED, LastStatus.CANCELLED, LastStatus.NO_VERDICT, LastStatus.FAILED)


def _worst(last: LastRun) -> tuple[int, tuple[datetime, str]]:
    return _BADNESS.index(_BY_OUTCOME[last.outcome]), last.recency


def _newest_running(item: tuple[str, Active]) -> tuple[bool, datetime, str]:
    run_id, active = item
    return (active.status is Status.RUNNING, active.since, run_id)


def _active_state(active: Active) -> CoverageState:
    status = LastStatus.RUNNING if active.status is Status.RUNNING else LastStatus.QUEUED
    return CoverageState(status, active.since, active.execution_id)


def _finished_state(last: LastRun) -> CoverageState:
    return CoverageState(_BY_OUTCOME[last.outcome], last.ended_at, last.execution_id, last.seconds)
