import asyncio

import pytest

from services.chassis import metrics
from services.chassis.errors import ResourceExhausted, Unavailable
from services.chassis.fair_turns import FairTurns
from tests.eventually import eventually


def refusals() -> float:
    return metrics.REGISTRY.get_sample_value("mobiletest_limit_refusals_total", {"limit": "waiting_requests"}) or 0


class Work:
    """Takes turns and holds each until it is told to end."""

    def __init__(self, turns: FairTurns) -> None:
        self._turns = turns
        self._ends: dict[str, asyncio.Event] = {}
        self.running: list[str] = []

    async def run(self, name: str) -> None:
        """The first letter of the name is the organisation."""
        self._ends[name] = asyncio.Event()
        async with self._turns.take(name[0]):
            self.running.append(name)
            await self._ends[name].wait()
            self.running.remove(name)

    async def start(self, *names: str) -> list[asyncio.Task[None]]:
        tasks = []
        for name in names:
            tasks.append(asyncio.create_task(self.run(name)))
            await asyncio.sleep(0)
        return tasks

    async def end(self, task: asyncio.Task[None], name: str) -> None:
        self._ends[name].set()
        await task
        await asyncio.sleep(0)


async def test_organisations_that_wait_are_served_in_rotation() -> None:
    work = Work(FairTurns(1, per_org=1, waiting_per_org=9, waiting=9))
    names = ["a1", "a2", "a3", "b1", "b2", "c1"]
    tasks = dict(zip(names, await work.start(*names), strict=True))
    order = []
    for _ in names:
        (name,) = await eventually(lambda: work.running)
        order.append(name)
        await work.end(tasks[name], name)
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_one_organisation_leaves_turns_to_others() -> None:
    work = Work(FairTurns(2, per_org=1, waiting_per_org=9, waiting=9))
    tasks = await work.start("a1", "a2", "b1")
    assert work.running == ["a1", "b1"]
    await work.end(tasks[2], "b1")
    assert work.running == ["a1"]
    await work.end(tasks[0], "a1")
    assert work.running == ["a2"]
    await work.end(tasks[1], "a2")


async def test_too_many_requests_of_an_organisation_are_refused() -> None:
    work = Work(FairTurns(1, per_org=1, waiting_per_org=1, waiting=9))
    tasks, before = await work.start("a1", "a2", "b1"), refusals()
    with pytest.raises(ResourceExhausted) as refusal:
        await work.run("a3")
    assert (refusal.value.reason, refusal.value.retry_after) == ("TOO_MANY_WAITING", 1.0)
    assert refusals() == before + 1
    for task, name in zip(tasks, ("a1", "a2", "b1"), strict=True):
        await eventually(lambda name=name: name in work.running)  # type: ignore[misc]
        await work.end(task, name)


async def test_too_many_requests_of_all_together_are_refused() -> None:
    work = Work(FairTurns(1, per_org=1, waiting_per_org=9, waiting=1))
    tasks, before = await work.start("a1", "b1"), refusals()
    with pytest.raises(Unavailable) as refusal:
        await work.run("c1")
    assert (refusal.value.reason, refusal.value.retry_after) == ("TOO_MANY_WAITING", 1.0)
    assert refusals() == before + 1
    await work.end(tasks[0], "a1")
    await work.end(tasks[1], "b1")


async def test_requests_that_cost_more_while_they_wait_are_fewer() -> None:
    turns = FairTurns(1, per_org=1, waiting_per_org=10, waiting=15)
    end = asyncio.Event()

    async def use(org_id: str, cost: int) -> None:
        async with turns.take(org_id, cost):
            await end.wait()

    tasks = []
    for org_id, cost in (("a", 100), ("a", 7), ("b", 8)):
        tasks.append(asyncio.create_task(use(org_id, cost)))
        await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted):
        await use("a", 4)
    with pytest.raises(Unavailable):
        await use("c", 1)
    tasks[2].cancel()
    await asyncio.wait(tasks[2:])
    tasks.append(asyncio.create_task(use("c", 8)))
    end.set()
    await asyncio.gather(*tasks[:2], tasks[3])


async def test_a_cancelled_waiter_leaves_the_queue() -> None:
    turns = FairTurns(1, per_org=1, waiting_per_org=2, waiting=9)
    work = Work(turns)
    tasks = await work.start("a1", "a2", "b1")
    tasks[1].cancel()
    await asyncio.wait([tasks[1]])
    assert turns.waiting == 1
    await work.end(tasks[0], "a1")
    assert work.running == ["b1"]
    await work.end(tasks[2], "b1")


async def test_a_turn_that_is_cancelled_as_it_is_given_goes_to_the_next() -> None:
    turns = FairTurns(1, per_org=1, waiting_per_org=9, waiting=9)
    work = Work(turns)
    async with turns.take("a"):
        tasks = await work.start("b1", "c1")
    tasks[0].cancel()
    await asyncio.wait(tasks[:1])
    assert await eventually(lambda: work.running) == ["c1"]
    await work.end(tasks[1], "c1")


async def test_a_request_that_gives_up_as_a_turn_becomes_free_costs_no_turn() -> None:
    """Its future is cancelled at once, but its task runs only after the turn was to be given to it."""
    turns = FairTurns(1, per_org=1, waiting_per_org=9, waiting=9)
    end = asyncio.Event()

    async def use() -> None:
        async with turns.take("a"):
            await end.wait()

    first = asyncio.create_task(use())
    await asyncio.sleep(0)
    second, third = asyncio.create_task(use()), asyncio.create_task(use())
    await eventually(lambda: turns.waiting == 2)
    end.set()
    second.cancel()
    await asyncio.gather(first, second, third, return_exceptions=True)
    async with turns.take("b"):
        assert turns.waiting == 0
