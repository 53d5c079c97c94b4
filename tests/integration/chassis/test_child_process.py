import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.chassis.child_process import ChildEnded, ChildLimits, ChildProcess, start_child
from tests.eventually import eventually
from tests.fakes.children import obey

MIB = 1024 * 1024


@pytest.fixture
async def child() -> AsyncIterator[ChildProcess]:
    started = await start_child(obey, ChildLimits(), message_limit=MIB)
    yield started
    await started.stop()


async def ask(child: ChildProcess, message: bytes) -> bytes:
    await child.send(message)
    return await child.receive()


async def test_messages_of_any_size_arrive_whole(child: ChildProcess) -> None:
    for message in (b"", b"x", bytes(MIB)):
        assert await ask(child, message) == message


async def test_several_messages_may_be_on_their_way(child: ChildProcess) -> None:
    for number in range(20):
        await child.send(b"%d" % number)
    assert [int(await child.receive()) for _ in range(20)] == list(range(20))


async def test_a_child_that_exits_ends_the_conversation(child: ChildProcess) -> None:
    with pytest.raises(ChildEnded) as ended:
        await ask(child, b"exit 7")
    assert ended.value.exit_code == 7
    with pytest.raises(ChildEnded):
        await ask(child, b"x")


async def test_a_stopped_child_is_gone() -> None:
    child = await start_child(obey, ChildLimits())
    assert await child.stop() == await child.stop() == -signal.SIGKILL

    await eventually(lambda: not _exists(child.pid))


async def test_a_cancelled_start_leaves_the_others_alone(child: ChildProcess) -> None:
    for _ in range(8):
        starting = asyncio.create_task(start_child(obey, ChildLimits()))
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
    assert await ask(child, b"x") == b"x"
    assert child.running


@pytest.mark.skipif(sys.platform != "linux", reason="finds the fork server in /proc")
async def test_children_can_be_ended_and_started_after_the_fork_server_was_killed() -> None:
    child = await start_child(obey, ChildLimits())
    await child.send(b"burn")
    os.kill(_parent(child.pid), signal.SIGKILL)
    await child.stop()
    await eventually(lambda: not _exists(child.pid))
    other = await start_child(obey, ChildLimits())
    assert await ask(other, b"x") == b"x"
    await other.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
async def test_a_child_cannot_allocate_more_than_its_memory() -> None:
    child = await start_child(obey, ChildLimits(memory_bytes=128 * MIB))
    assert await ask(child, b"x") == b"x"
    with pytest.raises(ChildEnded) as ended:
        await ask(child, b"bytes %d" % (200 * MIB))
    assert ended.value.exit_code == 1


async def test_signals_to_the_group_leave_the_child_to_its_parent(child: ChildProcess) -> None:
    assert await ask(child, b"x") == b"x"
    os.kill(child.pid, signal.SIGTERM)
    os.kill(child.pid, signal.SIGINT)
    assert await ask(child, b"x") == b"x"


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


PARENT = """
import asyncio
from services.chassis.child_process import ChildLimits, start_child
from tests.fakes.children import obey

async def main():
    child = await start_child(obey, ChildLimits())
    await child.send(b"burn")
    print(child.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
async def test_a_busy_child_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen((sys.executable, "-c", PARENT), stdout=subprocess.PIPE) as parent:  # noqa: ASYNC220
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _exists(pid)
        parent.kill()

    async def gone() -> bool:
        return not _exists(pid)

    await eventually(gone)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
