"""The cache of organisations' limits, on a catalog that can be away."""

import asyncio

import pytest
from mobiletest.types.v1 import limits_pb2

from services.chassis.context import current
from services.chassis.errors import Unavailable
from services.executor.limits import FRESH_SECONDS, MAX_REFRESHES, RETRY_SECONDS, OrganisationLimitsCache
from services.executor.model.limits import OrganisationLimits
from tests.eventually import eventually
from tests.fakes.chassis import FakeClock

DEFAULTS = OrganisationLimits(queued_runs=10, concurrent_runs=5, model_calls_per_day=7)


class Catalog:
    """Counts the loads; `away` makes them fail."""

    def __init__(self) -> None:
        self.limits: dict[str, limits_pb2.OrganisationLimits] = {}
        self.loads = 0
        self.away = False

    async def load(self) -> limits_pb2.OrganisationLimits:
        self.loads += 1
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable("away")
        return self.limits.get(current().org_id, limits_pb2.OrganisationLimits())


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache(catalog: Catalog, clock: FakeClock) -> OrganisationLimitsCache:
    return OrganisationLimitsCache(catalog.load, DEFAULTS, clock)


async def test_limits_are_those_set_over_the_defaults(cache: OrganisationLimitsCache, catalog: Catalog) -> None:
    catalog.limits["org"] = limits_pb2.OrganisationLimits(
        concurrent_runs=2, allowed_models=["m"], uploads=1, script_hosts=["a.b"]
    )
    assert await cache.get("org") == OrganisationLimits(
        queued_runs=10,
        concurrent_runs=2,
        model_calls_per_day=7,
        allowed_models=("m",),
        script_hosts=("a.b",),
    )
    assert await cache.get("another") == DEFAULTS


async def test_one_load_serves_all_who_ask(cache: OrganisationLimitsCache, catalog: Catalog) -> None:
    await asyncio.gather(*(cache.get("org") for _ in range(10)))
    cache.known("org")
    assert catalog.loads == 1


async def test_nothing_waits_for_a_refresh(cache: OrganisationLimitsCache, catalog: Catalog, clock: FakeClock) -> None:
    await cache.get("org")
    catalog.limits["org"] = limits_pb2.OrganisationLimits(concurrent_runs=2)
    clock.advance(FRESH_SECONDS)
    assert cache.known("org") == DEFAULTS

    async def refreshed() -> bool:
        return cache.known("org").concurrent_runs == 2

    await eventually(refreshed)


async def test_unknown_limits_are_the_defaults_until_they_are_loaded(cache: OrganisationLimitsCache) -> None:
    assert cache.known("org") == DEFAULTS


async def test_many_organisations_are_refreshed_a_few_at_a_time(
    cache: OrganisationLimitsCache, catalog: Catalog
) -> None:
    for number in range(100):
        cache.known(f"org {number}")
    assert len(cache._loading) == MAX_REFRESHES

    async def all_known() -> bool:
        for number in range(100):
            cache.known(f"org {number}")
        return catalog.loads == 100

    await eventually(all_known)


async def test_limits_of_other_answers_are_kept(cache: OrganisationLimitsCache, catalog: Catalog) -> None:
    cache.put("org", limits_pb2.OrganisationLimits(queued_runs=0))
    assert (await cache.get("org")).queued_runs == 0
    assert catalog.loads == 0


async def test_the_last_known_limits_outlive_an_outage(
    cache: OrganisationLimitsCache, catalog: Catalog, clock: FakeClock
) -> None:
    """And the catalog is asked again after a few seconds."""
    catalog.limits["org"] = limits_pb2.OrganisationLimits(concurrent_runs=2)
    await cache.get("org")
    catalog.away = True
    clock.advance(FRESH_SECONDS)
    cache.known("org")

    async def asked(times: int) -> None:
        async def is_asked() -> bool:
            return catalog.loads == times and not cache._loading

        await eventually(is_asked)

    await asked(2)
    assert cache.known("org").concurrent_runs == 2
    assert await cache.get("unknown") == DEFAULTS
    catalog.away = False
    clock.advance(RETRY_SECONDS)
    cache.known("org")
    await asked(4)
