"""A hub rests after a failure, longer each time, and is back after one good status."""

import asyncio

import pytest

from services.executor.automation.devices.pools.hub_health import HealthPolicy, HubHealth, watch
from tests.eventually import eventually

RESTS = HealthPolicy(every=5, first=2, most=60)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Hub:
    """Answers as it is told; `hangs` makes it wait for ever."""

    def __init__(self) -> None:
        self.well = True
        self.hangs = False
        self.asked = 0

    async def ready(self, url: str) -> bool:
        self.asked += 1
        if self.hangs:
            await asyncio.Event().wait()
        return self.well


def endpoint(clock: Clock, rests: HealthPolicy = RESTS) -> tuple[HubHealth, list[bool]]:
    """An endpoint, and what it told of its health."""
    turns: list[bool] = []
    made = HubHealth("http://hub:4723", rests=rests, changed=lambda: turns.append(made.up), now=clock)
    return made, turns


@pytest.mark.parametrize(("misses", "rest"), [(1, 2), (2, 4), (3, 8), (6, 60), (1000, 60)])
def test_rests_double_up_to_a_bound_with_jitter(misses: int, rest: float) -> None:
    drawn = {RESTS.after(misses) for _ in range(20)}
    assert all(0.75 * rest <= seconds <= 1.25 * rest for seconds in drawn)
    assert len(drawn) > 1


async def test_a_bad_status_is_a_rest_and_a_good_one_its_end() -> None:
    hub, (found, turns) = Hub(), endpoint(Clock())
    hub.well = False
    await found.look(hub.ready)
    await found.look(hub.ready)
    assert (found.up, turns) == (False, [False])
    hub.well = True
    await found.look(hub.ready)
    await found.look(hub.ready)
    assert (found.up, turns) == (True, [False, True])


async def test_a_status_that_does_not_come_is_a_bad_one() -> None:
    hub, (found, _) = Hub(), endpoint(Clock(), HealthPolicy(answer=0))
    hub.hangs = True
    await found.look(hub.ready)
    assert not found.up


async def test_a_hub_whose_status_is_good_and_whose_sessions_fail_rests_longer_each_time() -> None:
    clock, hub = Clock(), Hub()
    found, _ = endpoint(clock)
    waits = []
    for _ in range(4):
        found.failed("no device")
        waits.append(await waited(found, clock))
        await found.look(hub.ready)
        assert found.up
    assert waits == sorted(waits)
    assert waits[-1] > 10
    found.worked()
    found.failed("no device")
    assert await waited(found, clock) < 3


async def waited(found: HubHealth, clock: Clock) -> float:
    """Seconds until the endpoint wants its status asked for, which pass."""
    began = clock.now
    task = asyncio.create_task(found.due())
    for _ in range(1000):
        await asyncio.sleep(0)
        if task.done():
            break
        clock.now += 0.1
        found._sooner.set()
    assert task.done()
    return clock.now - began


async def test_a_failure_counts_more_than_a_good_status_that_was_asked_for_before() -> None:
    clock = Clock()
    found, _ = endpoint(clock)

    async def slow(url: str) -> bool:
        clock.now += 1
        found.failed("refused")
        return True

    await found.look(slow)
    assert not found.up


async def test_it_is_asked_at_once_when_suspected_and_left_alone_while_it_rests() -> None:
    hub, (found, _) = Hub(), endpoint(Clock())
    watching = asyncio.create_task(watch(found, hub.ready))
    await eventually(lambda: hub.asked == 1)
    found.check_soon()
    await eventually(lambda: hub.asked == 2)
    found.failed("refused")
    found.check_soon()
    for _ in range(10):
        await asyncio.sleep(0)
    assert hub.asked == 2
    watching.cancel()
