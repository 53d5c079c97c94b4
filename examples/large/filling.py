"""Puts a team into the service and runs its executions, through the public REST interface."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from examples.client import Client
from examples.large.builds import PlannedBuild
from examples.large.team import MINUTE, Start, Team

ENDED = ("completed", "failed", "cancelled")
PLATFORM_FIELD = {"iOS": "ios_build", "Android": "android_build"}
# How many executions run at a time.
_AT_A_TIME = 4
_AT_ONCE = 8
_MOST_SECONDS = 900
RUN_CONFIG = {"execution_mode": {"retries": 1}, "fallback_trigger": "never"}


@dataclass
class Filled:
    """What is in the service: ids by place, and how many days ago builds and executions are to have been (by id)."""

    apps: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    workflows: dict[str, str] = field(default_factory=dict)
    builds: dict[str, float] = field(default_factory=dict)
    executions: dict[str, float] = field(default_factory=dict)


async def fill(client: Client, team: Team) -> Filled:
    """Create everything and run all executions to their ends."""
    filled = Filled()
    for planned in team.apps:
        app = await client.call("POST", "apps", json={"name": planned.name, "platform": planned.platform})
        filled.apps.append(app["id"])
    tests = await _at_once(client.call("POST", "tests", json=test.body) for test in team.tests)
    filled.tests = [test["id"] for test in tests]
    await _at_once(
        client.call("PUT", f"apps/{filled.apps[app]}/tests/{filled.tests[test]}", json={})
        for app, places in team.attached.items()
        for test in places
    )
    for name, places in team.workflows.items():
        body = {"name": name, "test_ids": [filled.tests[test] for test in places], "run_config": RUN_CONFIG}
        filled.workflows[name] = (await client.call("POST", "workflows", json=body))["id"]
    for place, builds in team.builds.items():
        for build in builds:
            filled.builds[await upload(client, filled.apps[place], build)] = build.days_ago
    await _run_all(client, team, filled)
    return filled


async def upload(client: Client, app_id: str, build: PlannedBuild) -> str:
    """The id of the new build."""
    form = aiohttp.FormData()
    form.add_field("version", build.version)
    form.add_field("metadata", json.dumps(build.metadata))
    form.add_field("file", build.file.encode(), filename="app.yaml", content_type="application/yaml")
    made = await client.call("POST", f"apps/{app_id}/builds", data=form)
    return str(made["id"])


async def _at_once(calls: Iterable[Any]) -> list[Any]:
    """What the calls answer, in their order; some of them at a time."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(call: Any) -> Any:
        async with slots:
            return await call

    return await asyncio.gather(*map(one, calls))


async def _run_all(client: Client, team: Team, filled: Filled) -> None:
    slots = asyncio.Semaphore(_AT_A_TIME)

    async def run(start: Start) -> None:
        async with slots:
            await _run(client, team, filled, start)

    await asyncio.gather(*map(run, team.starts()))


async def _run(client: Client, team: Team, filled: Filled, start: Start) -> None:
    execution_id = await _started(client, team, filled, start)
    filled.executions[execution_id] = start.days_ago
    await until_ended(client, execution_id)
    if start.repeat:
        path = f"executions/{execution_id}/rerun"
        again = await client.call("POST", path, json={"failed_only": True}, headers=start.headers)
        filled.executions[again["id"]] = start.days_ago - 25 * MINUTE
        await until_ended(client, again["id"])


async def _started(client: Client, team: Team, filled: Filled, start: Start) -> str:
    config = {
        PLATFORM_FIELD[team.apps[app].platform]: {"app_id": filled.apps[app], "pinned_version": version}
        for app, version in start.builds.items()
    }
    body: dict[str, Any] = {"run_config": {**RUN_CONFIG, "env": start.env}}
    if config:
        body |= {"build_config": config, "override_build_config": True}
    if start.workflow:
        body["workflow_id"] = filled.workflows[start.name]
        path = "execution/api/execute_workflow_id_async"
    else:
        body |= {"name": start.name, "tests": [{"test_id": filled.tests[test]} for test in start.tests]}
        path = "executions"
    return str((await client.call("POST", path, json=body, headers=start.headers))["id"])


async def until_ended(client: Client, execution_id: str) -> Any:
    """The execution after its end."""
    async with asyncio.timeout(_MOST_SECONDS):
        while True:
            execution = await client.call("GET", f"executions/{execution_id}", params={"wait": 30})
            if execution["status"] in ENDED:
                return execution


async def until_reported(client: Client, filled: Filled) -> None:
    """Wait until reporting shows all runs: an event that it reads later would bring back a time of today."""
    expected = 0
    for execution_id in filled.executions:
        expected += (await client.call("GET", f"executions/{execution_id}/runs", params={"page_size": 1}))["total"]
    await wait_until(lambda: _is_reported(client, filled.builds, expected), _MOST_SECONDS)


async def _is_reported(client: Client, builds: Iterable[str], runs: int) -> bool:
    """Whether the lists of the builds have so many runs."""
    calls = [client.call("GET", f"apps/builds/{build}/runs", params={"page_size": 1}) for build in builds]
    return bool(sum(page["total"] for page in await _at_once(calls)) >= runs)


async def wait_until(holds: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Ask again until it holds. TimeoutError if it does not within so many seconds."""
    async with asyncio.timeout(seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.5)
