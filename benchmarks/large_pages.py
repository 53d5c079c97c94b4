"""Every page of the dashboard on the data of `python -m examples.large`: its weight, and how soon it is usable.

The goal for the time is that with the files of all pages in the cache.
"""

import inspect
import os
import re
import statistics
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from playwright.async_api import Browser, BrowserContext, Error, Page

from benchmarks.page_weights import Weights, fresh_page, watch
from deploy.screenshots import chromium, sign_in
from examples.client import Client
from examples.large.embedded import EmbeddedStack, Unusable
from services.gateway.dashboard import routes

ROUNDS, COLD_ROUNDS = 5, 3
MOST_KIB, MOST_MS = 200, 300
EMPTY = "/healthz"
ORGANISATION = "Piggy Bank AG"  # the large one of `python -m examples.large`
_PAGE = re.compile(r'Route\(\s*"GET",\s*"([^"]+)",\s*page\(')
_PARAMETER = re.compile(r"\{(\w+)\}")


def running_stack() -> EmbeddedStack:
    """The stack that runs on MOBILETEST_STATE_DIR."""
    return EmbeddedStack.find(Path(os.environ.get("MOBILETEST_STATE_DIR") or ".local").absolute())


async def main(stack: EmbeddedStack) -> None:
    organisation = stack.organisations().get(ORGANISATION)
    if organisation is None or not organisation.complete:
        raise Unusable(f"{stack.folder} has no such data: `python -m examples.large` first")
    async with Client(stack.url, organisation.api_key) as client:
        examples = await example_values(client)
    async with chromium() as browser:
        context = await browser.new_context()
        await sign_in(await context.new_page(), stack.url, organisation.api_key)
        print(f"Goals: {MOST_KIB} KiB, {MOST_MS} ms.\n")
        sizes = "HTML, KiB | HTML + CSS + JS, KiB | all, KiB"
        print(f"| page | status | {sizes} | server, ms | interactive, ms | with cache, ms | goals |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for template in page_templates():
            print(await _row(browser, context, stack.url, template, examples))


def page_templates() -> list[str]:
    """The paths of all pages, as the routes spell them; at the end an empty one, which says what the machine needs."""
    return [*_PAGE.findall(inspect.getsource(routes)), "/docs", EMPTY]


async def example_values(client: Client) -> dict[str, str]:
    """An example for each parameter of a path: the app with the most builds, what is newest there, and a failed run."""
    app = max(await client.every("apps"), key=lambda each: each["versions_count"])
    builds = await client.every(f"apps/{app['id']}/builds")
    executions = await client.every("executions")
    execution = max(executions, key=lambda each: each["counts"]["total"])
    runs = await client.every(f"executions/{execution['id']}/runs")
    run = next((each for each in runs if each["success"] is False), runs[0])
    workflows = await client.every("workflows")
    branches = await client.every(f"apps/{app['id']}/branches")
    pull_request = next(each for each in branches if each["kind"] == "pull_request")
    failures = await client.call("GET", "failures", params={"app_id": app["id"], "page_size": 1})
    return {
        "app_id": app["id"],
        "build_id": builds[0]["id"],
        "base": builds[1]["id"],
        "execution_id": execution["id"],
        "run_id": run["id"],
        "test_id": run["test_id"],
        "workflow_id": workflows[0]["id"],
        "name": next(each["name"] for each in branches if each["kind"] == "branch"),
        "number": pull_request["name"],
        "fingerprint": failures["items"][0]["fingerprint"],
    }


def filled_path(template: str, examples: Mapping[str, str]) -> str | None:
    """The address of an example of this page; None if a parameter has none. Builds are compared with the one before."""
    if set(_PARAMETER.findall(template)) - set(examples):
        return None
    query = f"?base={examples['base']}" if "{build_id}" in template else ""
    return _PARAMETER.sub(lambda match: quote(examples[match[1]], safe=""), template) + query


async def _row(browser: Browser, context: BrowserContext, url: str, template: str, examples: Mapping[str, str]) -> str:
    path = filled_path(template, examples)
    if path is None:
        return f"| {template} | no example of its parameters | | | | | | | |"
    status, server = await _server_time(context, url + path)
    async with fresh_page(browser, context, f"{url}{EMPTY}") as page:
        weights = await _weights(page, url + path)
    cold, cached = [], []
    for _ in range(COLD_ROUNDS):
        async with fresh_page(browser, context, f"{url}{EMPTY}") as page:
            cold.append(await _interactive(page, url + path))
            cached.append(await _interactive(page, url + path))
    first, again, kib = statistics.median(cold), statistics.median(cached), weights.code / 1024
    missed = [name for name, is_missed in (("weight", kib > MOST_KIB), ("time", again > MOST_MS)) if is_missed]
    sizes = f"{weights.html / 1024:.1f} | {kib:.1f} | {weights.bytes / 1024:.1f}"
    return (
        f"| {template} | {status} | {sizes} | {server:.0f} | {first:.0f} | {again:.0f} | {', '.join(missed) or 'met'} |"
    )


async def _server_time(context: BrowserContext, address: str) -> tuple[int, float]:
    """The status of the page, and the milliseconds until its HTML has come."""
    cookies = {cookie["name"]: cookie["value"] for cookie in await context.cookies()}
    times = []
    async with aiohttp.ClientSession(cookies=cookies, headers={"Accept": "text/html"}) as session:
        for _ in range(ROUNDS):
            began = time.perf_counter()
            async with session.get(address) as response:
                await response.read()
                status = response.status
            times.append((time.perf_counter() - began) * 1000)
    return status, statistics.median(times)


async def _weights(page: Page, address: str) -> Weights:
    """What the page loads."""
    session = await page.context.new_cdp_session(page)
    weights = Weights()
    await watch(session, weights)
    await _open(page, address)
    return weights


async def _interactive(page: Page, address: str) -> float:
    """Milliseconds from the request until all modules have run: they do before the end of DOMContentLoaded."""
    await _open(page, address)
    entry: Any = await page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    return float(entry)


async def _open(page: Page, address: str) -> None:
    """Load the page. One that follows what changes is never idle: it is not waited for longer than 3 s."""
    await page.goto(address, wait_until="load")
    with suppress(Error):
        await page.wait_for_load_state("networkidle", timeout=3_000)
