"""How soon a step shows to who follows its run: `python -m benchmarks.live_steps [runs]`.

A run of 30 steps, each of which takes a second, on the simulated device. From the end of a step, by the clock of the
worker, until a follower of the execution's events has read the run in which the step has passed, or has its screen.
"""

import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import uvloop

from benchmarks.goals import Goal, show
from deploy.local import stack
from deploy.local.stack import Stack
from examples.client import Client
from tests.e2e.world import paced_app_model

STEPS = 30
WANTED_MS = 1000.0
START = "execution/api/execute_workflow_id_async"
NOTICE = b"event: steps"


async def _start(client: Client) -> str:
    """The id of an execution of one run."""
    app = await client.call("POST", "apps", json={"name": "Watched", "platform": "Android"})
    version = {"version": "1", "file": "app.yaml", "commit": "4f2c1d9"}
    await client.upload(app["id"], version, paced_app_model(seconds=1.0))
    steps = ["launchApp", *['I see "Log in"'] * (STEPS - 1)]
    test = await client.call("POST", "tests", json={"name": "Watched", "steps": steps})
    await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})
    workflow = await client.call("POST", "workflows", json={"name": "Watched", "test_ids": [test["id"]]})
    return str((await client.call("POST", START, json={"workflow_id": workflow["id"]}))["id"])


async def _watch(running: Stack, client: Client) -> tuple[list[float], list[float]]:
    """Milliseconds from the end of each step until it has passed for the follower, and until its screen is there."""
    execution_id = await _start(client)
    (run,) = (await client.call("GET", f"executions/{execution_id}/runs"))["items"]
    path = f"executions/{execution_id}/runs/{run['id']}"
    passed: dict[int, float] = {}
    with_screen: dict[int, float] = {}
    headers = {"Authorization": f"Bearer {running.api_key}"}
    url = f"{running.url}/api/v1/executions/{execution_id}/events?steps=true"
    async with (
        aiohttp.ClientSession(headers=headers, raise_for_status=True) as session,
        session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as events,
    ):
        async for line in events.content:
            if not line.startswith(NOTICE):
                continue
            steps = _steps(await client.call("GET", path))
            now = time.time()
            for number, step in enumerate(steps):
                if step["status"] == "passed":
                    passed.setdefault(number, now)
                if (step.get("screen") or {}).get("tree"):
                    with_screen.setdefault(number, now)
    steps = _steps(await client.call("GET", path))
    ended = [datetime.fromisoformat(step["started_at"]).timestamp() + step["duration_seconds"] for step in steps]
    # The last step shows with the end of the run, whose event is another one.
    return _delays(passed, ended), _delays(with_screen, ended)


def _delays(seen: dict[int, float], ended: list[float]) -> list[float]:
    return [1000 * (at - ended[number]) for number, at in seen.items()]


def _steps(run: Any) -> list[Any]:
    """Of the newest attempt."""
    return run["attempts"][-1]["steps"] if run["attempts"] else []


async def goals(runs: int = 1) -> list[Goal]:
    """The slowest step of all runs counts."""
    passed: list[float] = []
    with_screen: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        async with (
            stack.run_stack(Path(folder), workers=1) as running,
            Client(running.url, running.api_key) as client,
        ):
            for _ in range(runs):
                steps, screens = await _watch(running, client)
                passed += steps
                with_screen += screens
    return [_goal("a step shows as passed", passed, runs), _goal("its screen shows", with_screen, runs)]


def _goal(name: str, delays: list[float], runs: int) -> Goal:
    figures = f"median {median(delays):.0f} ms; {len(delays)} of {runs * (STEPS - 1)} steps before the run's end"
    return Goal(f"{name}: slowest", max(delays), WANTED_MS, "ms", at_most=True, figures=figures)


if __name__ == "__main__":
    show("Steps of a run under way", uvloop.run(goals(*map(int, sys.argv[1:]))))
