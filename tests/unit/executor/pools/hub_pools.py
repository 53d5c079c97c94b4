"""Pools at hubs, and a build to run on them."""

from pathlib import Path

from mobiletest_automation.devices.port import AppUnderTest, Seed
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import AppDelivery, HubTarget
from services.executor.pools.hub_health import HealthPolicy
from services.executor.pools.pool import Pool

SEED = Seed("run", 1)
# An unhealthy hub is not tried again.
NEVER = HealthPolicy(first_backoff=1000, max_backoff=1000)


def hub_pool(name: str, *, slots: int = 1, delivery: AppDelivery = AppDelivery.PATH, **capabilities: Json) -> Pool:
    """A pool for ios at a hub of the same name."""
    hub = HubTarget(url=f"http://{name}:4723", capabilities=capabilities, app_delivery=delivery)
    return Pool(name=name, platform="ios", slots=slots, hub=hub)


async def file() -> Path:
    return Path("/cache/app.ipa")


APP = AppUnderTest(file=file)
