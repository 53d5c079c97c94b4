"""Starts of executions against the FastAPI peer, in turns on one MongoDB: `python -m benchmarks.starts`.

Both store the execution, its runs and what has to be published in one majority transaction before they answer. No
worker runs: what is measured is the acceptance.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import aiohttp
import orjson
import uvloop

from benchmarks import comparison
from benchmarks.comparison import Comparison, DifferentAnswers, Requests, compare
from benchmarks.goals import Goal, show
from benchmarks.load import Target
from benchmarks.peers.process import FASTAPI, fastapi_peer
from benchmarks.seed import TESTS_OF_LARGE_WORKFLOW, WORKFLOWS, Seed, plant
from benchmarks.servers import OURS, our_side, serving_stack
from examples.client import Client

TITLE = "Starts of executions"
PATH = "/api/v1/execution/api/execute_workflow_id_async"
APPS = 20
WANTED = 1.2


async def goals() -> list[Goal]:
    """Starts a second, as a ratio to FastAPI's."""
    return _goals(await run())


async def run() -> list[Comparison]:
    """Take a stack and the peer up and compare them."""
    async with serving_stack() as running:
        async with Client(running.url, running.api_key) as client:
            seed = await plant(client, APPS, WORKFLOWS, APPS)
        async with fastapi_peer(running, seed) as peer:
            sides = [our_side(running), peer]
            await check_answers([side.target for side in sides], seed.workflows[0])
            return [await compare(name, sides, requests) for name, requests in _requests(seed).items()]


def _requests(seed: Seed) -> dict[str, Requests]:
    def starts(workflows: Sequence[dict[str, Any]]) -> Requests:
        bodies = [_body(workflow) for workflow in workflows]
        return lambda target: [target.request("POST", PATH, body) for body in bodies]

    return {
        "start different workflows of one run": starts(seed.workflows),
        f"start one workflow of {TESTS_OF_LARGE_WORKFLOW} runs": starts([seed.large_workflow]),
    }


def _body(workflow: dict[str, Any]) -> bytes:
    return orjson.dumps({"workflow_id": workflow["id"]})


async def check_answers(targets: Sequence[Target], workflow: dict[str, Any]) -> None:
    """Check that all answer a start in the same way, except for the id of the execution.

    Raises:
        DifferentAnswers: one answers in another way.
    """
    answers = await asyncio.gather(*(_started(target, workflow) for target in targets))
    if any(answer != answers[0] for answer in answers):
        raise DifferentAnswers(answers)


async def _started(target: Target, workflow: dict[str, Any]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {target.api_key}", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{target.url}{PATH}", data=_body(workflow)) as answer,
    ):
        answer.raise_for_status()
        started: dict[str, Any] = await answer.json()
    return {**started, "id": None, "task_id": started["task_id"] == started["id"]}


def _goals(compared: Sequence[Comparison]) -> list[Goal]:
    runs = (1, TESTS_OF_LARGE_WORKFLOW)
    return [_goal(each, number) for each, number in zip(compared, runs, strict=True)]


def _goal(compared: Comparison, runs: int) -> Goal:
    rates = [f"{side} {compared.rate(side) * runs:,.0f}" for side in (OURS, FASTAPI)]
    cpu = [f"{sum(compared.cpu(side).values()):.1f}" for side in (OURS, FASTAPI)]
    figures = f"runs/s: {', '.join(rates)}; CPU ms a start: {', '.join(cpu)}"
    return Goal(f"{compared.name}, of FastAPI's", compared.ratio(OURS, FASTAPI), WANTED, figures=figures)


async def main() -> None:
    compared = await run()
    show(TITLE, _goals(compared))
    comparison.show(compared)


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
