"""Generates the events of nightly executions: 25 ended runs each, over some apps, builds and tests."""

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from google.protobuf.message import Message
from mobiletest.executor.v1 import events_pb2, runs_pb2
from mobiletest.types.v1 import execution_pb2, platform_pb2

from services.chassis.events import Event

TOPIC = "mobiletest.executor.v1.execution-events"
APPS, BUILDS, TESTS = 20, 5, 25
RUNS_PER_EXECUTION = TESTS
RUNS_PER_EVENT = RUNS_PER_EXECUTION / (RUNS_PER_EXECUTION + 1)
PASSING = 0.9
RUN_SECONDS = 20
SPACING = timedelta(seconds=5)
REASONS = (
    'no element "Pay" on the screen',
    'expected "Thank you" to be visible within 10 s',
    "the app crashed: java.lang.NullPointerException at com.shop.Cart.total(Cart.kt:42)",
)


@dataclass(frozen=True, slots=True)
class App:
    """An app with its builds, oldest first, and its tests."""

    id: str
    builds: list[str]
    tests: list[str]


@dataclass
class EventGenerator:
    """Endless executions, the same for the same seed. Events have the time at which they are generated."""

    seed: int
    start: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(days=7))

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self.org_id = self._id()
        ids = [([self._id() for _ in range(BUILDS)], [self._id() for _ in range(TESTS)]) for _ in range(APPS)]
        self.apps = [App(self._id(), builds, tests) for builds, tests in ids]

    def executions(self) -> Iterator[list[Event]]:
        """The events of each execution: that it was accepted, then the end of each of its runs."""
        for number in itertools.count():
            yield self._execution(self.start + number * SPACING)

    def _execution(self, began: datetime) -> list[Event]:
        app, build, execution_id = self._chance.choice(self.apps), self._chance.randrange(BUILDS), self._id()
        accepted = events_pb2.ExecutionChanged(org_id=self.org_id, sequence=1)
        accepted.execution.id = execution_id
        accepted.execution.counts.total = accepted.execution.counts.queued = RUNS_PER_EXECUTION
        runs = [self._ended_run(app, build, test, execution_id, began) for test in app.tests]
        return [self._event(execution_id, accepted), *(self._event(app.id, run) for run in runs)]

    def _ended_run(self, app: App, build: int, test: str, execution_id: str, began: datetime) -> events_pb2.RunChanged:
        passed = self._chance.random() < PASSING
        message = events_pb2.RunChanged(org_id=self.org_id, revision=3, sequence=3, branch="main", commit_sha="5f" * 20)
        message.build_uploaded_at.FromDatetime(self.start - timedelta(days=BUILDS - build))
        message.created_at.FromDatetime(began)
        run = message.run
        run.id, run.execution_id, run.test_id, run.test_name = self._id(), execution_id, test, f"Test {test[:8]}"
        run.app_id, run.build_id, run.resolved_build_version = app.id, app.builds[build], f"1.{build}.0"
        run.test_version_number, run.attempt_number, run.success = 1, 1, passed
        run.platform, run.source = platform_pb2.PLATFORM_ANDROID, execution_pb2.EXECUTION_SOURCE_CI
        run.status = execution_pb2.EXECUTION_STATUS_COMPLETED
        run.started_at.FromDatetime(began)
        run.completed_at.FromDatetime(began + timedelta(seconds=RUN_SECONDS))
        run.execution_time_seconds = RUN_SECONDS
        self._attempt(run)
        _describe(run)
        return message

    def _attempt(self, run: runs_pb2.Run) -> None:
        attempt = run.attempts.add(number=1, worker="worker-7", device="Pixel 8", simulated=False)
        attempt.status, attempt.success = run.status, run.success
        attempt.started_at.CopyFrom(run.started_at)
        attempt.completed_at.CopyFrom(run.completed_at)
        if not run.success:
            category = execution_pb2.FAILURE_CATEGORY_ELEMENT_NOT_FOUND
            reason = self._chance.choice(REASONS)
            run.failure.category, run.failure.reason, run.failure.message = category, reason, reason
            run.failure.step_index, run.failure.step_kind = 2, "tapOn"
            attempt.failure.CopyFrom(run.failure)

    def _event(self, key: str, message: Message) -> Event:
        payload, name = message.SerializeToString(), message.DESCRIPTOR.full_name
        return Event(TOPIC, key, name, "benchmark", self._id(), datetime.now(UTC), payload)

    def _id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))


def _describe(run: runs_pb2.Run) -> None:
    """The metadata of a run that CI started."""
    run.metadata.update(
        {
            "system": "github",
            "commit_sha": "5f" * 20,
            "branch": "main",
            "pr_number": 1234,
            "run_url": "https://ci.example/actions/runs/1",
            "repository": "shop/app",
            "workflow_id": run.test_id,
            "attempts": 1,
            "platform": "Android",
            "device": "Pixel 8",
            "simulated": False,
        }
    )
    category, reason = (None, None) if run.success else ("element_not_found", run.failure.reason)
    run.report_metadata.update(
        {"category": category, "top_failure": reason, "flaky": False, "human_helped": False, "artifacts": []}
    )
