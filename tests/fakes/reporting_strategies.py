"""Made-up worlds for the tests of reporting: everything that executor and catalog told, in any order."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st

from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Snapshot
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    AttemptSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Failure,
    Quarantine,
    RunSnapshot,
    Simulation,
    Status,
    TestSnapshot,
)
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.model.variants import EMPTY_VARIANT, Variant
from tests.fakes.reporting_attempts import START, build_ref

ORG = "org-1"
APPS, BUILDS, TESTS = 2, 4, 6
MESSAGES = [
    ("element_not_found", 'Element "Buy" not found after 30 s'),
    ("assertion_failed", "Total was 12"),
    ("network_error", "connect 10.0.0.1:80"),
    ("app_crash", "crashed"),
]
VARIANTS = [EMPTY_VARIANT, EMPTY_VARIANT, Variant("de", {"LOCALE": "de"}), Variant("fr", {"LOCALE": "fr"})]
ENDINGS = [
    "passed",
    "passed",
    "failed",
    "failed",
    "flaked",
    "infra",
    "infra-after-failure",
    "cancelled",
    "running",
    "queued",
]


@st.composite
def snapshot_lists(draw: st.DrawFn, max_executions: int = 8) -> list[Snapshot]:
    """All snapshots of a world, each run's in order of revision."""
    told: list[Snapshot] = draw(_catalog())
    for number in range(draw(st.integers(0, max_executions))):
        told += draw(_execution(f"execution-{number:02}"))
    return told


@st.composite
def _catalog(draw: st.DrawFn) -> list[Snapshot]:
    told: list[Snapshot] = []
    for app in range(APPS):
        told += [_app(app, revision, draw(_version())) for revision in draw(_revisions())]
        for build in range(BUILDS):
            told += [_build(app, build, revision, deleted=draw(st.booleans())) for revision in draw(_revisions())]
        for test in range(TESTS):
            told += [_attachment(app, test, revision, draw(_version())) for revision in draw(_revisions())]
        told += [_triage(app, revision, draw(st.sampled_from(FailureState))) for revision in draw(_revisions())]
    for test in range(TESTS):
        told += [
            _test(test, revision, quarantined=draw(st.booleans()), deleted=draw(st.booleans()))
            for revision in draw(_revisions())
        ]
    return told


def _revisions() -> st.SearchStrategy[list[int]]:
    return st.sampled_from([[], [1], [1, 2]])


def _app(app: int, revision: int, current: str | None) -> AppSnapshot:
    return AppSnapshot(f"app-{app}", ORG, revision, False, f"App {app} v{revision}", current)


def _build(app: int, build: int, revision: int, *, deleted: bool) -> BuildSnapshot:
    ref = build_number(app, build)
    return BuildSnapshot(ref.id, ORG, revision, deleted, f"app-{app}", ref.version, ref.uploaded_at)


def _attachment(app: int, test: int, revision: int, pin: str | None) -> AttachmentSnapshot:
    attached = pin != "9.9"
    return AttachmentSnapshot(f"app-{app}", f"test-{test}", ORG, revision, attached, pin, f"Test {test}")


def _triage(app: int, revision: int, state: FailureState) -> TriageSnapshot:
    written = ("1.1", "Waits for the bank", "https://tickets.example/1", "Ana", "ci", START)
    return TriageSnapshot(f"app-{app}", "0123456789abcdef", ORG, revision, state, *written)


def _test(test: int, revision: int, *, quarantined: bool, deleted: bool) -> TestSnapshot:
    quarantine = Quarantine("Waits for the fix", START + timedelta(days=20), "ci", START) if quarantined else None
    return TestSnapshot(
        f"test-{test}",
        ORG,
        revision,
        deleted,
        f"Test {test} v{revision}",
        platform="iOS" if test % 2 else None,
        tags=("smoke",) * (test % 3),
        version=revision,
        created_at=START + timedelta(minutes=test),
        quarantine=quarantine,
    )


def _version() -> st.SearchStrategy[str | None]:
    return st.sampled_from([None, "1.1", "1.2", "9.9"])


def build_number(app: int, build: int) -> BuildRef:
    """The build of this number of an app."""
    ref = build_ref(build + 1)
    return BuildRef(ref.uploaded_at, f"app-{app}-{ref.id}", ref.version)


@st.composite
def _execution(draw: st.DrawFn, execution_id: str) -> list[Snapshot]:
    stormy = draw(st.booleans())
    total = draw(st.integers(5, 7) if stormy else st.integers(1, 6))
    known = draw(st.integers(0, 3))
    told: list[Snapshot] = [ExecutionSnapshot(execution_id, ORG, revision + 1, total) for revision in range(known)]
    build = draw(st.integers(0, BUILDS - 1))
    for number in range(total):
        ending = "failed" if stormy and draw(st.integers(0, 9)) else draw(st.sampled_from(ENDINGS))
        message = MESSAGES[0] if stormy else draw(st.sampled_from(MESSAGES))
        told += draw(_run(execution_id, number, build, ending, message))
    return told


@st.composite
def _run(
    draw: st.DrawFn, execution_id: str, number: int, build: int, ending: str, message: tuple[str, str]
) -> list[Snapshot]:
    """One run from its first snapshot to its last."""
    app = draw(st.integers(0, APPS))  # the last of them is none
    has_build = app < APPS and draw(st.integers(0, 5)) > 0
    # Failures are counted by day for 60 days: some are older than that.
    days = draw(st.sampled_from([10, 10, 10, 69, 80]))
    start = START + timedelta(days=days, minutes=draw(st.integers(0, 4000)))
    common = {
        "run_id": f"{execution_id}-run-{number}",
        "org_id": ORG,
        "execution_id": execution_id,
        "test_id": f"test-{number % TESTS}",
        "test_name": f"Test {number % TESTS}",
        "test_version": draw(st.integers(1, 2)),
        "app_id": f"app-{app}" if app < APPS else None,
        "build": build_number(app, build) if has_build else None,
        "branch": draw(st.sampled_from([None, "main", "feature"])),
        "commit_sha": draw(st.sampled_from([None, "c0ffee", "decade"])),
        "repository": draw(st.sampled_from([None, "https://github.com/team/app"])),
        "ci_system": draw(st.sampled_from([None, "github"])),
        "pr_number": draw(st.sampled_from([None, 7, 8])),
        "created_at": draw(st.sampled_from([None, start - timedelta(seconds=90)])),
        "variant": draw(st.sampled_from(VARIANTS)),
        "simulation": draw(st.sampled_from([None, *Simulation])),
        "bindings_changed": draw(st.booleans()),
    }
    failure = Failure(message[0], message[1], "tapOn", draw(st.integers(0, 3)))
    return _life(common, start, ending, failure, draw(st.sampled_from([None, 0.25, 480.0])))


def _life(
    common: dict[str, object], start: datetime, ending: str, failure: Failure, seconds: float | None
) -> list[Snapshot]:
    minute = timedelta(minutes=1)
    told: list[Snapshot] = [_snapshot(common, 1, Status.QUEUED, event_time=start)]
    if ending == "queued":
        return told
    told.append(_snapshot(common, 2, Status.RUNNING, event_time=start + minute, started_at=start + minute))
    if ending == "running":
        return told
    told.append(replace(_final(common, start + minute, ending, failure), seconds=seconds))
    return told


VERDICTS: dict[str, tuple[bool | None, ...]] = {
    "passed": (True,),
    "failed": (False,),
    "flaked": (False, True),
    "infra": (None,),
    "infra-after-failure": (False, None),
    "cancelled": (None,),
}
WITHOUT_VERDICT = {
    "infra": Status.FAILED,
    "infra-after-failure": Status.FAILED,
    "cancelled": Status.CANCELLED,
}


def _final(common: dict[str, object], start: datetime, ending: str, failure: Failure) -> RunSnapshot:
    attempts = [
        AttemptSnapshot(number, start + timedelta(minutes=number), passed, None if passed else failure)
        for number, passed in enumerate(VERDICTS[ending], start=1)
    ]
    return _snapshot(
        common,
        3,
        WITHOUT_VERDICT.get(ending, Status.COMPLETED),
        event_time=start + timedelta(minutes=9),
        started_at=start,
        completed_at=start + timedelta(minutes=8),
        success=VERDICTS[ending][-1],
        flaky=ending == "flaked",
        attempts=tuple(attempts),
    )


def _snapshot(common: dict[str, object], revision: int, status: Status, **facts: object) -> RunSnapshot:
    return RunSnapshot(**common, revision=revision, status=status, **facts)  # type: ignore[arg-type]
