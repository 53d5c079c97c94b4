"""Replicas that fold the same and neighbouring events at the same time lose races, and nothing else."""

import asyncio
from collections.abc import Sequence
from random import Random

from services.chassis.events import Event
from services.chassis.mongo import Mongo
from services.chassis.retry import is_transient
from services.reporting.consumer import EventHandler
from services.reporting.events import parse_event
from services.reporting.storage.projections import MongoProjections
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.tables import contents, read_tables
from tests.fakes.reporting_event_log import EventLog
from tests.fakes.reporting_recount import recount

PIECE = 20


def made_events(random: Random, *, runs: int) -> list[Event]:
    """Runs of one app, on two builds and three tests, so that everybody writes the same documents."""
    desk = EventLog()
    builds = [("build-1", "1.0"), ("build-2", "1.1")]
    events = [desk.build(*builds[0], age=2), desk.build(*builds[1]), desk.app()]
    for number in range(runs):
        ending = random.choice(["passed", "failed", "infra", "cancelled"])
        events += desk.life(builds[number % 2], f"test-{number % 3}", ending)
    return events


async def replica(mongo: Mongo, events: Sequence[Event]) -> None:
    """Fold the events in pieces, each again until it succeeds, as the consumer does."""
    intake = EventHandler(Projector(MongoProjections(mongo)))
    for start in range(0, len(events), PIECE):
        while not await _handled(intake, events[start : start + PIECE]):
            pass


async def _handled(intake: EventHandler, events: Sequence[Event]) -> bool:
    try:
        await intake.handle(events)
    except Exception as error:
        if not is_transient(error):
            raise
        return False
    return True


async def test_the_read_models_equal_a_recount(mongo: Mongo) -> None:
    random = Random(20261120)
    events = made_events(random, runs=60)
    await asyncio.gather(*(replica(mongo, random.sample(events, len(events))) for _ in range(3)))
    told = [snapshot for event in events if (snapshot := parse_event(event))]
    assert contents(await read_tables(mongo)) == contents(recount(told))
