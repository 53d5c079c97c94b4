"""Uploads of an organisation wait for its rate, and those of others do not."""

from collections.abc import AsyncIterator

import pytest

from services.chassis import context
from services.chassis.context import Caller
from services.chassis.upload_rate import BURST_SECONDS, UploadRate
from tests.fakes.chassis import FakeClock

RATE = 1000
BURST = int(BURST_SECONDS * RATE)


@pytest.fixture
def clock() -> FakeClock:
    clock = FakeClock()
    clock.advance(100)
    return clock


@pytest.fixture
def rate(clock: FakeClock) -> UploadRate:
    return UploadRate(RATE, clock)


def test_a_burst_does_not_wait_and_what_follows_does(rate: UploadRate) -> None:
    assert [rate.delay("a", BURST // 2), rate.delay("a", BURST // 2)] == [0, 0]
    assert [rate.delay("a", 500), rate.delay("a", 500)] == [pytest.approx(0.5), pytest.approx(1)]


def test_other_organisations_do_not_wait(rate: UploadRate) -> None:
    rate.delay("a", 10 * BURST)
    assert rate.delay("b", BURST) == 0


def test_time_gives_back_what_was_used(rate: UploadRate, clock: FakeClock) -> None:
    rate.delay("a", BURST)
    clock.advance(0.5)
    assert (rate.delay("a", 500), rate.delay("a", 500)) == (0, pytest.approx(0.5))
    clock.advance(60)
    assert (rate.delay("a", BURST), rate.delay("a", 500)) == (0, pytest.approx(0.5))


async def test_many_small_uploads_count_as_one_large(rate: UploadRate, clock: FakeClock) -> None:
    async def upload() -> AsyncIterator[bytes]:
        yield b"x" * (BURST // 4)

    with context.bind(Caller("a")):
        for _ in range(4):
            assert [chunk async for chunk in rate.limit(upload())] == [b"x" * (BURST // 4)]
    assert rate.delay("a", 500) == pytest.approx(0.5)
