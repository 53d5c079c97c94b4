"""What a worker stores of screens, on a storage that is full, away or slow."""

from datetime import timedelta

import pytest

from mobiletest_automation.model.results import TREE
from services.chassis.errors import Unavailable
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.screens import OVERHEAD_BYTES, ScreenKey
from services.executor.worker import screen_store
from services.executor.worker.screen_store import AWAY, AWAY_SECONDS, COUNTED_SECONDS, FULL, WorkerScreens
from tests.fakes.chassis import FakeClock
from tests.fakes.executor import FakeLimitsSource
from tests.fakes.screens import FakeScreens

KEY, OTHER = ScreenKey("org", "1" * 32), ScreenKey("org", "2" * 32)
FOREIGN = ScreenKey("other", "1" * 32)


class Scene:
    def __init__(self) -> None:
        self.stored, self.clock = FakeScreens(), FakeClock()
        self.limits = FakeLimitsSource()
        self.screens = WorkerScreens(self.stored, self.limits, self.clock, store_seconds=0.01)

    def limit(self, screen_bytes: int) -> None:
        self.limits.limits = OrganisationLimits(screen_bytes=screen_bytes)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_what_was_referred_to_today_costs_no_query(scene: Scene) -> None:
    assert not await scene.screens.has(KEY)
    assert await scene.screens.keep(KEY, b"tree", TREE) == ""
    calls = scene.stored.calls
    assert await scene.screens.has(KEY)
    assert not await scene.screens.has(FOREIGN)
    assert scene.stored.calls == calls + 1
    scene.clock.advance(timedelta(days=1).total_seconds())
    assert await scene.screens.has(KEY)
    assert await scene.screens.has(KEY)
    assert scene.stored.calls == calls + 2
    assert scene.stored.kept[KEY].used_on == scene.clock.now().date()


async def test_no_more_is_remembered_than_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_store, "MOST_REMEMBERED", 1)
    scene = Scene()
    for key in (KEY, OTHER):
        await scene.screens.keep(key, b"tree", TREE)
    calls = scene.stored.calls
    assert await scene.screens.has(OTHER)
    assert scene.stored.calls == calls
    assert await scene.screens.has(KEY)
    assert scene.stored.calls == calls + 1


async def test_a_storage_that_is_away_is_not_asked_again_for_a_while(scene: Scene) -> None:
    """That of one organisation: its own bytes may be what takes too long to add up."""
    scene.stored.down = Unavailable("away")
    assert await scene.screens.keep(KEY, b"tree", TREE) == AWAY
    calls = scene.stored.calls
    assert await scene.screens.keep(KEY, b"tree", TREE) == AWAY
    assert not await scene.screens.has(KEY)
    assert scene.stored.calls == calls
    scene.stored.down = None
    assert await scene.screens.keep(FOREIGN, b"tree", TREE) == ""
    scene.clock.advance(AWAY_SECONDS)
    assert await scene.screens.keep(KEY, b"tree", TREE) == ""
    assert await scene.screens.has(KEY)


async def test_a_slow_storage_counts_as_away(scene: Scene) -> None:
    scene.stored.slow = True
    assert not await scene.screens.has(KEY)
    scene.stored.slow = False
    assert await scene.screens.keep(KEY, b"tree", TREE) == AWAY


async def test_screens_above_the_limit_are_refused_until_some_are_deleted(scene: Scene) -> None:
    scene.limit(10 * (OVERHEAD_BYTES + 10))
    for number in range(11):  # 10 % above the limit
        assert await scene.screens.keep(ScreenKey("org", f"{number:032x}"), b"x" * 10, TREE) == ""
    assert await scene.screens.keep(KEY, b"x" * 10, TREE) == FULL
    assert await scene.screens.keep(FOREIGN, b"x" * 10, TREE) == ""
    assert await scene.screens.has(ScreenKey("org", f"{0:032x}"))
    await scene.stored.delete(await scene.stored.least_used("org", 1, 10))
    scene.clock.advance(COUNTED_SECONDS)
    assert await scene.screens.keep(KEY, b"x" * 10, TREE) == ""


async def test_a_limit_of_zero_refuses_all(scene: Scene) -> None:
    scene.limit(0)
    assert await scene.screens.keep(KEY, b"", TREE) == FULL
    assert not scene.stored.kept
