"""Events as executor and catalog publish them, for the integration tests of reporting."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.executor.v1 import events_pb2 as executor
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.types.v1 import execution_pb2 as types

from services.chassis.events import Event
from services.reporting.consumer import CATALOG_EVENTS, EXECUTION_EVENTS

ENDINGS: dict[str, tuple[Any, bool | None]] = {
    "passed": (types.EXECUTION_STATUS_COMPLETED, True),
    "failed": (types.EXECUTION_STATUS_COMPLETED, False),
    "infra": (types.EXECUTION_STATUS_FAILED, None),
    "cancelled": (types.EXECUTION_STATUS_CANCELLED, None),
}


def event(topic: str, key: str, message: Message, *, at: datetime | None = None) -> Event:
    """The message on its way."""
    return Event(
        topic=topic,
        key=key,
        type=message.DESCRIPTOR.full_name,
        source="a-test",
        id=str(uuid4()),
        time=at or datetime.now(UTC),
        payload=message.SerializeToString(),
    )


@dataclass
class EventLog:
    """An organisation with an app, and what is told about it."""

    org_id: str = field(default_factory=lambda: str(uuid4()))
    app_id: str = field(default_factory=lambda: str(uuid4()))
    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    revision: int = 0
    branch: str | None = None
    commit_sha: str | None = None
    ages: dict[str, int] = field(default_factory=dict)

    def app(self, *, current: str | None = None) -> Event:
        self.revision += 1
        message = catalog.AppChanged(
            org_id=self.org_id, app_id=self.app_id, revision=self.revision, name="Shop", current_version=current
        )
        return event(CATALOG_EVENTS, self.app_id, message)

    def build(self, build_id: str, version: str, *, age: int = 0) -> Event:
        self.ages[build_id] = age
        message = catalog.BuildChanged(
            org_id=self.org_id,
            app_id=self.app_id,
            build_id=build_id,
            revision=1,
            version=version,
            uploaded_at=self._uploaded(age),
        )
        return event(CATALOG_EVENTS, self.app_id, message)

    def attachment(self, test_id: str, name: str) -> Event:
        message = catalog.AttachmentChanged(
            org_id=self.org_id, app_id=self.app_id, test_id=test_id, revision=1, attached=True, test_name=name
        )
        return event(CATALOG_EVENTS, self.app_id, message)

    def life(
        self,
        build: tuple[str, str],
        test_id: str,
        ending: str,
        *,
        execution_id: str | None = None,
        locale: str | None = None,
    ) -> list[Event]:
        """All events of one run in an execution of its own; `locale` is what its variant consists of."""
        execution_id = execution_id or str(uuid4())
        run = runs_pb2.Run(
            id=str(uuid4()),
            execution_id=execution_id,
            test_id=test_id,
            test_name="Log in",
            test_version_number=1,
            app_id=self.app_id,
            build_id=build[0],
            resolved_build_version=build[1],
            status=types.EXECUTION_STATUS_QUEUED,
            source=types.EXECUTION_SOURCE_API,
        )
        said = {"branch": self.branch, "commit_sha": self.commit_sha}
        run.metadata.update({name: value for name, value in said.items() if value is not None})
        if locale is not None:
            run.variant.id = f"locale-{locale}"
            run.variant.values.update({"LOCALE": locale})
        execution = executions_pb2.Execution(id=execution_id, counts=executions_pb2.RunCounts(total=1))
        accepted = executor.ExecutionChanged(org_id=self.org_id, sequence=1, execution=execution)
        told = [event(EXECUTION_EVENTS, execution_id, accepted), self._run(run, 1)]
        run.status = types.EXECUTION_STATUS_RUNNING
        run.started_at.FromDatetime(self.now - timedelta(minutes=1))
        told.append(self._run(run, 2))
        self._finish(run, ending)
        return [*told, self._run(run, 3)]

    def _finish(self, run: runs_pb2.Run, ending: str) -> None:
        run.status, success = ENDINGS[ending]
        run.completed_at.FromDatetime(self.now)
        run.execution_time_seconds = 60.0
        if success is not None:
            run.success = success
        if not success:
            run.failure.category = types.FAILURE_CATEGORY_ELEMENT_NOT_FOUND
            run.failure.message, run.failure.step_index, run.failure.step_kind = 'No "Buy" after 30 s', 2, "tapOn"
            run.report_metadata.update({"category": "element_not_found", "top_failure": run.failure.message})
        attempt = run.attempts.add(number=1, worker="w", status=run.status, started_at=run.started_at)
        if success is not None:
            attempt.success = success
        if run.HasField("failure"):
            attempt.failure.CopyFrom(run.failure)

    def _run(self, run: runs_pb2.Run, revision: int) -> Event:
        message = executor.RunChanged(
            org_id=self.org_id,
            revision=revision,
            run=run,
            build_uploaded_at=self._uploaded(self.ages.get(run.build_id, 0)),
            branch=self.branch,
            commit_sha=self.commit_sha,
        )
        return event(EXECUTION_EVENTS, self.app_id, message)

    def _uploaded(self, age: int) -> datetime:
        return self.now - timedelta(days=1 + age)


def with_duplicates(events: Sequence[Event]) -> list[Event]:
    """Every event twice, the second time backwards."""
    return [*events, *reversed(events)]
