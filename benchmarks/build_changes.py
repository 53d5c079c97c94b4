"""Plants changes in apps and counts those that the comparison of two builds reports.

`python -m benchmarks.build_changes [SET...]` prints a table for each set: apps, held-out-apps, sites, held-out-sites.

Each app has two builds with five runs each. Between all runs, clocks, counters, random words, rows in random order,
banners that come and go, and the place to which one has scrolled differ. Sites are read by Chromium, in windows of
three sizes. The rules were tuned on the sets that are not held out.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from benchmarks.planted_apps import BANK, SHOP, make_case
from benchmarks.planted_changes import Case, Score
from benchmarks.planted_pages import Browser, make_web_case
from benchmarks.screens import Browsers
from deploy.devices import hubs
from mobiletest_automation.devices.port import AppUnderTest, Seed
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.screen.build_changes import compare_builds
from tests.hubs import serve_folder

APPS = 12
SITES = 10
CHANGES = 8


async def tuning_set() -> AsyncIterator[Case]:
    for number in range(APPS):
        yield await make_case(number, SHOP, platform="android", ids=0.5, changes=CHANGES)


async def held_out_apps() -> AsyncIterator[Case]:
    """Other words, another platform, few ids."""
    for number in range(2_000, 2_000 + APPS):
        yield await make_case(number, BANK, platform="ios", ids=0.2, changes=CHANGES)


async def sites(first: int, hub: str, url: str, folder: Path) -> AsyncIterator[Case]:
    browsers = Browsers(hub)
    device = cast(WebDriverDevice, await browsers.acquire("android", AppUnderTest(static_url=url), Seed("sites", 1)))
    try:
        for number in range(first, first + SITES):
            yield await make_web_case(number, Browser(device, folder, url), changes=CHANGES)
    finally:
        await browsers.release(device)


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


APP_SETS = {"apps": tuning_set, "held-out-apps": held_out_apps}
SITE_SETS = {"sites": 0, "held-out-sites": 9_000}


def main(names: list[str]) -> None:
    for name in names:
        if name in APP_SETS:
            asyncio.run(measure(name, APP_SETS[name]()))
            continue
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            hub, url = stack.enter_context(hubs.chromedriver()), stack.enter_context(serve_folder(folder))
            asyncio.run(measure(name, sites(SITE_SETS[name], hub.url, url, folder)))


if __name__ == "__main__":
    main(sys.argv[1:] or [*APP_SETS, *SITE_SETS])
