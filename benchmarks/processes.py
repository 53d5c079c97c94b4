"""The CPU time of processes."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

# The share of one core below which processes count as idle: the embedded broker and consumers never rest.
QUIET = 0.3
_WINDOW_SECONDS = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process since its start, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cpu_of_each(processes: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds by the names that `processes` gives to pids."""
    return {name: cpu_seconds(pid) for name, pid in processes.items()}


async def wait_until_quiet(processes: Mapping[str, int], within: float = 10.0) -> None:
    """Wait until nothing is left to do in the background, or `within` seconds have passed."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        before = sum(cpu_of_each(processes).values())
        await asyncio.sleep(_WINDOW_SECONDS)
        if sum(cpu_of_each(processes).values()) - before < QUIET * _WINDOW_SECONDS:
            return
