"""What a team sees that looks now: a queue, a person who is asked, a worker that was lost, tests in quarantine."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from examples.client import Client
from examples.large.app_model import ASKING, SLOW
from examples.large.builds import PlannedBuild, commit
from examples.large.embedded import EmbeddedStack
from examples.large.filling import PLATFORM_FIELD, upload, wait_until
from examples.large.team import Team

# Apps whose newest build is the slow one and the one that asks: a question has a device of the other platform.
_SLOW, _ASKING = "Courier", "Two buttons"
_QUARANTINED = {
    2: ("Flaky since the new animation: BANK-1203", timedelta(hours=20)),
    23: ("The sandbox of the card issuer is unreliable", timedelta(days=3)),
    5: ("Known, waits for BANK-977", timedelta(days=30)),
    44: ("<b>Nobody</b> looks at it", timedelta(days=366)),
}
_MOST_SECONDS = 120


async def quarantine(client: Client, team: Team, tests: Sequence[str]) -> None:
    """Put tests of the team into quarantine; some of them leave it soon."""
    for place, (reason, span) in _QUARANTINED.items():
        if place < team.size.tests:
            body = {"reason": reason, "until": (datetime.now(UTC) + span).isoformat()}
            await client.call("PUT", f"tests/{tests[place]}/quarantine", json=body)


async def lose_worker(stack: EmbeddedStack, client: Client) -> None:
    """Start one more worker and kill it as soon as it is listed: it is shown as lost for a day."""
    name = "worker-lost"
    own = {"MOBILETEST_INSTANCE": name, "MOBILETEST_ADMIN_LISTEN": "127.0.0.1:0"}
    environment = {**os.environ, **stack.environment("worker-1"), **own}
    argv = [sys.executable, "-m", "services.executor"]
    worker = await asyncio.create_subprocess_exec(*argv, env=environment, stdout=asyncio.subprocess.DEVNULL)
    try:
        await wait_until(lambda: _is_listed(client, name), _MOST_SECONDS)
    finally:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()


async def ask(client: Client) -> bool:
    """Let a run wait for a person's answer; False if one does."""
    if await _is_asking(client):
        return False
    app_id, tests = await _app(client, _ASKING, "iOS", ASKING), await client.every("tests")
    body = {"name": "Which button?", "steps": ["Tap Add", 'I see "Count 2"']}
    test = next((each for each in tests if each["name"] == body["name"]), None)
    test = test or await client.call("POST", "tests", json=body)
    config = {"execution_mode": {"human_in_the_loop": True, "retries": 0}, "fallback_trigger": "never"}
    start = {"tests": [{"test_id": test["id"]}], "name": "With a person", "run_config": config}
    await client.call("POST", "executions", json=start | _on("iOS", app_id))
    await wait_until(lambda: _is_asking(client), _MOST_SECONDS)
    return True


async def _is_listed(client: Client, worker: str) -> bool:
    return worker in {each["name"] for each in await client.every("workers")}


async def _is_asking(client: Client) -> bool:
    return bool(await client.every("questions"))


async def fill_queue(client: Client, size: int) -> int:
    """Start runs that keep their devices until so many others wait; how many were started."""
    app_id = await _app(client, _SLOW, "Android", SLOW)
    tests = [test["id"] for test in await client.every("tests") if test["platform"] is None]
    started = 0
    async with asyncio.timeout(_MOST_SECONDS):
        while (missing := size - await _waiting(client)) > 0:
            for first in range(0, missing, 60):
                chosen = [{"test_id": each} for each in tests[: min(60, missing - first)]]
                start = {"tests": chosen, "name": f"Load {commit(str(first))[:7]}", "priority": first // 60 % 3 - 1}
                await client.call("POST", "executions", json=start | _on("Android", app_id))
                started += len(chosen)
            await asyncio.sleep(5)
    return started


async def _waiting(client: Client) -> int:
    page = await client.call("GET", "queue", params={"page_size": 1})
    return int(page["total"])


async def _app(client: Client, name: str, platform: str, model: str) -> str:
    """The newest app of this name, with this model as its newest build."""
    version = "9.0.0-now"
    apps = [each for each in await client.every("apps") if each["name"] == name]
    app = apps[0] if apps else await client.call("POST", "apps", json={"name": name, "platform": platform})
    if app["latest_version"] != version:
        sha = commit(f"{name} {version}")
        await upload(client, app["id"], PlannedBuild(version, 0, "main", "main", sha, model))
    return str(app["id"])


def _on(platform: str, app_id: str) -> dict[str, Any]:
    config = {PLATFORM_FIELD[platform]: {"app_id": app_id}}
    return {"build_config": config, "override_build_config": True}
