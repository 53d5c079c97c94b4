"""The order of claims, on the fake and on MongoDB: fairness, started runs, priority, age, duration, limits."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from services.chassis.context import Caller, bind
from services.executor.model.attempts import AttemptResult
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.failures import Category, Failure
from services.executor.model.run_config import RunConfig
from services.executor.model.runs import Platform, RunPlan
from services.executor.ports.executions import PageRequest
from services.executor.ports.runs import Claim, RunKey
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import World
from tests.fakes.executor import FakeCatalog, plan


async def start(
    world: World, *plans: RunPlan, org_id: str = "", priority: int = 0, max_parallel: int | None = None
) -> Execution:
    """An execution, of the caller's organisation or another."""
    catalog = FakeCatalog()
    workflow_id = catalog.workflow(*(plans or (plan(),)), max_parallel=max_parallel)
    wanted = StartRequest(
        subject=StartSubject(ExecutionKind.WORKFLOW, workflow_id),
        run_config=RunConfig(),
        build_config=BuildConfig(),
        priority=priority,
    )
    with bind(Caller(org_id=org_id or str(uuid4()), via_gateway=True)):
        return await ExecutionStarter(catalog, world.executions).start(wanted)


async def next_claim(world: World, platform: Platform = Platform.ANDROID) -> Claim | None:
    """The run that a worker with one free slot claims."""
    for key in await world.runs.claimable(platform, 1):
        return await world.runs.claim(key, "worker-1")
    return None


async def owners(world: World, number: int) -> list[str]:
    """The organisations of the next runs that are claimed, one by one."""
    claims = [await next_claim(world) for _ in range(number)]
    return [claim.run.org_id for claim in claims if claim]


async def finish(world: World, claim: Claim, result: AttemptResult = AttemptResult()) -> None:  # noqa: B008
    await world.runs.finish(claim.key, claim.run.fencing_token, result)


async def test_only_runs_of_accepted_organisations_are_offered(world: World) -> None:
    mine, other = str(uuid4()), str(uuid4())
    await start(world, plan(), plan(), org_id=other)
    mine_id = (await start(world, plan(), org_id=mine)).id
    keys = await world.runs.claimable(Platform.ANDROID, 10, lambda org_id: org_id == mine)
    assert [key.execution_id for key in keys] == [mine_id]
    assert len(await world.runs.claimable(Platform.ANDROID, 10, lambda org_id: org_id == other)) == 2


async def test_an_organisation_gets_its_turn_whatever_the_priority_of_others(world: World) -> None:
    urgent, other = str(uuid4()), str(uuid4())
    await start(world, *(plan() for _ in range(40)), org_id=urgent, priority=10)
    await world.advance(60)
    await start(world, plan(), plan(), org_id=other, priority=-10)
    assert Counter(await owners(world, 4)) == {urgent: 2, other: 2}


async def test_retries_of_one_organisation_do_not_precede_the_first_runs_of_another(world: World) -> None:
    retrying, other = str(uuid4()), str(uuid4())
    await start(world, *(plan() for _ in range(3)), org_id=retrying)
    for claim in [await next_claim(world) for _ in range(3)]:
        assert claim is not None
        await world.runs.hand_back(claim.key, claim.run.fencing_token)
    await start(world, org_id=other)
    assert other in await owners(world, 2)


async def test_higher_priorities_of_an_organisation_are_claimed_first_whatever_their_age(world: World) -> None:
    own = str(uuid4())
    order = [await start(world, org_id=own, priority=priority) for priority in (-10, 0, 10, 1)]
    claims = [await next_claim(world) for _ in order]
    assert [claim.execution.priority for claim in claims if claim] == [10, 1, 0, -10]


async def test_started_runs_of_an_organisation_come_before_its_priorities(world: World) -> None:
    own = str(uuid4())
    low = await start(world, org_id=own, priority=-10)
    claim = await next_claim(world)
    assert claim is not None
    await start(world, org_id=own, priority=10)
    await world.runs.hand_back(claim.key, claim.run.fencing_token)
    again = await next_claim(world)
    assert again is not None
    assert again.execution.id == low.id


async def test_organisations_share_slots_regardless_of_their_backlog(world: World) -> None:
    flood, single, third = (str(uuid4()) for _ in range(3))
    await start(world, *(plan() for _ in range(20)), org_id=flood)
    await world.advance(60)
    await start(world, org_id=single)
    await start(world, plan(), plan(), org_id=third)
    assert Counter(await owners(world, 5)) == {flood: 2, single: 1, third: 2}
    assert await owners(world, 2) == [flood, flood]


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
    assert Counter(await owners(world, 70)) == dict.fromkeys(organisations, 1)


async def seconds(world: World, org_id: str, *plans: RunPlan, each: float) -> None:
    """Run each of these tests once, with this duration."""
    await start(world, *plans, org_id=org_id)
    claims = [await next_claim(world) for _ in plans]
    await world.advance(0 if each < 1 else each)
    for claim in claims:
        assert claim is not None
        # The lease may be over by now, but nobody has taken it away.
        await finish(world, claim)
    await world.flush()


async def test_the_longest_expected_run_of_an_execution_is_claimed_first(
    world: World,
) -> None:
    org_id = str(uuid4())
    short, middle, long, new = (plan(name) for name in ("short", "middle", "long", "new"))
    for test, took in ((short, 1), (middle, 60), (long, 600)):
        await seconds(world, org_id, test, each=took)
    with bind(Caller(org_id=org_id)):
        expected = await world.executions.expected_seconds([short.target, long.target, new.target])
        assert expected[2] is None
        assert expected[0] == pytest.approx(1, abs=0.9)
        assert expected[1] == pytest.approx(600, abs=5)
        execution = await start(world, short, new, long, middle, org_id=org_id)
        claims = [await next_claim(world) for _ in range(4)]
        assert [c.run.target.test_name for c in claims if c] == ["long", "new", "middle", "short"]
        runs, _ = await world.executions.runs(execution.id, PageRequest(1, 10))
        assert [run.target.test_name for run in runs] == ["short", "new", "long", "middle"]


async def test_max_parallel_releases_the_longest_first_too(world: World) -> None:
    org_id = str(uuid4())
    short, long = plan("short"), plan("long")
    await seconds(world, org_id, short, each=1)
    await seconds(world, org_id, long, each=300)
    await start(world, short, long, org_id=org_id, max_parallel=1)
    first = await next_claim(world)
    assert first is not None
    assert first.run.target.test_name == "long"
    await finish(world, first)
    second = await next_claim(world)
    assert second is not None
    assert second.run.target.test_name == "short"


async def test_durations_are_per_organisation_and_follow_changes(world: World) -> None:
    org_id, test = str(uuid4()), plan()
    await seconds(world, org_id, test, each=100)
    await seconds(world, org_id, test, each=200)
    with bind(Caller(org_id=org_id)):
        [expected] = await world.executions.expected_seconds([test.target])
    assert expected == pytest.approx(130, abs=5)
    with bind(Caller(org_id=str(uuid4()))):
        assert await world.executions.expected_seconds([test.target]) == [None]


async def test_an_organisation_at_its_limit_waits_without_blocking_others(limited: World) -> None:
    flood, other = str(uuid4()), str(uuid4())
    execution = await start(limited, *(plan() for _ in range(6)), org_id=flood)
    claims = [await next_claim(limited) for _ in range(2)]
    assert await next_claim(limited) is None
    with bind(Caller(org_id=flood)):
        runs, _ = await limited.executions.runs(execution.id, PageRequest(1, 10))
    waiting = next(run for run in runs if run.id not in {claim.run.id for claim in claims if claim})
    assert await limited.runs.claim(RunKey(execution.id, waiting.id), "worker-2") is None
    await start(limited, org_id=other)
    assert await owners(limited, 1) == [other]
    assert claims[0] is not None
    await finish(limited, claims[0])
    assert await owners(limited, 2) == [flood]


async def test_concurrent_claims_do_not_exceed_the_limit(limited: World) -> None:
    org_id = str(uuid4())
    executions = [await start(limited, plan(), plan(), org_id=org_id) for _ in range(4)]
    with bind(Caller(org_id=org_id)):
        pages = [await limited.executions.runs(execution.id, PageRequest(1, 10)) for execution in executions]
    keys = [RunKey(run.execution_id, run.id) for runs, _ in pages for run in runs]
    claims = await asyncio.gather(*(limited.runs.claim(key, f"worker-{key.run_id}") for key in keys))
    assert sum(claim is not None for claim in claims) == 2


async def test_an_expired_lease_frees_a_place_under_the_limit(limited: World) -> None:
    org_id = str(uuid4())
    await start(limited, plan(), plan(), plan(), org_id=org_id)
    assert await owners(limited, 3) == [org_id, org_id]
    await limited.advance(16)
    for key in await limited.runs.due(10):
        await limited.runs.expire(key)
    assert await owners(limited, 3) == [org_id, org_id]


async def test_a_run_that_waits_for_a_retry_does_not_count_towards_the_limit(limited: World) -> None:
    org_id = str(uuid4())
    await start(limited, plan(), plan(), plan(), org_id=org_id)
    claims = [await next_claim(limited) for _ in range(2)]
    assert claims[0] is not None
    await finish(limited, claims[0], AttemptResult(failure=Failure(Category.DEVICE_UNAVAILABLE, "No phone.")))
    assert await owners(limited, 2) == [org_id]
