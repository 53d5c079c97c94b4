"""Followers of executions see the end, whichever part is frozen and killed while they wait."""

import asyncio
import json
import random
import signal
from contextlib import suppress
from time import monotonic

import aiohttp
import pytest

from deploy.local.stack import Stack
from tests.e2e.client import Api
from tests.e2e.world import ENDED, World
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.test_stack import paced_app

FOLLOWERS = 200
# After the end that GET shows. A feed that does not live is noticed in 12 s, and a lost notification in 5.
LATEST_SECONDS = 30.0


class Follower:
    """Follows an execution by its events alone, and comes back after a break."""

    def __init__(self, api: Api, execution_id: str) -> None:
        self._url = f"{api.url}/api/v1/executions/{execution_id}/events"
        self._headers = {"Authorization": f"Bearer {api.key}"}

    async def end(self, session: aiohttp.ClientSession) -> float:
        """When the end came."""
        while True:
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with session.get(self._url, headers=self._headers) as response:
                    if response.status == 200 and await self._sees_end(response):
                        return monotonic()
            await asyncio.sleep(random.uniform(0.5, 1.5))  # as the server tells its clients

    async def _sees_end(self, response: aiohttp.ClientResponse) -> bool:
        name = ""
        async for line in response.content:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                self._headers["Last-Event-ID"] = value
            elif field == "data" and name == "execution" and json.loads(value)["status"] in ENDED:
                return True
        return False


async def end_of(session: aiohttp.ClientSession, api: Api, execution_id: str) -> float:
    """When GET shows the end."""
    url, headers = f"{api.url}/api/v1/executions/{execution_id}", {"Authorization": f"Bearer {api.key}"}
    while True:
        with suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with session.get(url, headers=headers, timeout=aiohttp.ClientTimeout(total=5)) as response:
                if response.status == 200 and (await response.json())["status"] in ENDED:
                    return monotonic()
        await asyncio.sleep(0.2)


@on_the_stack
@pytest.mark.parametrize("part", ["broker", "gateway", "executor", "mongod"])
async def test_all_followers_see_the_end(own_stack: Stack, own_api: Api, own_world: World, part: str) -> None:
    _, _, workflow = await paced_app(own_world)
    ids = [(await own_world.start(workflow))["id"] for _ in range(4)]
    unlimited = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=40)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=unlimited) as session:
        async with asyncio.timeout(180), asyncio.TaskGroup() as group:
            ends = [group.create_task(end_of(session, own_api, id_)) for id_ in ids]
            followers = [Follower(own_api, ids[number % len(ids)]) for number in range(FOLLOWERS)]
            seen = [group.create_task(follower.end(session)) for follower in followers]
            await asyncio.sleep(0.5)  # while they follow
            await own_stack.kill(part, signal.SIGSTOP)
            await asyncio.sleep(1.0)  # frozen
            await own_stack.kill(part, signal.SIGCONT)
            await asyncio.sleep(0.5)
            await own_stack.kill(part)
            await own_stack.start(part)
        late = [task.result() - ends[number % len(ids)].result() for number, task in enumerate(seen)]
    record(
        "F41",
        f"followers of executions while the {part} was frozen and killed",
        tried=FOLLOWERS,
        survived=sum(seconds < LATEST_SECONDS for seconds in late),
        latest_seconds=round(max(late), 1),
    )
    assert max(late) < LATEST_SECONDS
