"""The order of claims: fairness, started runs, priority, age, duration, limits."""

import asyncio
from collections import Counter
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from services.chassis.context import Caller, bind, current
from services.executor.model.claim_order import smoothed_duration
from services.executor.model.runs import RunPlan
from services.executor.ports.runs import Claim
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import BROKEN, claimed, finish, keys_of, run_of, runs_of, start, started
from tests.fakes.executor import plan


async def next_claim(world: World, platform: Platform = Platform.ANDROID) -> Claim | None:
    """The run that a worker with one free slot claims."""
    for key in await world.runs.claimable(platform, 1):
        return await world.runs.claim(key, "worker-1")
    return None


async def owners(world: World, number: int) -> list[str]:
    """The organisations of the next runs that are claimed, one by one."""
    claims = [await next_claim(world) for _ in range(number)]
    return [claim.run.org_id for claim in claims if claim]


async def test_retries_of_one_organisation_do_not_precede_the_first_runs_of_another(world: World) -> None:
    retrying, other = str(uuid4()), str(uuid4())
    await start(world, *(plan() for _ in range(3)), org_id=retrying)
    for claim in [await next_claim(world) for _ in range(3)]:
        assert claim is not None
        await world.runs.hand_back(claim.key, claim.run.fencing_token)
    await start(world, org_id=other)
    assert other in await owners(world, 2)


async def test_with_a_single_slot_organisations_take_turns(world: World) -> None:
    flood, single = str(uuid4()), str(uuid4())
    await start(world, *(plan() for _ in range(20)), org_id=flood)
    claim = await next_claim(world)
    assert claim is not None
    await start(world, org_id=single)
    await finish(world, claim)
    assert await owners(world, 1) == [single]


async def test_platforms_are_scheduled_separately(world: World) -> None:
    """Many running runs on iOS do not put an organisation behind others on Android."""
    busy, flood = str(uuid4()), str(uuid4())
    await start(world, *(plan(platform=Platform.IOS) for _ in range(3)), org_id=busy)
    for _ in range(3):
        await next_claim(world, Platform.IOS)
    await start(world, *(plan() for _ in range(9)), org_id=flood)
    assert await owners(world, 2) == [flood, flood]
    await start(world, org_id=busy)
    assert await owners(world, 1) == [busy]


async def test_a_batch_of_claimable_runs_is_in_the_fair_order(world: World) -> None:
    flood, other = str(uuid4()), str(uuid4())
    await start(world, *(plan() for _ in range(9)), org_id=flood)
    await world.advance(1)
    await start(world, plan(), plan(), org_id=other)
    keys = await world.runs.claimable(Platform.ANDROID, 5)
    assert len(set(keys)) == 5
    claims = [await world.runs.claim(key, "worker-1") for key in keys]
    assert [claim.run.org_id for claim in claims if claim] == [flood, other, flood, other, flood]


async def test_every_organisation_gets_a_slot_before_any_gets_a_second(world: World) -> None:
    organisations = [str(uuid4()) for _ in range(60)]
    await asyncio.gather(*(start(world, plan(), plan(), org_id=org_id) for org_id in organisations))
    assert Counter(await owners(world, 60)) == dict.fromkeys(organisations, 1)


async def run_once(world: World, test: RunPlan, seconds: float) -> float:
    """Run the test for about this long; exactly how long it was."""
    [key] = await started(world, test)
    claim = await claimed(world, key)
    await world.advance(seconds)
    await finish(world, claim)
    await world.transactions.durations.flush()
    return (await run_of(world, key)).busy_seconds


async def test_the_longest_expected_run_of_an_execution_is_claimed_first(world: World) -> None:
    short, middle, long, new = (plan(name) for name in ("short", "middle", "long", "new"))
    took = [await run_once(world, test, seconds) for test, seconds in ((short, 100), (middle, 6_000), (long, 60_000))]
    assert await world.executions.expected_seconds([short.target, long.target, new.target]) == [took[0], took[2], None]
    execution = await start(world, short, new, long, middle)
    claims = [await next_claim(world) for _ in range(4)]
    assert [claim.run.target.test_name for claim in claims if claim] == ["long", "new", "middle", "short"]
    assert [run.target.test_name for run in await runs_of(world, execution)] == ["short", "new", "long", "middle"]


async def test_max_parallel_releases_the_longest_first_too(world: World) -> None:
    short, long = plan("short"), plan("long")
    await run_once(world, short, 100)
    await run_once(world, long, 30_000)
    await start(world, short, long, max_parallel=1)
    for name in ("long", "short"):
        claim = await next_claim(world)
        assert claim is not None
        assert claim.run.target.test_name == name
        await finish(world, claim)


async def test_durations_are_per_organisation_and_follow_changes(world: World) -> None:
    test = plan()
    first, second = [await run_once(world, test, seconds) for seconds in (100, 200)]
    [expected] = await world.executions.expected_seconds([test.target])
    assert expected == smoothed_duration(second, first)
    with bind(Caller(org_id=str(uuid4()))):
        assert await world.executions.expected_seconds([test.target]) == [None]


async def test_an_organisation_at_its_limit_waits_without_blocking_others(limited: World) -> None:
    flood, other = current().org_id, str(uuid4())
    execution = await start(limited, *(plan() for _ in range(6)))
    claims = [await next_claim(limited) for _ in range(2)]
    assert await next_claim(limited) is None
    taken = {claim.key for claim in claims if claim}
    waiting = next(key for key in await keys_of(limited, execution) if key not in taken)
    assert await limited.runs.claim(waiting, "worker-2") is None
    await start(limited, org_id=other)
    assert await owners(limited, 1) == [other]
    assert claims[0] is not None
    await finish(limited, claims[0])
    assert await owners(limited, 2) == [flood]


async def test_concurrent_claims_do_not_exceed_the_limit(limited: World) -> None:
    keys = [key for _ in range(4) for key in await started(limited, plan(), plan())]
    claims = await asyncio.gather(*(limited.runs.claim(key, f"worker-{key.run_id}") for key in keys))
    assert sum(claim is not None for claim in claims) == 2


async def test_an_expired_lease_frees_a_place_under_the_limit(limited: World) -> None:
    await start(limited, plan(), plan(), plan())
    assert len(await owners(limited, 3)) == 2
    await limited.expire_leases()
    for key in await limited.runs.due(10):
        await limited.runs.expire(key)
    assert len(await owners(limited, 3)) == 2


async def test_a_run_that_waits_for_a_retry_does_not_count_towards_the_limit(limited: World) -> None:
    await start(limited, plan(), plan(), plan())
    claims = [await next_claim(limited) for _ in range(2)]
    assert claims[0] is not None
    await finish(limited, claims[0], BROKEN)
    assert len(await owners(limited, 2)) == 1
