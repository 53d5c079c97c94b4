"""Waiting runs: counted once a second, with what this process starts meanwhile."""

from collections.abc import Iterator
from typing import cast

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import DomainError, PermissionDenied, ResourceExhausted
from services.executor.ports.executions import Executions
from services.executor.usecases.queue_limit import FRESH_SECONDS, QueueLimit
from tests.fakes.chassis import FakeClock


class Counted:
    """Answers how many runs wait."""

    def __init__(self) -> None:
        self.waiting = 0
        self.counts = 0

    async def waiting_runs(self) -> int:
        self.counts += 1
        return self.waiting


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(Caller(org_id="org")) as bound:
        yield bound


class Scene:
    def __init__(self) -> None:
        self.counted, self.clock = Counted(), FakeClock()
        self.queue = QueueLimit(cast(Executions, self.counted), self.clock)


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def refusal(scene: Scene, runs: int, limit: int | None) -> DomainError | None:
    """Why so many runs cannot be started; None when they are."""
    await scene.queue.refresh()
    try:
        async with scene.queue.room(runs, limit):
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


async def test_runs_are_counted_once_a_second(scene: Scene) -> None:
    for _ in range(10):
        assert await refusal(scene, 1, 10) is None
    assert scene.counted.counts == 1
    scene.clock.advance(FRESH_SECONDS)
    scene.counted.waiting = 4
    assert await refusal(scene, 6, 10) is None
    assert scene.counted.counts == 2


async def test_runs_are_counted_again_before_a_refusal(scene: Scene) -> None:
    """Those that were started may already have a device."""
    assert await refusal(scene, 10, 10) is None
    scene.counted.waiting = 9
    assert await refusal(scene, 1, 10) is None
    scene.counted.waiting = 10
    assert await refusal(scene, 1, 10) is not None


async def test_runs_that_start_at_the_same_time_count(scene: Scene) -> None:
    await scene.queue.refresh()
    async with scene.queue.room(6, 10):
        assert isinstance(await refusal(scene, 5, 10), ResourceExhausted)
        assert await refusal(scene, 4, 10) is None


async def test_a_start_that_fails_leaves_its_room(scene: Scene) -> None:
    await scene.queue.refresh()
    with pytest.raises(RuntimeError):
        async with scene.queue.room(10, 10):
            raise RuntimeError
    assert await refusal(scene, 10, 10) is None


async def test_organisations_do_not_share_their_limit(scene: Scene) -> None:
    assert await refusal(scene, 10, 10) is None
    with bind(Caller(org_id="another")):
        assert await refusal(scene, 10, 10) is None
