"""The weight of each page of the dashboard, and how soon it can be used: `python -m benchmarks.dashboard [ROUNDS]`.

With `large` in place of ROUNDS: every page on the data of `python -m examples.large`, which the running stack has.

On the example workspace, or on an app of 50 builds and 100 tests that has run so often (200 times: 1,000,000 runs). The
runs are written into reporting's database, so that their own pages have nothing to show and are left out. In Chromium,
in turns with a page that has nothing on it: what a browser without a cache receives (compressed), with the files of all
pages and without, and the time until the scripts have started.
"""

import asyncio
import random
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import uvloop
from playwright.async_api import Browser, BrowserContext, Page

from benchmarks import history, large_pages
from benchmarks.page_weights import Weights, fresh_page, watch
from deploy.local import stack
from deploy.local.commands import load_examples
from deploy.screenshots import chromium, example_paths, sign_in
from examples.client import Client
from examples.workspace import content
from services.chassis.mongo import Mongo
from services.reporting.storage.documents import CELLS, GROUPS, HISTORIES

ROUNDS = 7
EMPTY = "/healthz"
MODEL = content("shop-android/1.0.0.yaml")


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder), workers=2) as running, chromium() as browser:
            await load_examples(running.url, running.api_key)
            async with Client(running.url, running.api_key) as client:
                paths = await large_paths(running, client, rounds) if rounds else await example_paths(client)
            context = await browser.new_context()
            await sign_in(await context.new_page(), running.url, running.api_key)
            print("| page | HTML, KiB | all, KiB | requests | usable, ms | empty page | with cache | empty page |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- |")
            for name, path in paths.items():
                print(await measure(browser, context, name, f"{running.url}{path}", f"{running.url}{EMPTY}"))


async def large_paths(running: stack.Stack, client: Client, rounds: int) -> Mapping[str, str]:
    """The pages of an app with a history."""
    app = await client.call("POST", "apps", json={"name": "Large", "platform": "Android"})
    tests = [await new_test(client, app["id"], f"Test {number:03}") for number in range(history.TESTS)]
    builds = []
    for ref in history.app(0).builds:
        uploaded = await client.upload(app["id"], {"version": ref.version, "file": "app.yaml", "commit": ref.id}, MODEL)
        builds.append(replace(ref, id=uploaded["id"]))
    told = history.App(running.organisation.org_id, app["id"], builds, tests)
    mongo = await Mongo.connect(running.mongo_uri, "reporting", "pymongo")
    try:
        await history.Writer(mongo).history(told, rounds, random.Random(0), (CELLS, GROUPS, HISTORIES))
    finally:
        await mongo.close()
    path, test = f"/apps/{app['id']}", f"/tests/{tests[0]}"
    build = f"{path}/builds/{builds[-1].id}"
    pages = {"apps": "/", "app": path, "matrix": f"{path}/matrix", "coverage": f"{path}/coverage", "build": build}
    return pages | {"tests": f"/tests?app_id={app['id']}", "test": test, "history": f"{test}/history"}


async def new_test(client: Client, app_id: str, name: str) -> str:
    """The id of an attached test."""
    test = await client.call("POST", "tests", json={"name": name, "steps": ['Tap "Log in"']})
    await client.call("PUT", f"apps/{app_id}/tests/{test['id']}", json={})
    return str(test["id"])


async def measure(browser: Browser, context: BrowserContext, name: str, address: str, empty: str) -> str:
    """A row of the table."""
    cold, cold_empty, warm, warm_empty = [], [], [], []
    async with fresh_page(browser, context, empty) as other:
        weights = await weigh(other, address)
    page = await context.new_page()
    for _ in range(ROUNDS):
        async with fresh_page(browser, context, empty) as other:
            cold_empty.append(await usable_after(other, empty))
            cold.append(await usable_after(other, address))
        warm_empty.append(await usable_after(page, empty))
        warm.append(await usable_after(page, address))
    await page.close()
    times = " | ".join(f"{statistics.median(each):.0f}" for each in (cold, cold_empty, warm, warm_empty))
    return f"| {name} | {weights.html / 1024:.1f} | {weights.bytes / 1024:.1f} | {weights.requests} | {times} |"


async def weigh(page: Page, address: str) -> Weights:
    """What a page loads."""
    session = await page.context.new_cdp_session(page)
    weights = Weights()
    await watch(session, weights)
    await page.goto(address, wait_until="networkidle")
    return weights


async def usable_after(page: Page, address: str) -> float:
    """Milliseconds from the request until the scripts have started."""
    await page.goto(address, wait_until="networkidle")
    timing = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    return float(await page.evaluate(timing))


if __name__ == "__main__":
    uvloop.install()
    if sys.argv[1:] == ["large"]:
        asyncio.run(large_pages.main(large_pages.running_stack()))
    else:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
