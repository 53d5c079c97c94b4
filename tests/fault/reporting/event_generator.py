"""Generates the events of several organisations: the same for the same seed, and never all in memory.

`EventGenerator.events(organisation)` yields the events of one organisation in the order in which they happened, so that
they can be recounted separately. `event_delivery.py` repeats and shuffles them on the way to the broker.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.executor.v1 import events_pb2 as executor
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.types.v1 import execution_pb2 as types

from services.chassis.events import Event
from services.reporting.consumer import CATALOG_EVENTS, EXECUTION_EVENTS

START = datetime(2026, 9, 1, tzinfo=UTC)
APPS, BUILDS, TESTS = 2, 6, 25
SIZES = (1, 1, 2, 3, 5, 8, 13, 21, 34, 60)
SPAN = timedelta(days=40)
ENDINGS = {"passed": 70, "failed": 12, "flaked": 7, "infra": 4, "cancelled": 5, "running": 1, "queued": 1}
FAILURES: tuple[tuple[Any, str], ...] = (
    (types.FAILURE_CATEGORY_ELEMENT_NOT_FOUND, 'No element "Pay" after {} ms'),
    (types.FAILURE_CATEGORY_ASSERTION_FAILED, "Expected 3 items in the cart, found {}"),
    (types.FAILURE_CATEGORY_APP_CRASH, "java.lang.NullPointerException at com.shop.Cart.total(Cart.kt:{})"),
    (types.FAILURE_CATEGORY_SCRIPT_ERROR, "unexpected token at line {}"),
)
VERDICTS: dict[str, Sequence[bool | None]] = {
    "passed": (True,),
    "failed": (False,),
    "flaked": (False, True),
    "infra": (None,),
    "cancelled": (None,),
}
STATUSES: dict[str, Any] = {"infra": types.EXECUTION_STATUS_FAILED, "cancelled": types.EXECUTION_STATUS_CANCELLED}
INFRASTRUCTURE: tuple[Any, str] = (types.FAILURE_CATEGORY_NETWORK_ERROR, "connect ECONNREFUSED 10.0.0.{}:443")


@dataclass(frozen=True, slots=True)
class EventGenerator:
    """`runs` in total, spread over the organisations."""

    seed: int
    runs: int
    organisations: int = 8

    def events(self, organisation: int) -> Iterator[Event]:
        """All events of one organisation, each once."""
        more = 1 if organisation < self.runs % self.organisations else 0
        return Organisation(f"org-{organisation}", Random(f"{self.seed} {organisation}")).events(
            self.runs // self.organisations + more
        )


class Organisation:
    """One organisation: its apps, builds and tests, and executions until there are as many runs as wanted."""

    def __init__(self, org_id: str, chance: Random) -> None:
        self._org_id = org_id
        self._chance = chance
        self._events = 0
        self._revisions: dict[str, int] = {}

    def events(self, runs: int) -> Iterator[Event]:
        """Catalog events are mixed with those of executions, and often follow the first executions that need them."""
        begin = [*self._catalog()]
        later = [event for event in begin if self._chance.random() < 0.5]
        yield from (event for event in begin if event not in later)
        executions = done = 0
        while done < runs:
            size = min(self._chance.choice(SIZES), runs - done)
            yield from self._execution(f"{self._org_id}-e{executions}", size, START + SPAN * (done / runs))
            done, executions = done + size, executions + 1
            if self._chance.random() < 0.1:
                yield self._some_change()
        yield from later

    def _catalog(self) -> Iterator[Event]:
        for app in range(APPS):
            yield self._app(app)
            yield from (self._build_event(app, build) for build in range(BUILDS))
            yield from (self._attachment(app, test) for test in range(TESTS))
        yield from (self._test(test) for test in range(TESTS))

    def _some_change(self) -> Event:
        app, build, test = self._chance.randrange(APPS), self._chance.randrange(BUILDS), self._chance.randrange(TESTS)
        changes: list[Callable[[], Event]] = [
            lambda: self._app(app),
            lambda: self._build_event(app, build),
            lambda: self._attachment(app, test),
            lambda: self._test(test),
        ]
        return self._chance.choice(changes)()

    def _app(self, app: int) -> Event:
        message = catalog.AppChanged(
            org_id=self._org_id, app_id=self._id("app", app), name=f"App {app} {self._chance.random():.3f}"
        )
        if self._chance.random() < 0.7:
            message.current_version = f"1.{self._chance.randrange(BUILDS)}"
        return self._copied(message, message.app_id, self._id("app", app))

    def _build_event(self, app: int, build: int) -> Event:
        message = catalog.BuildChanged(
            org_id=self._org_id,
            app_id=self._id("app", app),
            build_id=self._build_id(app, build),
            version=f"1.{build}",
            deleted=self._chance.random() < 0.1,
        )
        message.uploaded_at.FromDatetime(_uploaded_at(build))
        return self._copied(message, message.build_id, message.app_id)

    def _attachment(self, app: int, test: int) -> Event:
        message = catalog.AttachmentChanged(
            org_id=self._org_id,
            app_id=self._id("app", app),
            test_id=self._id("test", test),
            attached=self._chance.random() < 0.9,
            test_name=f"Test {test}",
        )
        return self._copied(message, f"{message.app_id} {message.test_id}", message.app_id)

    def _test(self, test: int) -> Event:
        name = f"Test {test} {self._chance.random():.3f}"
        message = catalog.TestChanged(org_id=self._org_id, test_id=self._id("test", test), name=name)
        return self._copied(message, message.test_id, message.test_id)

    def _copied(self, message: Any, entity: str, key: str) -> Event:
        """The event of a catalog change, with the entity's next revision."""
        message.revision = self._revisions[entity] = self._revisions.get(entity, 0) + 1
        return self._event(CATALOG_EVENTS, key, message, START)

    def _execution(self, execution_id: str, size: int, at: datetime) -> Iterator[Event]:
        for sequence in range(1, self._chance.choice([2, 2, 3])):
            execution = executions_pb2.Execution(id=execution_id, counts=executions_pb2.RunCounts(total=size))
            message = executor.ExecutionChanged(org_id=self._org_id, sequence=sequence, execution=execution)
            yield self._event(EXECUTION_EVENTS, execution_id, message, at)
        stormy = size >= 5 and self._chance.random() < 0.05
        app, build = self._chance.randrange(APPS), self._chance.randrange(BUILDS)
        for number in range(size):
            yield from self._run(f"{execution_id}-r{number}", execution_id, (app, build, number % TESTS), at, stormy)

    def _run(
        self, run_id: str, execution_id: str, place: tuple[int, int, int], at: datetime, stormy: bool
    ) -> Iterator[Event]:
        """Mostly only its end; sometimes also that it was queued (perhaps with another build) and that it started."""
        app, build, test = place
        ending = "failed" if stormy else self._chance.choices(list(ENDINGS), list(ENDINGS.values()))[0]
        message = self._accepted(run_id, execution_id, app, test)
        message.created_at.FromDatetime(at)
        if ending == "queued" or self._chance.random() < 0.25:
            message.run.status = types.EXECUTION_STATUS_QUEUED
            moves = self._chance.random() < 0.1
            self._resolve(message, app, (build + moves) % BUILDS)
            yield self._of_run(message, 1, at)
        if ending == "queued":
            return
        self._resolve(message, app, build)
        began = at + timedelta(seconds=self._chance.randrange(1, 90_000))
        message.run.started_at.FromDatetime(began)
        if ending == "running" or self._chance.random() < 0.2:
            message.run.status = types.EXECUTION_STATUS_RUNNING
            yield self._of_run(message, 2, began)
        if ending != "running":
            self._end(message.run, ending, began, stormy)
            yield self._of_run(message, 3, began + timedelta(minutes=1))

    def _accepted(self, run_id: str, execution_id: str, app: int, test: int) -> executor.RunChanged:
        run = runs_pb2.Run(id=run_id, execution_id=execution_id, test_id=self._id("test", test))
        run.test_name, run.test_version_number = f"Test {test}", self._chance.choice([1, 1, 2])
        if self._chance.random() < 0.99:
            run.app_id = self._id("app", app)
        return executor.RunChanged(org_id=self._org_id, run=run, branch=self._chance.choice(["main", "main", "dev"]))

    def _resolve(self, message: executor.RunChanged, app: int, build: int) -> None:
        """Set the build of the run; a run without an app has none, and rarely one with an app."""
        if not message.run.app_id or self._chance.random() < 0.03:
            for name in ("build_id", "resolved_build_version"):
                message.run.ClearField(name)
            message.ClearField("build_uploaded_at")
            return
        message.run.build_id, message.run.resolved_build_version = self._build_id(app, build), f"1.{build}"
        message.build_uploaded_at.FromDatetime(_uploaded_at(build))

    def _end(self, run: runs_pb2.Run, ending: str, began: datetime, stormy: bool) -> None:
        verdicts = VERDICTS[ending]
        self._attempt(run, verdicts, began, stormy=stormy, blame=ending != "cancelled")
        run.status = STATUSES.get(ending, types.EXECUTION_STATUS_COMPLETED)
        if verdicts[-1] is not None:
            run.success = verdicts[-1]
        run.metadata.update({"attempts": len(verdicts), "device": "Pixel 8", "platform": "Android", "simulated": False})
        run.completed_at.FromDatetime(began + timedelta(seconds=60))
        run.execution_time_seconds = 60.0

    def _attempt(
        self, run: runs_pb2.Run, verdicts: Sequence[bool | None], began: datetime, *, stormy: bool, blame: bool
    ) -> None:
        """The attempts with these verdicts, and the failure of the last one as that of the run."""
        category, message = FAILURES[0] if stormy else self._chance.choice(FAILURES)
        if None in verdicts:
            category, message = INFRASTRUCTURE
        for number, verdict in enumerate(verdicts, start=1):
            attempt = run.attempts.add(number=number, worker="w", status=types.EXECUTION_STATUS_COMPLETED)
            attempt.started_at.FromDatetime(began + timedelta(seconds=20 * number))
            if verdict is not None:
                attempt.success = verdict
            if not verdict and blame:
                attempt.failure.category = category
                attempt.failure.message = message.format(self._chance.randrange(100))
        if run.attempts[-1].HasField("failure"):
            run.failure.CopyFrom(run.attempts[-1].failure)

    def _of_run(self, message: executor.RunChanged, revision: int, at: datetime) -> Event:
        message.revision = message.sequence = revision
        return self._event(EXECUTION_EVENTS, message.run.app_id or message.run.execution_id, message, at)

    def _event(self, topic: str, key: str, message: Message, at: datetime) -> Event:
        self._events += 1
        return Event(
            topic=topic,
            key=key,
            type=message.DESCRIPTOR.full_name,
            source="generated",
            id=f"{self._org_id}-{self._events}",
            time=at,
            payload=message.SerializeToString(),
        )

    def _id(self, what: str, number: int) -> str:
        return f"{self._org_id}-{what}{number}"

    def _build_id(self, app: int, build: int) -> str:
        return f"{self._org_id}-app{app}-b{build}"


def _uploaded_at(build: int) -> datetime:
    return START - timedelta(days=30 - build)
