"""The daily limits of language models: shared by workers, taken in portions."""

import asyncio
from datetime import UTC, date, datetime

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from services.executor.model.organisation_limits import UNLIMITED, ModelDay, ModelUse, OrganisationLimits
from services.executor.worker.model_quota import PORTION_CALLS, DailyModelQuota
from tests.fakes.chassis import FakeClock
from tests.fakes.model_usage import FakeModelUsage, FixedLimits

DAY = date(2026, 11, 22)
TODAY = ModelDay("org", DAY)


@pytest.fixture
def ledger() -> FakeModelUsage:
    return FakeModelUsage()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 11, 22, 23, 59, tzinfo=UTC))


def worker(ledger: FakeModelUsage, clock: FakeClock, limits: OrganisationLimits) -> DailyModelQuota:
    return DailyModelQuota(ledger, FixedLimits(limits), clock)


async def call(quota: DailyModelQuota, tokens: int = 100, org_id: str = "org") -> bool:
    """Make a call; whether it was allowed."""
    try:
        await quota.start_call(org_id, tokens)
    except ModelFailed:
        return False
    quota.add_tokens(org_id, tokens)
    return True


async def test_workers_share_the_calls_of_a_day(ledger: FakeModelUsage, clock: FakeClock) -> None:
    workers = [worker(ledger, clock, OrganisationLimits(model_calls_per_day=30)) for _ in range(3)]
    allowed = [await call(workers[number % 3]) for number in range(50)]
    assert sum(allowed) == 30
    assert (await ledger.used(TODAY)).calls == 30


async def test_each_day_and_each_organisation_has_its_own(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, OrganisationLimits(model_calls_per_day=1))
    assert [await call(quota), await call(quota), await call(quota, org_id="another")] == [True, False, True]
    clock.advance(60)
    assert await call(quota)
    assert set(ledger.accounts) == {TODAY, ModelDay("another", DAY), ModelDay("org", date(2026, 11, 23))}
    assert not await call(worker(ledger, clock, OrganisationLimits(model_calls_per_day=0)))


async def test_tokens_are_limited_by_what_calls_really_took(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, OrganisationLimits(model_tokens_per_day=1000))
    await quota.start_call("org", 100)
    quota.add_tokens("org", 950)
    with pytest.raises(ModelFailed, match=r"model_tokens_per_day \(1000\).*00:00 UTC") as refused:
        await quota.start_call("org", 100)
    assert refused.value.category is Category.LLM_BUDGET_EXCEEDED
    assert await call(quota, 50)


async def test_an_overdraft_is_paid_by_later_calls(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, OrganisationLimits(model_tokens_per_day=1000))
    await quota.start_call("org", 10)
    quota.add_tokens("org", 995)
    assert not await call(quota, 10)
    assert (await ledger.used(TODAY)).tokens == 1000


async def test_most_calls_cost_no_write(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, OrganisationLimits(model_calls_per_day=100_000, model_tokens_per_day=100_000_000))
    assert all([await call(quota) for _ in range(10 * PORTION_CALLS)])
    assert ledger.writes == 10


async def test_what_is_not_used_goes_back(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, UNLIMITED)
    for _ in range(3):
        await call(quota)
    assert (await ledger.used(TODAY)).calls == PORTION_CALLS
    await quota.close()
    assert await ledger.used(TODAY) == ModelUse(3, 300)


async def test_calls_at_the_same_time_do_not_exceed_the_limit(ledger: FakeModelUsage, clock: FakeClock) -> None:
    quota = worker(ledger, clock, OrganisationLimits(model_calls_per_day=7))
    assert sum(await asyncio.gather(*(call(quota) for _ in range(20)))) == 7


async def test_without_the_database_a_model_is_unavailable(ledger: FakeModelUsage, clock: FakeClock) -> None:
    ledger.away = True
    with pytest.raises(ModelFailed) as failed:
        await worker(ledger, clock, UNLIMITED).start_call("org", 1)
    assert failed.value.category is Category.LLM_UNAVAILABLE
