"""Numbers that are counted now and then, with what this process adds meanwhile."""

import asyncio
from dataclasses import dataclass, field

import pytest

from services.chassis.org_counts import MAX_ORGANISATIONS, Numbers, OrgCounts
from tests.fakes.chassis import FakeClock


@dataclass
class Stored:
    """Rows of organisations, which count how often they are counted, and can be held while they are."""

    rows: int = 0
    counts: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def count(self, _: str) -> Numbers:
        self.counts += 1
        rows = self.rows
        self.begun.set()
        await self.go_on.wait()
        return {"rows": rows}


class Scene:
    def __init__(self) -> None:
        self.stored, self.clock = Stored(), FakeClock()
        self.stored.go_on.set()
        self.counts = OrgCounts(self.stored.count, 1.0, self.clock)

    async def rows(self, org_id: str = "org", max_age: float | None = None) -> int:
        return (await self.counts.get(org_id, max_age))["rows"]

    async def begin_count(self) -> "asyncio.Task[int]":
        """A count that has read the rows and waits for `go_on`."""
        self.stored.go_on.clear()
        self.stored.begun.clear()
        counting = asyncio.create_task(self.rows())
        await self.stored.begun.wait()
        return counting


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_numbers_are_counted_once_a_second(scene: Scene) -> None:
    for seconds, counts in ((0.0, 1), (0.75, 1), (0.25, 2)):
        scene.clock.advance(seconds)
        await scene.rows()
        assert scene.stored.counts == counts
    await scene.rows(max_age=0.0)
    assert scene.stored.counts == 3


async def test_organisations_are_counted_each_for_itself(scene: Scene) -> None:
    for org_id in ("org", "another"):
        await scene.rows(org_id)
    assert scene.stored.counts == 2
    scene.counts.add("another", {"rows": 1})
    assert (await scene.rows(), await scene.rows("another")) == (0, 1)


async def test_calls_at_the_same_time_share_a_count(scene: Scene) -> None:
    assert await asyncio.gather(*(scene.rows() for _ in range(20))) == [0] * 20
    assert scene.stored.counts == 1


async def test_what_is_added_counts_until_it_is_counted(scene: Scene) -> None:
    await scene.rows()
    scene.stored.rows = 2
    scene.counts.add("org", {"rows": 2})
    assert await scene.rows() == 2
    scene.clock.advance(1)
    assert await scene.rows() == 2


async def test_what_is_added_during_a_count_is_not_lost(scene: Scene) -> None:
    counting = await scene.begin_count()
    scene.counts.add("org", {"rows": 2})
    scene.stored.go_on.set()
    assert await counting == await scene.rows() == 2


async def test_what_is_being_added_counts_also_after_another_count(scene: Scene) -> None:
    with scene.counts.adding("org", {"rows": 3}):
        assert await scene.rows() == 3
        assert await scene.rows(max_age=0.0) == 3
    assert await scene.rows() == 3


async def test_what_could_not_be_added_does_not_count(scene: Scene) -> None:
    with pytest.raises(RuntimeError), scene.counts.adding("org", {"rows": 3}):
        raise RuntimeError
    assert await scene.rows() == 0


async def test_forgotten_numbers_are_counted_again(scene: Scene) -> None:
    await scene.rows()
    scene.stored.rows = 1
    scene.counts.forget("org")
    assert await scene.rows() == 1


async def test_a_count_from_before_a_change_is_not_kept(scene: Scene) -> None:
    counting = await scene.begin_count()
    scene.stored.rows = 1
    scene.counts.forget("org")
    scene.stored.go_on.set()
    assert await counting == 0
    assert await scene.rows() == 1


async def test_a_cancelled_count_is_not_kept(scene: Scene) -> None:
    counting = await scene.begin_count()
    counting.cancel()
    scene.stored.rows = 1
    scene.stored.go_on.set()
    assert await scene.rows() == 1


async def test_numbers_of_many_organisations_do_not_fill_the_memory(scene: Scene) -> None:
    """Those that were not asked for the longest are forgotten."""
    await scene.rows()
    for number in range(MAX_ORGANISATIONS):
        scene.counts.add(str(number), {"rows": 1})
        scene.counts.add("org", {"rows": 1})
    assert await scene.rows() == MAX_ORGANISATIONS
    assert scene.stored.counts == 1
    for number in range(MAX_ORGANISATIONS):
        scene.counts.add(f"another-{number}", {"rows": 1})
    assert await scene.rows() == 0
    assert scene.stored.counts == 2
