"""Short stories for the tests of reporting."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.projection import fold
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    AttemptSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Failure,
    RunSnapshot,
    Status,
    TestSnapshot,
)
from services.reporting.model.tables import Tables
from services.reporting.model.variants import EMPTY_VARIANT, Variant

ORG = "org-1"
APP = "app-1"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ENDINGS = {
    "passed": (Status.COMPLETED, True),
    "failed": (Status.COMPLETED, False),
    "infra": (Status.FAILED, None),
    "cancelled": (Status.CANCELLED, None),
    "queued": (Status.QUEUED, None),
    "running": (Status.RUNNING, None),
}


class Story:
    """Tells snapshots one after the other; `tables` are those of all that was told."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.told: list[Snapshot] = []
        self._numbers = count(1)

    def tell(self, *snapshots: Snapshot) -> None:
        """Fold these."""
        self.told += snapshots
        fold(self.tables, Batch.of(snapshots))

    def app(self, *, current: str | None = None, deleted: bool = False) -> None:
        """The app is (again) told."""
        self.tell(AppSnapshot(APP, ORG, self.revision(), deleted, "Shop", current))

    def build(self, version: str, *, at: datetime | None = None, deleted: bool = False) -> BuildRef:
        """A build; those told later are newer unless `at` says otherwise. Its id is "build-<version>"."""
        uploaded_at = at or NOW - timedelta(days=100) + timedelta(minutes=self.revision())
        build = BuildRef(uploaded_at, f"build-{version}", version)
        self.tell(BuildSnapshot(build.id, ORG, self.revision(), deleted, APP, version, uploaded_at))
        return build

    def rename(self, build: BuildRef, version: str) -> None:
        """The build is told with another version."""
        self.tell(BuildSnapshot(build.id, ORG, self.revision(), False, APP, version, build.uploaded_at))

    def attach(self, test: str, *, pin: str | None = None, attached: bool = True, app: str = APP) -> None:
        """A test is attached, pinned, or detached."""
        self.tell(AttachmentSnapshot(app, test, ORG, self.revision(), attached, pin, f"Name of {test}"))

    def test(self, test: str, name: str, *, deleted: bool = False, **fields: Any) -> None:
        """A test is (again) told by the catalog; later ones are newer unless `created_at` says otherwise."""
        revision = self.revision()
        created_at = NOW - timedelta(days=50) + timedelta(minutes=revision)
        self.tell(TestSnapshot(test, ORG, revision, deleted, name, **{"created_at": created_at} | fields))

    def execution(self, execution: str, total: int) -> None:
        """How many runs an execution has."""
        self.tell(ExecutionSnapshot(execution, ORG, self.revision(), total))

    def run(
        self,
        test: str,
        build: BuildRef | None,
        ending: str = "passed",
        *,
        at: datetime = NOW - timedelta(hours=1),
        execution: str | None = None,
        run_id: str | None = None,
        failure: Failure | None = None,
        app: str | None = APP,
        version: int = 1,
        variant: Variant = EMPTY_VARIANT,
        seconds: float = 60.0,
        flaky: bool = False,
    ) -> RunSnapshot:
        """A run that ended, started or was queued at `at`; its attempt began a minute before it ended."""
        number = next(self._numbers)
        status, success = ENDINGS[ending]
        failure = failure or (Failure("unknown", "went wrong") if ending in ("failed", "infra") else None)
        started_at = None if ending == "queued" else at - timedelta(minutes=1) if status.terminal else at
        attempt = AttemptSnapshot(1, started_at or at, success, failure)
        snapshot = RunSnapshot(
            run_id=run_id or f"run-{number:04}",
            org_id=ORG,
            revision=number,
            execution_id=execution or f"execution-{number:04}",
            test_id=test,
            test_name=f"Old name of {test}",
            test_version=version,
            status=status,
            event_time=at,
            app_id=app,
            build=build,
            success=success,
            started_at=started_at,
            completed_at=at if status.terminal else None,
            seconds=seconds if status.terminal else None,
            attempts=(attempt,) if status.terminal else (),
            failure=failure,
            list_item=f"{test} {ending} {number}".encode(),
            variant=variant,
            flaky=flaky,
        )
        self.tell(snapshot)
        return snapshot

    def revision(self) -> int:
        """One that is higher than all before."""
        return next(self._numbers)
