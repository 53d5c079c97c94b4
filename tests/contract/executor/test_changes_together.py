"""Changes of runs that arrive together: each has its own outcome."""

import asyncio
from collections import Counter

from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.executor.model.lifecycle import Fenced
from services.executor.model.runs import Run
from services.executor.ports.runs import Claim, RunKey
from services.executor.storage.change_notifier import MongoReleasedRuns
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, facts, finish, keys_of, runs_of, start
from tests.fakes.executor import plan


async def claim_all(world: World, keys: list[RunKey], *workers: str) -> list[Claim]:
    wanted = [world.runs.claim(key, worker) for key in keys for worker in workers]
    return [claim for claim in await asyncio.gather(*wanted) if claim is not None]


async def finish_all(world: World, claims: list[Claim]) -> list[Run]:
    return await asyncio.gather(*(finish(world, claim) for claim in claims))


async def test_runs_of_one_execution_are_claimed_and_ended_together(world: World) -> None:
    execution = await start(world, *(plan(str(number)) for number in range(5)))
    claims = await claim_all(world, await keys_of(world, execution), "worker-1")
    assert [claim.run.attempts[-1].worker for claim in claims] == ["worker-1"] * 5
    ended = await finish_all(world, claims)
    assert {run.status for run in ended} == {Status.COMPLETED}
    stored = await world.executions.get(execution.id)
    assert (stored.status, stored.counts.passed) == (Status.COMPLETED, 5)
    numbers = [sequence for sequence, _, _ in await facts(world, execution)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_of_two_claims_of_a_run_that_come_together_one_is_granted(world: World) -> None:
    execution = await start(world, plan(), plan())
    keys = await keys_of(world, execution)
    claims = await claim_all(world, keys, "worker-1", "worker-2")
    assert Counter(claim.run.id for claim in claims) == Counter(key.run_id for key in keys)


async def test_an_outdated_token_is_refused_beside_ends_that_are_stored(world: World) -> None:
    execution = await start(world, *(plan() for _ in range(3)))
    claims = [await claimed(world, key) for key in await keys_of(world, execution)]
    ends = [
        world.runs.finish(claim.key, claim.run.fencing_token - (index == 1), AttemptResult())
        for index, claim in enumerate(claims)
    ]
    outcomes = await asyncio.gather(*ends, return_exceptions=True)
    assert [isinstance(outcome, Fenced) for outcome in outcomes] == [False, True, False]
    statuses = [run.status for run in await runs_of(world, execution)]
    assert statuses == [Status.COMPLETED, Status.RUNNING, Status.COMPLETED]


async def test_runs_that_end_together_release_different_ones(world: World) -> None:
    execution = await start(world, *(plan(str(number)) for number in range(5)), max_parallel=2)
    queued = [run for run in await runs_of(world, execution) if run.status is Status.QUEUED]
    claims = await claim_all(world, [RunKey(execution.id, run.id) for run in queued], "worker-1")
    await finish_all(world, claims)
    counts = Counter(run.status for run in await runs_of(world, execution))
    assert counts == {Status.COMPLETED: 2, Status.QUEUED: 2, Status.INITIALIZED: 1}


async def test_a_stopped_caller_leaves_the_others(world: World) -> None:
    execution = await start(world, plan(), plan())
    first, second = await keys_of(world, execution)
    stopped = asyncio.create_task(world.runs.claim(first, "worker-1"))
    claim = asyncio.create_task(world.runs.claim(second, "worker-1"))
    await asyncio.sleep(0)
    stopped.cancel()
    assert await claim is not None
    await asyncio.wait({stopped})


async def test_released_runs_are_seen(world: World) -> None:
    async with MongoReleasedRuns(world.mongo).watch() as released:
        execution = await start(world, plan(), plan(), max_parallel=1)
        queued = await anext(released)
        await finish_all(world, [await claimed(world, queued.key)])
        next_one = await anext(released)
    assert {queued.key, next_one.key} == set(await keys_of(world, execution))
    assert {queued.org_id, next_one.org_id} == {execution.org_id}
