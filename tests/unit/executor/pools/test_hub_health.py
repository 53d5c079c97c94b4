"""A hub is unhealthy after a failure, with growing backoff, until its status is good."""

import asyncio

import pytest

from services.executor.pools.hub_health import HealthPolicy, HubHealth, watch
from tests.eventually import eventually
from tests.fakes.chassis import FakeClock

POLICY = HealthPolicy(interval=5, first_backoff=2, max_backoff=60)


class Hub:
    """A status check that returns `good`."""

    def __init__(self) -> None:
        self.good = True
        self.checks = 0

    async def ready(self, url: str) -> bool:
        self.checks += 1
        return self.good


def hub_health(clock: FakeClock) -> tuple[HubHealth, list[bool]]:
    """The health of a hub, and the changes that it reported."""
    changes: list[bool] = []
    health = HubHealth(
        "http://hub:4723", policy=POLICY, changed=lambda: changes.append(health.healthy), now=clock.monotonic
    )
    return health, changes


@pytest.mark.parametrize(("failures", "seconds"), [(1, 2), (2, 4), (3, 8), (6, 60), (1000, 60)])
def test_backoff_doubles_up_to_a_bound_with_jitter(failures: int, seconds: float) -> None:
    drawn = {POLICY.backoff(failures) for _ in range(20)}
    assert all(0.75 * seconds <= each <= 1.25 * seconds for each in drawn)
    assert len(drawn) > 1


async def test_a_hub_is_unhealthy_from_a_bad_status_to_a_good_one() -> None:
    hub, (health, changes) = Hub(), hub_health(FakeClock())
    hub.good = False
    await health.check(hub.ready)
    await health.check(hub.ready)
    assert (health.healthy, changes) == (False, [False])
    hub.good = True
    await health.check(hub.ready)
    await health.check(hub.ready)
    assert (health.healthy, changes) == (True, [False, True])


async def test_backoff_grows_while_sessions_fail_despite_a_good_status() -> None:
    clock, hub = FakeClock(), Hub()
    health, _ = hub_health(clock)
    waits = []
    for _ in range(4):
        health.report_failure("no device")
        waits.append(await waited(health, clock))
        await health.check(hub.ready)
        assert health.healthy
    assert waits == sorted(waits)
    assert waits[-1] > 10
    health.report_success()
    health.report_failure("no device")
    assert await waited(health, clock) < 3


async def waited(health: HubHealth, clock: FakeClock) -> float:
    """Let the time until the next check pass; return the seconds."""
    began = clock.monotonic()
    task = asyncio.create_task(health.wait_until_due())
    for _ in range(1000):
        await asyncio.sleep(0)
        if task.done():
            break
        clock.advance(0.1)
        health._rescheduled.set()
    assert task.done()
    return clock.monotonic() - began


async def test_a_failure_outweighs_a_status_requested_before_it() -> None:
    clock = FakeClock()
    health, _ = hub_health(clock)

    async def slow(url: str) -> bool:
        clock.advance(1)
        health.report_failure("refused")
        return True

    await health.check(slow)
    assert not health.healthy


async def test_check_soon_applies_to_healthy_hubs_only() -> None:
    hub, (health, _) = Hub(), hub_health(FakeClock())
    watching = asyncio.create_task(watch(health, hub.ready))
    await eventually(lambda: hub.checks == 1)
    health.check_soon()
    await eventually(lambda: hub.checks == 2)
    health.report_failure("refused")
    health.check_soon()
    for _ in range(10):
        await asyncio.sleep(0)
    assert hub.checks == 2
    watching.cancel()
