"""What organisations use of runs and language models."""

import asyncio
from datetime import date

import pytest

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.executor.model.organisation_limits import UNLIMITED, ModelDay, ModelUse, OrganisationLimits
from services.executor.model.runs import RunLimits, RunPlan
from services.executor.storage.leased_runs import EXACT_BELOW
from services.executor.storage.model_usage import MongoModelUsage
from tests.contract.executor.conftest import World, world_on
from tests.contract.executor.executions import claimed, start, started
from tests.fakes.executor import plan

LIMITS = OrganisationLimits(model_calls_per_day=100, model_tokens_per_day=1000)


def several(number: int) -> list[RunPlan]:
    return [plan() for _ in range(number)]


async def test_waiting_and_running_runs_are_counted(world: World) -> None:
    """Of the caller's organisation, also those that max_parallel holds back; not those that have ended."""
    assert (await world.executions.waiting_runs(), await world.executions.running_runs()) == (0, 0)
    [key, *_] = await started(world, *several(3))
    [held_back, *_] = await started(world, *several(4), max_parallel=1)
    await start(world, *several(2), org_id="another")
    assert await world.executions.waiting_runs() == 7
    await claimed(world, key)
    assert (await world.executions.waiting_runs(), await world.executions.running_runs()) == (6, 1)
    await world.executions.cancel(held_back.execution_id)
    assert await world.executions.waiting_runs() == 2


async def test_a_large_limit_holds_too(empty_mongo: Mongo) -> None:
    """It is not checked exactly at first, but one process counts its own claims, so it never exceeds the limit."""
    world = world_on(empty_mongo, RunLimits(organisation_runs=EXACT_BELOW))
    keys = await started(world, *several(EXACT_BELOW + 10))
    granted = 0
    for first in range(0, len(keys), 8):
        claims = await asyncio.gather(*(world.runs.claim(key, "worker") for key in keys[first : first + 8]))
        granted += sum(claim is not None for claim in claims)
    assert granted == EXACT_BELOW
    assert await world.runs.claimable(Platform.ANDROID, 10) == []


@pytest.fixture
def ledger(mongo: Mongo) -> MongoModelUsage:
    return MongoModelUsage(mongo)


@pytest.fixture
def today() -> ModelDay:
    return ModelDay(current().org_id, date(2026, 11, 22))


async def test_an_account_gives_no_more_than_the_limit(ledger: MongoModelUsage, today: ModelDay) -> None:
    assert await ledger.used(today) == ModelUse()
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(60, 400)
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(40, 400)
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(0, 200)
    assert await ledger.used(today) == ModelUse(100, 1000)


async def test_a_lowered_limit_takes_nothing_away(ledger: MongoModelUsage, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(60, 400), LIMITS)
    assert await ledger.take(today, ModelUse(1, 1), OrganisationLimits(model_calls_per_day=1)) == ModelUse(0, 1)
    assert await ledger.used(today) == ModelUse(60, 401)


async def test_what_is_given_back_can_be_taken_again(ledger: MongoModelUsage, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(100, 1000), LIMITS)
    await ledger.give_back(today, ModelUse(10, 100))
    assert await ledger.take(today, ModelUse(20, 200), LIMITS) == ModelUse(10, 100)


async def test_days_and_organisations_have_accounts_of_their_own(ledger: MongoModelUsage, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(100, 1000), LIMITS)
    for other in (ModelDay(today.org_id, date(2026, 11, 23)), ModelDay(f"{today.org_id}2", today.day)):
        assert await ledger.take(other, ModelUse(100, 1000), LIMITS) == ModelUse(100, 1000)


async def test_workers_that_take_at_the_same_time_share_the_limit(ledger: MongoModelUsage, today: ModelDay) -> None:
    granted = await asyncio.gather(*(ledger.take(today, ModelUse(9, 90), LIMITS) for _ in range(20)))
    assert (sum(g.calls for g in granted), sum(g.tokens for g in granted)) == (100, 1000)


async def test_without_limits_everything_is_granted_and_counted(ledger: MongoModelUsage, today: ModelDay) -> None:
    assert await ledger.take(today, ModelUse(1_000_000, 5), UNLIMITED) == ModelUse(1_000_000, 5)
    assert await ledger.used(today) == ModelUse(1_000_000, 5)
