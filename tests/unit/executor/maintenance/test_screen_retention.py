"""Screens that no run refers to for long are deleted, and the least used of organisations that have too much."""

from datetime import UTC, date, datetime, timedelta

import pytest

from mobiletest_automation.model.results import TREE
from services.executor.maintenance import screen_retention
from services.executor.maintenance.screen_retention import ScreenRetention
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.screens import OVERHEAD_BYTES, ScreenKey
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import FakeConfirmedLimits
from tests.fakes.screens import FakeScreens

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
SIZE = OVERHEAD_BYTES + 10


class Scene:
    def __init__(self, days: float = 30) -> None:
        self.screens, self.lease, self.limits = FakeScreens(), FakeLease(), FakeConfirmedLimits()
        self.retention = ScreenRetention(self.screens, self.lease, self.limits, self.now, days=days)

    async def now(self) -> datetime:
        return NOW

    async def store(self, org_id: str, *days_ago: int) -> None:
        for days in days_ago:
            await self.screens.store(key(org_id, days), b"x" * 10, TREE, day(days))

    def kept(self) -> list[tuple[str, int]]:
        return sorted((screen.org_id, int(screen.hash)) for screen in self.screens.kept)


def day(days_ago: int) -> date:
    return (NOW - timedelta(days=days_ago)).date()


def key(org_id: str, number: int) -> ScreenKey:
    return ScreenKey(org_id, f"{number:032}")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_retention, "BATCH", 2)


async def test_screens_that_no_run_refers_to_are_deleted() -> None:
    scene = Scene()
    await scene.store("a", 40, 33, 32, 31, 30, 0)
    await scene.store("b", 31)
    await scene.retention.sweep()
    assert scene.kept() == [("a", 0), ("a", 30)]
    assert scene.lease.released == 1


async def test_a_run_that_refers_to_a_screen_keeps_it() -> None:
    scene = Scene()
    await scene.store("a", 40)
    await scene.screens.refresh(key("a", 40), day(1))
    await scene.retention.sweep()
    assert scene.kept() == [("a", 40)]


async def test_without_a_period_screens_are_kept_forever() -> None:
    scene = Scene(days=0)
    await scene.store("a", 4000)
    await scene.retention.sweep()
    assert scene.kept() == [("a", 4000)]


async def test_the_least_used_of_an_organisation_with_too_much_are_deleted() -> None:
    scene = Scene()
    scene.limits.limits = OrganisationLimits(screen_bytes=2 * SIZE)
    await scene.store("a", 5, 4, 3, 2, 1)
    await scene.store("b", 7, 6)
    await scene.retention.sweep()
    assert scene.kept() == [("a", 1), ("a", 2), ("b", 6), ("b", 7)]


async def test_a_limit_of_zero_deletes_all() -> None:
    scene = Scene()
    scene.limits.limits = OrganisationLimits(screen_bytes=0)
    await scene.store("a", 2, 1, 0)
    await scene.retention.sweep()
    assert not scene.screens.contents


async def test_without_confirmed_limits_nothing_is_deleted_for_them() -> None:
    scene = Scene()
    scene.limits.limits = OrganisationLimits(screen_bytes=0)
    scene.limits.away = True
    await scene.store("a", 40, 1)
    await scene.retention.sweep()
    assert scene.kept() == [("a", 1)]


async def test_whoever_loses_the_lease_stops() -> None:
    scene = Scene()
    scene.lease.times = 2
    await scene.store("a", 35, 34, 33, 32, 31)
    await scene.retention.sweep()
    assert len(scene.kept()) == 3
    scene.lease.times = 0
    await scene.retention.sweep()
    assert len(scene.kept()) == 3
