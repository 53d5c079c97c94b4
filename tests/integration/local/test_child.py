"""A child process: readiness, sudden death, stubbornness, and the death of its parent."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from deploy.local.child import Child, ChildDied, ChildSpec
from tests.eventually import eventually
from tests.integration.local.processes import alive

SLEEPS = "import time; print('hello', flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPS
THREADS = """
import threading, time
for _ in range(500):
    threading.Thread(target=time.sleep, args=[600], daemon=True).start()
print("hello", flush=True)
time.sleep(600)
"""
PARENT = f"""
import pathlib, sys, time
from deploy.local.child import Child, ChildSpec
child = Child(ChildSpec("child", [sys.executable, "-c", {SLEEPS!r}], pathlib.Path(sys.argv[1])))
child.start()
print(child.pid, flush=True)
time.sleep(600)
"""


def child_of(tmp_path: Path, program: str, grace: float = 10.0) -> Child:
    return Child(ChildSpec("child", [sys.executable, "-c", program], tmp_path / "child.log", grace=grace))


def thread_states(pid: int) -> list[str]:
    """One letter for each thread, as in /proc."""
    return [stat.read_text().rpartition(")")[2].split()[0] for stat in Path("/proc").glob(f"{pid}/task/*/stat")]


async def said_hello(child: Child) -> bool:
    return "hello" in child.tail()


async def test_a_ready_child_stops_on_sigterm(tmp_path: Path) -> None:
    child = child_of(tmp_path, SLEEPS)
    child.start()
    await child.ready(lambda: said_hello(child), within=20)
    await child.stop()
    assert child.exit_code == -signal.SIGTERM
    child.check()


async def test_a_child_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    child = child_of(tmp_path, STUBBORN, grace=0.2)
    child.start()
    await child.ready(lambda: said_hello(child), within=20)
    await child.stop()
    assert child.exit_code == -signal.SIGKILL


async def test_a_child_that_ends_while_starting_shows_its_last_log_lines(tmp_path: Path) -> None:
    child = child_of(tmp_path, "raise SystemExit('no disk left')")
    child.start()
    with pytest.raises(ChildDied, match=r"(?s)child ended with exit code 1.*no disk left"):
        await child.ready(lambda: said_hello(child), within=20)


async def test_waiting_for_a_child_times_out(tmp_path: Path) -> None:
    child = child_of(tmp_path, SLEEPS)
    child.start()
    with pytest.raises(TimeoutError, match="child was not ready"):
        await child.ready(_never, within=0.1)
    await child.stop()


async def test_a_child_that_was_killed_can_be_started_again(tmp_path: Path) -> None:
    child = child_of(tmp_path, SLEEPS)
    child.start()
    first = child.pid
    await child.kill()
    child.start()
    assert child.running
    assert child.pid != first
    await child.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_every_thread_of_a_frozen_child_has_stopped(tmp_path: Path) -> None:
    child = child_of(tmp_path, THREADS)
    child.start()
    await child.ready(lambda: said_hello(child), within=20)
    child.send(signal.SIGSTOP)
    assert thread_states(child.pid) == ["T"] * 501
    await child.kill()


async def test_freezing_a_child_that_ended_does_not_wait(tmp_path: Path) -> None:
    child = child_of(tmp_path, "")
    child.start()
    await eventually(lambda: not child.running)
    child.send(signal.SIGSTOP)
    assert child.exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
async def test_a_child_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path / "child.log"), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    await parent.wait()
    await eventually(lambda: not alive(pid))


async def _never() -> bool:
    return False
