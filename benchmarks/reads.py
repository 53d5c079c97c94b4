"""Reads of apps against the FastAPI and the Go peer, in turns on one MongoDB: `python -m benchmarks.reads`.

Hardly any requests that are under way together are identical, so that nothing is won by answering them together.
"""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import Any

import aiohttp
import uvloop

from benchmarks import comparison
from benchmarks.comparison import Comparison, DifferentAnswers, Requests, Side, compare
from benchmarks.goals import Goal, show
from benchmarks.load import Target
from benchmarks.peers.go_process import GO, GoMissing, go_peer
from benchmarks.peers.process import FASTAPI, fastapi_peer
from benchmarks.seed import Seed, plant
from benchmarks.servers import OURS, our_side, serving_stack
from examples.client import Client

TITLE = "Reads of apps"
APPS = 2000
BY_ID, LISTS = "one app by id", "lists of 43 to 57 apps"
WANTED = {(BY_ID, GO): 1.5, (BY_ID, FASTAPI): 5.0, (LISTS, GO): 1.4, (LISTS, FASTAPI): 1.8}
_CHECKED = 50


async def goals() -> list[Goal]:
    """Reads a second, as ratios to those of the peers. Without Go its goals are not met and say so."""
    compared = await run()
    return [_goal(compared[name], peer, wanted) for (name, peer), wanted in WANTED.items()]


async def run() -> dict[str, Comparison]:
    """Take a stack and the peers up, check that all give the same answers, and compare them."""
    async with AsyncExitStack() as closing:
        running = await closing.enter_async_context(serving_stack())
        async with Client(running.url, running.api_key) as client:
            seed = await plant(client, APPS)
        sides = [our_side(running), await closing.enter_async_context(fastapi_peer(running, seed))]
        with suppress(GoMissing):
            sides.append(await closing.enter_async_context(go_peer(running)))
        paths = _paths(seed)
        await _check_answers(sides, [path for each in paths.values() for path in each[:_CHECKED]])
        return {name: await compare(name, sides, _requests(each)) for name, each in paths.items()}


def _paths(seed: Seed) -> dict[str, list[str]]:
    pages = [f"/api/v1/apps/?page={page}&page_size={size}" for page in range(1, 9) for size in range(43, 58)]
    return {BY_ID: [f"/api/v1/apps/{app['id']}" for app in seed.apps], LISTS: pages}


def _requests(paths: Sequence[str]) -> Requests:
    return lambda target: [target.request("GET", path) for path in paths]


async def _check_answers(sides: Sequence[Side], paths: Sequence[str]) -> None:
    """DifferentAnswers unless all sides answer each request in the same way."""
    answers = await asyncio.gather(*(_answers(side.target, paths) for side in sides))
    for path, *each in zip(paths, *answers, strict=True):
        if any(answer != each[0] for answer in each):
            raise DifferentAnswers(path, each)


async def _answers(target: Target, paths: Sequence[str]) -> list[Any]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {target.api_key}"}) as session:
        answers = []
        for path in paths:
            async with session.get(f"{target.url}{path}") as answer:
                answer.raise_for_status()
                answers.append(_normalised(await answer.json()))
    return answers


def _normalised(value: Any) -> Any:
    """Without nulls, which protojson leaves out, and with parsed times, which have a fraction of any length."""
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if not isinstance(value, dict):
        return value
    present = {name: _normalised(item) for name, item in value.items() if item is not None}
    if "created_at" in present:
        present["created_at"] = datetime.fromisoformat(present["created_at"])
    return present


def _goal(compared: Comparison, peer: str, wanted: float) -> Goal:
    name = f"{compared.name}, of {peer}'s"
    if peer not in compared.turns:
        return Goal(name, 0.0, wanted, figures="Go is missing")
    rates = [f"{side} {compared.rate(side):,.0f}" for side in (OURS, peer)]
    cpu = [f"{sum(compared.cpu(side).values()):.2f}" for side in (OURS, peer)]
    figures = f"requests/s: {', '.join(rates)}; CPU ms a request: {', '.join(cpu)}"
    return Goal(name, compared.ratio(OURS, peer), wanted, figures=figures)


async def main() -> None:
    compared = await run()
    show(TITLE, [_goal(compared[name], peer, wanted) for (name, peer), wanted in WANTED.items()])
    comparison.show(list(compared.values()))


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
