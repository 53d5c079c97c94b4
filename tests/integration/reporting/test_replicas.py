"""Replicas that fold the same and neighbouring events at the same time lose races, and nothing else."""

import asyncio
from collections.abc import Sequence

from services.chassis.events import Event
from services.chassis.mongo import Mongo
from services.chassis.retry import is_transient
from services.reporting.consumer import EventHandler
from services.reporting.events import parse_event
from services.reporting.storage.projections import MongoProjections
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.tables import contents
from tests.fakes.reporting_recount import recount
from tests.integration.reporting.rebuild_world import World

PIECE = 20


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


async def test_the_read_models_equal_a_recount(world: World) -> None:
    events = world.events(60)
    orders = [world.random.sample(events, len(events)) for _ in range(3)]
    await asyncio.gather(*(replica(world.mongo, order) for order in orders))
    told = [snapshot for event in events if (snapshot := parse_event(event))]
    assert contents(await world.tables(0)) == contents(recount(told))
