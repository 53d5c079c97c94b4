"""Run completions folded per second: in batches of 1,000, against the same fold of one event at a time.

Both sides decode the same events and write all read models to the same MongoDB; only the batch size differs.
"""

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from mobiletest.executor.v1 import events_pb2
from mobiletest.types.v1 import execution_pb2, platform_pb2

from services.chassis.events import Event
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.consumer import EXECUTION_EVENTS, Intake
from services.reporting.storage import MIGRATIONS, MongoFolds
from services.reporting.usecases import Folding

BATCH = 1000
BATCHES = 6
SINGLES = 300
APPS, BUILDS, TESTS = 20, 5, 25


@dataclass(frozen=True, slots=True)
class Rates:
    """Events per second."""

    folded: float
    single: float


def completions(seed: int) -> Iterator[Event]:
    """Endless ended runs of some apps, builds and tests, nine of ten passed."""
    chance = random.Random(seed)
    apps = [
        (str(uuid4()), [str(uuid4()) for _ in range(BUILDS)], [str(uuid4()) for _ in range(TESTS)]) for _ in range(APPS)
    ]
    org_id, start = str(uuid4()), datetime.now(UTC) - timedelta(days=1)
    for number in itertools.count():
        app, builds, tests = chance.choice(apps)
        started = start + timedelta(seconds=number)
        build = chance.randrange(BUILDS)
        yield _event(_completion(org_id, app, builds[build], chance.choice(tests), started, chance.random() < 0.9))


def _completion(org_id: str, app: str, build: str, test: str, started: datetime, passed: bool) -> events_pb2.RunChanged:
    message = events_pb2.RunChanged(org_id=org_id, revision=3, sequence=3, branch="main")
    message.build_uploaded_at.FromDatetime(started - timedelta(days=1))
    run = message.run
    run.id, run.execution_id, run.test_id, run.test_name = str(uuid4()), str(uuid4()), test, f"Test {test[:8]}"
    run.app_id, run.build_id, run.resolved_build_version = app, build, f"1.0.{build[:4]}"
    run.test_version_number, run.attempt_number, run.success = 1, 1, passed
    run.platform = platform_pb2.PLATFORM_ANDROID
    run.status = execution_pb2.EXECUTION_STATUS_COMPLETED
    run.source = execution_pb2.EXECUTION_SOURCE_CI
    run.started_at.FromDatetime(started)
    run.completed_at.FromDatetime(started + timedelta(seconds=20))
    attempt = run.attempts.add(number=1, worker="w", status=run.status, success=passed, simulated=True)
    attempt.started_at.CopyFrom(run.started_at)
    attempt.completed_at.CopyFrom(run.completed_at)
    if not passed:
        category = execution_pb2.FAILURE_CATEGORY_ELEMENT_NOT_FOUND
        reason = 'no element "Pay" on the screen'
        run.failure.category, run.failure.reason, run.failure.message = category, reason, reason
        run.failure.step_index, run.failure.step_kind = 2, "tapOn"
        attempt.failure.CopyFrom(run.failure)
    return message


def _event(message: events_pb2.RunChanged) -> Event:
    payload, name = message.SerializeToString(), message.DESCRIPTOR.full_name
    return Event(EXECUTION_EVENTS, message.run.app_id, name, "benchmark", str(uuid4()), datetime.now(UTC), payload)


async def compare(mongo_uri: str) -> Rates:
    """Fold the same kind of events both ways, each into a database of its own."""
    return Rates(await _rate(mongo_uri, BATCH, BATCH * BATCHES), await _rate(mongo_uri, 1, SINGLES))


async def _rate(mongo_uri: str, batch: int, count: int) -> float:
    mongo = await Mongo.connect(mongo_uri, f"benchmark_folding_{batch}", "motor")
    try:
        await migrate(mongo, MIGRATIONS)
        intake = Intake(Folding(MongoFolds(mongo)))
        events = completions(seed=batch)
        await intake.handle(list(itertools.islice(events, batch)))
        batches = [list(itertools.islice(events, batch)) for _ in range(count // batch)]
        started = time.perf_counter()
        for each in batches:
            await intake.handle(each)
        return count / (time.perf_counter() - started)
    finally:
        await mongo.close()
