"""F05, F06: the broker is away under load, frozen or killed with its topics: nothing is lost or counted twice.

What reporting stored is compared byte for byte with a recount of everything that catalog and executor wrote to their
outboxes, in the whole service. `OUTAGE` is the length of an outage in seconds, `OUTAGES` how many there are.
"""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pytest
import pytest_asyncio
from pymongo import MongoClient

from deploy.local.stack import Stack, run_stack
from services.chassis.outbox import OUTBOX, to_events
from services.reporting.consumer import TOPICS
from services.reporting.events import parse_event
from services.reporting.model.batch import Snapshot
from tests.contract.reporting.projections import stored
from tests.e2e.client import Api
from tests.e2e.world import World
from tests.eventually import eventually
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_stored_bytes import contents, differences
from tests.fault.conftest import SHORT, on_the_stack
from tests.fault.counting import record
from tests.fault.test_stack import all_ended, no_differences, paced_app
from tests.fault.verifying import serving_generation, verified

OUTAGE = float(os.environ.get("OUTAGE", "6"))
OUTAGES = int(os.environ.get("OUTAGES", "3"))
SEED = int(os.environ.get("SEED", "20261121"))


@pytest_asyncio.fixture(loop_scope="session")
async def shared_stack(tmp_path: Path) -> AsyncIterator[Stack]:
    """A stack of its own: what is compared is everything that was ever stored."""
    async with run_stack(tmp_path / "state", workers=2, extra_env=SHORT) as stack:
        yield stack


def published_snapshots(client: MongoClient[dict[str, Any]]) -> Iterator[Snapshot]:
    """The snapshots of all published events, from the outboxes."""
    for database in ("catalog", "executor"):
        for row in client[database][OUTBOX].find():
            for event in to_events(row):
                if event.topic in TOPICS and (snapshot := parse_event(event)):
                    yield snapshot


async def broken(stack: Stack, number: signal.Signals) -> None:
    await stack.kill("broker", number)


async def mended(stack: Stack, number: signal.Signals) -> None:
    """A frozen broker continues; a killed one comes back empty."""
    if number is signal.SIGSTOP:
        await stack.kill("broker", signal.SIGCONT)
    else:
        await stack.start("broker")


async def starts_during(api: Api, world: World, workflow: Any, seconds: float) -> int:
    """Start executions for some seconds and read in between; how many were accepted."""
    started = 0
    end = monotonic() + seconds
    while monotonic() < end:
        execution = await world.start(workflow)
        started += 1
        answer = await api.get(f"/executions/{execution['id']}", params={"wait": 2, "after_revision": 10**9})
        assert answer.status == 200
    return started


@on_the_stack
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("fault", "number"), [("F05", signal.SIGSTOP), ("F06", signal.SIGKILL)], ids=["frozen", "wiped"]
)
async def test_a_broker_outage_leaves_no_difference(
    own_stack: Stack, own_api: Api, own_world: World, fault: str, number: signal.Signals
) -> None:
    app, _, workflow = await paced_app(own_world)
    chance = Random(SEED)
    started = 0
    for _ in range(OUTAGES):
        started += await starts_during(own_api, own_world, workflow, seconds=chance.uniform(0, 2))
        await broken(own_stack, number)
        started += await starts_during(own_api, own_world, workflow, seconds=OUTAGE)
        await mended(own_stack, number)
    runs = await all_ended(own_api, app, within=300)
    assert len(runs) == started * 4
    with MongoClient[dict[str, Any]](own_stack.mongo_uri, tz_aware=True) as client:
        await eventually(lambda: no_difference(client), within=120, every=0.5)
        rows = [row for name in ("catalog", "executor") for row in client[name][OUTBOX].find()]
        events = sum(len(to_events(row)) for row in rows)
    await eventually(lambda: no_differences(own_api, app, runs))
    own_stack.check()
    verify = await verified(own_stack)
    record(
        fault,
        f"runs while the broker was {'frozen' if fault == 'F05' else 'killed, and came back empty'}",
        tried=len(runs),
        survived=len(runs),
        outages=OUTAGES,
        seconds_each=OUTAGE,
        events=events,
        differences=0,
        differences_of_verify=verify,
        seed=str(SEED),
    )


async def no_difference(client: MongoClient[dict[str, Any]]) -> bool:
    actual = stored(client, "reporting", generation=serving_generation(client))
    wrong = differences(actual, contents(recount(published_snapshots(client))))
    assert not wrong, f"SEED={SEED}: {len(wrong)} differences\n" + "\n".join(wrong[:20])
    return True
