"""Memory and CPU of idle services, and how long starting takes: `python -m benchmarks.idle`.

A service is idle when the whole stack has been ready for some seconds and nobody calls it. Its start is measured with
all other parts running. `make run` is measured on a new state folder, and again on the same one.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.goals import Goal, show
from deploy.local import stack
from deploy.local.layout import ROOT

SETTLE_SECONDS = 10.0
CPU_SECONDS = 5.0
STARTS = 3
SERVICES = ("gateway", "catalog", "executor", "reporting", "worker-1")
MOST_MIB = {"gateway": 70.0}
MOST_MIB_OTHERS = 80.0
READY_SECONDS = 2.0
VERDICT_SECONDS = 15.0
# A word that `make run` prints with the first verdict.
VERDICT = "passed"


@dataclass(frozen=True, slots=True)
class Footprint:
    """An idle process: memory in MiB (`pss`: what is shared counts in parts), and percent of a core."""

    rss: float
    pss: float
    cpu: float
    children: float


async def goals() -> list[Goal]:
    """Of the goal "idle"."""
    footprints, ready = await _measure_stack()
    verdicts = await _measure_make_run()
    return [
        *(_memory(name, footprint) for name, footprint in footprints.items()),
        *(Goal(f"{name}: start to ready", s, READY_SECONDS, "s", at_most=True) for name, s in ready.items()),
        *(
            Goal(f"`make run` to the first verdict, {case}", seconds, VERDICT_SECONDS, "s", at_most=True)
            for case, seconds in verdicts.items()
        ),
    ]


def _memory(name: str, footprint: Footprint) -> Goal:
    children = f", its children {footprint.children:.0f} MiB PSS" if footprint.children else ""
    figures = f"PSS {footprint.pss:.0f} MiB, {footprint.cpu:.1f} % of a core{children}"
    return Goal(f"{name}: idle, RSS", footprint.rss, MOST_MIB.get(name, MOST_MIB_OTHERS), "MiB", True, figures)


async def _measure_stack() -> tuple[dict[str, Footprint], dict[str, float]]:
    """The idle services, and the best of some starts of each, one at a time."""
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder)) as running:
            await asyncio.sleep(SETTLE_SECONDS)
            pids = {name: running.pid_of(name) for name in SERVICES}
            before = {name: _cpu_seconds(pid) for name, pid in pids.items()}
            await asyncio.sleep(CPU_SECONDS)
            footprints = {name: _footprint(pid, before[name]) for name, pid in pids.items()}
            return footprints, {name: await _start_seconds(running, name) for name in SERVICES}


async def _start_seconds(running: stack.Stack, name: str) -> float:
    seconds = []
    for _ in range(STARTS):
        await running.stop(name)
        begun = time.perf_counter()
        await running.start(name)
        seconds.append(time.perf_counter() - begun)
    return sorted(seconds)[STARTS // 2]


def _footprint(pid: int, cpu_before: float) -> Footprint:
    rss, pss = _memory_of(pid)
    children = sum(_memory_of(child)[1] for child in _descendants(pid))
    return Footprint(rss, pss, (_cpu_seconds(pid) - cpu_before) / CPU_SECONDS * 100, children)


def _memory_of(pid: int) -> tuple[float, float]:
    """RSS and PSS in MiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split()[0]: int(line.split()[1]) / 1024 for line in lines}
    return sizes["Rss:"], sizes["Pss:"]


def _descendants(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return children + [below for child in children for below in _descendants(child)]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _measure_make_run() -> dict[str, float]:
    """Seconds to the first verdict."""
    with tempfile.TemporaryDirectory() as folder:
        return {case: await _verdict_seconds(folder) for case in ("new state", "existing state")}


async def _verdict_seconds(folder: str) -> float:
    begun = time.perf_counter()
    async with _make_run(folder) as output:
        async for line in output:
            if VERDICT in line.decode():
                return time.perf_counter() - begun
    raise AssertionError("`make run` ended without a verdict")


@asynccontextmanager
async def _make_run(folder: str) -> AsyncIterator[asyncio.StreamReader]:
    """What `make run` prints; it is stopped at the end."""
    environment = {**os.environ, "MOBILETEST_STATE_DIR": folder, "MOBILETEST_PORT": "0"}
    process = await asyncio.create_subprocess_exec(
        "make", "run", cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        await process.communicate()


async def main() -> None:
    show("Idle", await goals())


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
