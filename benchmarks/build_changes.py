"""Plants changes in apps and counts those that the comparison of two builds reports.

`python -m benchmarks.build_changes` prints a table for each set.

Each app has two builds with five runs each. Between all runs, clocks, counters, random words, rows in random order,
banners that come and go, and the place to which one has scrolled differ. The rules were tuned on the first set only.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from benchmarks.planted_apps import BANK, SHOP, make_case
from benchmarks.planted_changes import Case, Score
from mobiletest_automation.screen.build_changes import compare_builds

APPS = 12
CHANGES = 8


async def tuning_set() -> AsyncIterator[Case]:
    for number in range(APPS):
        yield await make_case(number, SHOP, platform="android", ids=0.5, changes=CHANGES)


async def held_out_apps() -> AsyncIterator[Case]:
    """Other words, another platform, few ids."""
    for number in range(2_000, 2_000 + APPS):
        yield await make_case(number, BANK, platform="ios", ids=0.2, changes=CHANGES)


async def measure(name: str, cases: AsyncIterator[Case]) -> None:
    score, seconds, screens = Score(), 0.0, 0
    async for case in cases:
        begun = time.process_time()
        changes = compare_builds(case.before, case.after, case.pictures.get)
        seconds += time.process_time() - begun
        screens += len(case.before) + len(case.after)
        score.add(case, changes)
    print(f"\n## {name}\n\n{score.table()}\n\n{seconds * 1000 / screens:.1f} ms of CPU a screen of {screens}.")
    print(*(f"- {mistake}" for mistake in score.mistakes), sep="\n", flush=True)


async def main() -> None:
    await measure("Tuning set: apps of the simulated device", tuning_set())
    await measure("Held-out set: other apps of the simulated device", held_out_apps())


if __name__ == "__main__":
    asyncio.run(main())
