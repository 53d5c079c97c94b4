"""The cache of organisations' limits, on a catalog that can be away."""

import asyncio

import pytest
from mobiletest.types.v1 import limits_pb2

from mobiletest_automation.model.run_config import Screens
from services.chassis.context import current
from services.chassis.errors import Unavailable
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.organisation_limits import FRESH_SECONDS, MAX_REFRESHES, RETRY_SECONDS, OrganisationLimitsCache
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


class Scene:
    def __init__(self) -> None:
        self.catalog, self.clock = Catalog(), FakeClock()
        self.cache = OrganisationLimitsCache(self.catalog.load, DEFAULTS, self.clock)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_limits_are_those_set_over_the_defaults(scene: Scene) -> None:
    assert scene.cache.known("org") == DEFAULTS
    scene.catalog.limits["org"] = limits_pb2.OrganisationLimits(
        concurrent_runs=2, allowed_models=["m"], uploads=1, script_hosts=["a.b"]
    )
    assert await scene.cache.get("org") == OrganisationLimits(
        queued_runs=10,
        concurrent_runs=2,
        model_calls_per_day=7,
        allowed_models=("m",),
        script_hosts=("a.b",),
    )
    assert await scene.cache.get("another") == DEFAULTS


async def test_a_setting_of_a_newer_catalog_is_the_default(scene: Scene) -> None:
    for word, screens in (("off", Screens.OFF), ("every second", Screens.ALL)):
        limits = scene.cache.put("org", limits_pb2.OrganisationLimits(screen_bytes=0, screens=word))
        assert (limits.screen_bytes, limits.screens) == (0, screens)


async def test_concurrent_readers_share_one_load(scene: Scene) -> None:
    await asyncio.gather(*(scene.cache.get("org") for _ in range(10)))
    scene.cache.known("org")
    assert scene.catalog.loads == 1


async def test_nothing_waits_for_a_refresh(scene: Scene) -> None:
    await scene.cache.get("org")
    scene.catalog.limits["org"] = limits_pb2.OrganisationLimits(concurrent_runs=2)
    scene.clock.advance(FRESH_SECONDS)
    assert scene.cache.known("org") == DEFAULTS

    await eventually(lambda: scene.cache.known("org").concurrent_runs == 2)


async def test_many_organisations_are_refreshed_a_few_at_a_time(scene: Scene) -> None:
    for number in range(100):
        scene.cache.known(f"org {number}")
    assert len(scene.cache._loading) == MAX_REFRESHES

    def all_known() -> bool:
        for number in range(100):
            scene.cache.known(f"org {number}")
        return scene.catalog.loads == 100

    await eventually(all_known)


async def test_limits_of_other_answers_are_kept(scene: Scene) -> None:
    scene.cache.put("org", limits_pb2.OrganisationLimits(queued_runs=0))
    assert (await scene.cache.get("org")).queued_runs == 0
    assert scene.catalog.loads == 0


async def test_the_last_known_limits_outlive_an_outage(scene: Scene) -> None:
    """And the catalog is asked again after a few seconds."""
    scene.catalog.limits["org"] = limits_pb2.OrganisationLimits(concurrent_runs=2)
    await scene.cache.get("org")
    scene.catalog.away = True
    scene.clock.advance(FRESH_SECONDS)
    scene.cache.known("org")

    await eventually(lambda: scene.catalog.loads == 2 and not scene.cache._loading)
    assert scene.cache.known("org").concurrent_runs == 2
    assert await scene.cache.get("unknown") == DEFAULTS
    scene.catalog.away = False
    scene.clock.advance(RETRY_SECONDS)
    scene.cache.known("org")
    await eventually(lambda: scene.catalog.loads == 4)
