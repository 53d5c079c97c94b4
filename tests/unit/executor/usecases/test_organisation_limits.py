"""Runs that wait, of today and in all: counted once a second, with what this process starts meanwhile."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import cast

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import DomainError, PermissionDenied, ResourceExhausted
from services.executor.model.organisation_limits import OrganisationLimits, StartedRuns
from services.executor.ports.executions import Executions
from services.executor.usecases.organisation_limits import StartLimits
from tests.fakes.chassis import FakeClock


class Counted:
    """Answers how many runs wait, and how many were started by day."""

    def __init__(self) -> None:
        self.waiting = 0
        self.started: dict[date, int] = {}
        self.counts = 0

    async def waiting_runs(self) -> int:
        self.counts += 1
        return self.waiting

    async def started_runs(self, today: date) -> StartedRuns:
        return StartedRuns(self.started.get(today, 0), sum(self.started.values()))


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(Caller(org_id="org")) as bound:
        yield bound


class Scene:
    def __init__(self) -> None:
        self.counted, self.clock = Counted(), FakeClock()
        self.limits = StartLimits(cast(Executions, self.counted), self.clock)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def refusal(
    scene: Scene, runs: int, limit: int | None = None, *, day: int | None = None, stored: int | None = None
) -> DomainError | None:
    """Why so many runs cannot be started; None when they are. `limit` is that of waiting ones."""
    limits = OrganisationLimits(queued_runs=limit, runs_per_day=day, stored_runs=stored)
    await scene.limits.refresh()
    try:
        async with scene.limits.room(runs, limits):
            return None
    except DomainError as error:
        return error


async def test_runs_beyond_the_limit_are_refused_with_a_time_to_wait(scene: Scene) -> None:
    scene.counted.waiting = 7
    assert await refusal(scene, 3, 10) is None
    scene.counted.waiting = 10
    refused = await refusal(scene, 1, 10)
    assert isinstance(refused, ResourceExhausted)
    assert (refused.reason, refused.retry_after, refused.metadata["limit"]) == ("LIMIT_REACHED", 30.0, "queued_runs")
    assert "queued_runs (10): this execution has 1 run; wait until runs have ended" in refused.message


async def test_waiting_does_not_help_an_execution_larger_than_the_limit(scene: Scene) -> None:
    assert isinstance(await refusal(scene, 11, 10), PermissionDenied)
    assert await refusal(scene, 1_000_000, None) is None


async def test_runs_are_counted_again_before_a_refusal(scene: Scene) -> None:
    """Those that were started may already have a device."""
    assert await refusal(scene, 10, 10) is None
    scene.counted.waiting = 9
    assert await refusal(scene, 1, 10) is None
    scene.counted.waiting = 10
    assert await refusal(scene, 1, 10) is not None


async def test_runs_that_start_at_the_same_time_count(scene: Scene) -> None:
    await scene.limits.refresh()
    async with scene.limits.room(6, OrganisationLimits(queued_runs=10)):
        assert isinstance(await refusal(scene, 5, 10), ResourceExhausted)
        assert await refusal(scene, 4, 10) is None


async def test_a_start_that_fails_leaves_its_room(scene: Scene) -> None:
    await scene.limits.refresh()
    with pytest.raises(RuntimeError):
        async with scene.limits.room(10, OrganisationLimits(queued_runs=10)):
            raise RuntimeError
    assert await refusal(scene, 10, 10) is None


async def test_runs_beyond_those_of_a_day_wait_for_midnight(scene: Scene) -> None:
    scene.clock.moment = datetime(2026, 3, 4, 22, tzinfo=UTC)
    today, tomorrow = date(2026, 3, 4), date(2026, 3, 5)
    scene.counted.started = {today: 9, date(2026, 3, 3): 100}
    assert await refusal(scene, 1, day=10) is None
    scene.counted.started[today] = 10
    refused = await refusal(scene, 1, day=10)
    assert isinstance(refused, ResourceExhausted)
    assert (refused.metadata["limit"], refused.retry_after) == ("runs_per_day", 7200.0)
    assert "start it after midnight (UTC)" in refused.message
    assert isinstance(await refusal(scene, 11, day=10), PermissionDenied)
    scene.clock.advance(7200)
    scene.counted.started[tomorrow] = 0
    assert await refusal(scene, 10, day=10) is None


async def test_waiting_does_not_help_when_too_many_runs_are_stored(scene: Scene) -> None:
    scene.counted.started = {date(2025, 1, 1): 9}
    assert await refusal(scene, 1, day=10, stored=10) is None
    scene.counted.started = {date(2025, 1, 1): 10}
    refused = await refusal(scene, 1, day=10, stored=10)
    assert isinstance(refused, PermissionDenied)
    assert refused.metadata["limit"] == "stored_runs"
    assert "ask the operator" in refused.message


async def test_starts_at_the_same_time_share_the_room_of_a_day(scene: Scene) -> None:
    await scene.limits.refresh()
    async with scene.limits.room(6, OrganisationLimits(runs_per_day=10)):
        assert isinstance(await refusal(scene, 5, day=10), ResourceExhausted)
        assert await refusal(scene, 4, day=10) is None


async def test_a_run_with_a_large_plan_counts_as_several_when_it_is_stored(scene: Scene) -> None:
    """And as one that waits for a device."""
    limits = OrganisationLimits(queued_runs=1, runs_per_day=10)
    await scene.limits.refresh()
    with pytest.raises(PermissionDenied, match="1 run that count as 11, because their steps have more than 64 KiB"):
        async with scene.limits.room(1, limits, counted=11):
            pass
    async with scene.limits.room(1, limits, counted=10):
        assert isinstance(await refusal(scene, 1, day=10), ResourceExhausted)
        assert await refusal(scene, 1) is None
