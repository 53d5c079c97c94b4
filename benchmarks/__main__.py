"""Measures the goals of each area and prints the tables of docs/performance.md: `python -m benchmarks [NAME ...]`."""

import asyncio
import importlib
import os
import platform
import sys
import traceback
from collections.abc import Sequence

import uvloop

from benchmarks.goals import Goal, show

# Module of the benchmark -> title of its table. Each module starts what it measures and stops it.
AREAS = {
    "starts": "Starting an execution",
    "reads": "Reads",
    "engine": "Runs that do nothing",
    "folding": "Folding",
    "followers": "Followers",
    "live_steps": "Steps of a run under way",
    "transfers": "Uploads and downloads",
    "reports": "The gate and the matrix",
    "resolving": "Resolving a sentence",
    "idle": "Idle",
    "growth": "How cost grows",
}
AREA_SECONDS = 600.0


def main(names: Sequence[str]) -> int:
    """The exit code: 1 if a benchmark could not be run, whether or not the goals are met."""
    if unknown := set(names) - set(AREAS):
        print(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(AREAS)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {os.cpu_count()} shared cores, everything on them.")
    return max([_measure(name) for name in names or AREAS])


def _measure(name: str) -> int:
    try:
        show(AREAS[name], uvloop.run(_goals(name)))
    except Exception:  # the others are still measured
        print(f"\n## {AREAS[name]}\n\nNot measured: {traceback.format_exc()}", flush=True)
        return 1
    return 0


async def _goals(name: str) -> list[Goal]:
    async with asyncio.timeout(AREA_SECONDS):
        goals: list[Goal] = await importlib.import_module(f"benchmarks.{name}").goals()
        return goals


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
