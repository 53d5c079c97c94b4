"""F07, F09, F10, F13, F31: whatever happens to events and replicas, the read models equal a recount, byte for byte.

`RUNS=1000000 SEED=7 pytest -s tests/fault/reporting/test_exactly_once.py` tries more, or something else.
"""

import asyncio
import os
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import monotonic

import pytest

from tests.eventually import eventually
from tests.fault.counting import record
from tests.fault.reporting.event_generator import EventGenerator
from tests.fault.reporting.event_load import EventLoad
from tests.fault.reporting.fault_sequence import WANTED, FaultSequence
from tests.fault.reporting.recount_comparison import compare_with_recount
from tests.fault.reporting.replicas import Replicas, replicas

RUNS = int(os.environ.get("RUNS", "100000"))
SEED = int(os.environ.get("SEED", "20261121"))


@pytest.mark.timeout(1800)
async def test_read_models_always_equal_a_recount(tmp_path: Path) -> None:
    print(f"RUNS={RUNS} SEED={SEED}")
    generator, chance = EventGenerator(SEED, RUNS), Random(f"{SEED} storm")
    since = monotonic()
    async with replicas(tmp_path) as projectors:
        load, storm = EventLoad(projectors, generator), FaultSequence(projectors, chance)
        for _ in range(WANTED):
            projectors.start()
        async with asyncio.TaskGroup() as group:
            group.create_task(load.publish())
            group.create_task(storm.rage(load))
        await eventually(lambda: _caught_up(projectors), within=600, every=0.5)
        took = monotonic() - since
        assert await projectors.dead_letters() == 0
        await projectors.end()
        with projectors.client as client:
            wrong, documents = compare_with_recount(client, generator)
    record(
        "F31",
        "runs published 1 to 5 times, shuffled, late, while reporting replicas were killed, frozen, added and removed",
        tried=RUNS,
        survived=RUNS if not wrong else 0,
        differences=len(wrong),
        documents=documents,
        events=load.published,
        faults=dict(storm.struck),
        seconds=round(took),
        memory_of_the_comparison_mib=getrusage(RUSAGE_SELF).ru_maxrss // 1024,
        seed=str(SEED),
    )
    assert not wrong, f"SEED={SEED} RUNS={RUNS}: {len(wrong)} differences\n" + "\n".join(wrong[:20])


async def _caught_up(projectors: Replicas) -> bool:
    return await projectors.behind() == 0
