import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.fair_turns import FairTurns
from tests.eventually import eventually
from tests.fakes.children import reply

MIB = 1024 * 1024
LIMITS = JobLimits(cpu_seconds=0.5, wall_seconds=3600, memory_bytes=128 * MIB, answer_bytes=MIB)


def make_pool(limits: JobLimits = LIMITS, *, jobs_per_child: int = 100) -> ChildPool:
    turns = FairTurns(1, per_org=1, waiting_per_org=8, waiting=8)
    return ChildPool("test", reply, turns, limits, jobs_per_child=jobs_per_child)


@pytest.fixture
async def pool() -> AsyncIterator[ChildPool]:
    made = make_pool()
    yield made
    await made.close()


async def test_one_child_answers_one_request_after_another(pool: ChildPool) -> None:
    assert await pool.call("a", b"x") == b"x"
    assert len({await pool.call(org, b"pid") for org in ("a", "b", "a")}) == 1


async def test_a_child_is_replaced_after_its_number_of_requests() -> None:
    pool = make_pool(jobs_per_child=2)
    pids = [await pool.call("a", b"pid") for _ in range(4)]
    assert (pids[0], pids[2]) == (pids[1], pids[3])
    assert pids[0] != pids[2]


async def test_a_child_that_has_grown_is_replaced(pool: ChildPool) -> None:
    before = await pool.call("a", b"pid")
    await pool.call("a", b"grow %d" % (80 * MIB))
    assert await pool.call("a", b"pid") != before


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (b"burn", "more than 0.5 s of CPU"),
        (b"grow %d" % (200 * MIB), "more than 128 MiB of memory"),
        (b"exit 7", "exit code 7"),
        (b"bytes %d" % (2 * MIB), "signal 9"),
    ],
)
async def test_a_request_beyond_a_limit_fails_and_the_next_is_answered(
    pool: ChildPool, request_: bytes, says: str
) -> None:
    with pytest.raises(JobFailed, match=says):
        await pool.call("a", request_)
    assert await pool.call("b", b"x") == b"x"


async def test_a_request_that_takes_too_long_is_ended() -> None:
    pool = make_pool(JobLimits(cpu_seconds=60, wall_seconds=0.2, memory_bytes=128 * MIB, answer_bytes=MIB))
    with pytest.raises(JobFailed, match=r"longer than 0\.2 s"):
        await pool.call("a", b"burn")


async def test_each_request_has_cpu_time_of_its_own(pool: ChildPool) -> None:
    for _ in range(3):
        assert await pool.call("a", b"work 0.2") == b"done"


async def test_a_cancelled_request_ends_its_child(pool: ChildPool) -> None:
    before = int(await pool.call("a", b"pid"))
    asking = asyncio.create_task(pool.call("a", b"burn"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert int(await pool.call("a", b"pid")) != before


async def test_a_child_that_was_killed_while_idle_is_replaced(pool: ChildPool) -> None:
    os.kill(int(await pool.call("a", b"pid")), signal.SIGKILL)

    async def answered() -> bytes | None:
        try:
            return await pool.call("a", b"x")
        except JobFailed:  # it was not gone yet
            return None

    assert await eventually(answered) == b"x"
