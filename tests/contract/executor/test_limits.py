"""What organisations use of runs and language models: in memory and on MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest

from services.chassis.context import Caller, bind, current
from services.chassis.mongo import Mongo
from services.executor.model.executions import BuildConfig, ExecutionKind, StartSubject
from services.executor.model.limits import UNLIMITED, ModelDay, ModelUse, OrganisationLimits
from services.executor.model.run_config import RunConfig
from services.executor.model.runs import Platform, RunLimits
from services.executor.ports.limits import ModelUsageLedger
from services.executor.ports.runs import RunKey
from services.executor.storage.leased_runs import EXACT_BELOW
from services.executor.storage.model_usage import MongoModelUsage
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.contract.executor.conftest import World, world_of
from tests.fakes.executor import FakeCatalog, plan
from tests.fakes.model_usage import FakeModelUsage

LIMITS = OrganisationLimits(model_calls_per_day=100, model_tokens_per_day=1000)


async def start(world: World, runs: int, max_parallel: int | None = None) -> list[RunKey]:
    """Start a workflow; its runs."""
    catalog = FakeCatalog()
    wanted = StartRequest(
        subject=StartSubject(
            ExecutionKind.WORKFLOW, catalog.workflow(*(plan() for _ in range(runs)), max_parallel=max_parallel)
        ),
        run_config=RunConfig(),
        build_config=BuildConfig(),
    )
    execution = await ExecutionStarter(catalog, world.executions).start(wanted)
    return [RunKey(execution.id, run.id) for run in await world.executions.all_runs(execution.id)]


async def test_waiting_and_running_runs_are_counted(world: World) -> None:
    """Of the caller's organisation, also those that max_parallel holds back; not those that have ended."""
    assert (await world.executions.waiting_runs(), await world.executions.running_runs()) == (0, 0)
    keys = await start(world, 3)
    held_back = await start(world, 4, max_parallel=1)
    with bind(Caller(org_id="another", via_gateway=True)):
        await start(world, 2)
    assert await world.executions.waiting_runs() == 7
    claim = await world.runs.claim(keys[0], "worker")
    assert claim is not None
    assert (await world.executions.waiting_runs(), await world.executions.running_runs()) == (6, 1)
    await world.executions.cancel(held_back[0].execution_id)
    assert await world.executions.waiting_runs() == 2


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def large_limit(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """With a limit that is not checked exactly at first."""
    async with world_of(request, RunLimits(organisation_runs=EXACT_BELOW)) as found:
        yield found


async def test_a_large_limit_holds_too(large_limit: World) -> None:
    """One process counts its own claims, so it never exceeds the limit."""
    keys = await start(large_limit, EXACT_BELOW + 10)
    claims = [await large_limit.runs.claim(key, "worker") for key in keys]
    assert sum(claim is not None for claim in claims) == EXACT_BELOW
    assert await large_limit.runs.claimable(Platform.ANDROID, 10) == []


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def ledger(request: pytest.FixtureRequest) -> AsyncIterator[ModelUsageLedger]:
    if request.param == "fake":
        yield FakeModelUsage()
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("shared_database")
    driver: Any = request.param
    mongo = await Mongo.connect(uri, database, driver)
    yield MongoModelUsage(mongo)
    await mongo.close()


@pytest.fixture
def today() -> ModelDay:
    return ModelDay(current().org_id, date(2026, 11, 22))


async def test_an_account_gives_no_more_than_the_limit(ledger: ModelUsageLedger, today: ModelDay) -> None:
    assert await ledger.used(today) == ModelUse()
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(60, 400)
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(40, 400)
    assert await ledger.take(today, ModelUse(60, 400), LIMITS) == ModelUse(0, 200)
    assert await ledger.used(today) == ModelUse(100, 1000)


async def test_a_lowered_limit_takes_nothing_away(ledger: ModelUsageLedger, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(60, 400), LIMITS)
    assert await ledger.take(today, ModelUse(1, 1), OrganisationLimits(model_calls_per_day=1)) == ModelUse(0, 1)
    assert await ledger.used(today) == ModelUse(60, 401)


async def test_what_is_given_back_can_be_taken_again(ledger: ModelUsageLedger, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(100, 1000), LIMITS)
    await ledger.give_back(today, ModelUse(10, 100))
    assert await ledger.take(today, ModelUse(20, 200), LIMITS) == ModelUse(10, 100)


async def test_days_and_organisations_have_accounts_of_their_own(ledger: ModelUsageLedger, today: ModelDay) -> None:
    await ledger.take(today, ModelUse(100, 1000), LIMITS)
    for other in (ModelDay(today.org_id, date(2026, 11, 23)), ModelDay(f"{today.org_id}2", today.day)):
        assert await ledger.take(other, ModelUse(100, 1000), LIMITS) == ModelUse(100, 1000)


async def test_workers_that_take_at_the_same_time_share_the_limit(ledger: ModelUsageLedger, today: ModelDay) -> None:
    granted = await asyncio.gather(*(ledger.take(today, ModelUse(9, 90), LIMITS) for _ in range(20)))
    assert (sum(g.calls for g in granted), sum(g.tokens for g in granted)) == (100, 1000)


async def test_without_limits_everything_is_granted_and_counted(ledger: ModelUsageLedger, today: ModelDay) -> None:
    assert await ledger.take(today, ModelUse(1_000_000, 5), UNLIMITED) == ModelUse(1_000_000, 5)
    assert await ledger.used(today) == ModelUse(1_000_000, 5)
