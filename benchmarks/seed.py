"""What all sides of a benchmark hold: apps, builds, tests and workflows."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from examples.client import Client

APPS = 200
WORKFLOWS = 300
TESTS_OF_LARGE_WORKFLOW = 13
TEXT = "A shop with a catalogue, a cart and a checkout, as the tests of this benchmark see it."
# A gateway takes no more uploads of one organisation at once.
_AT_ONCE = 12

Resource = dict[str, Any]


@dataclass(slots=True)
class Seed:
    """The resources as REST shows them. Each workflow also has the `app_id` of its tests' app."""

    apps: list[Resource]
    builds: list[Resource] = field(default_factory=list)
    tests: list[Resource] = field(default_factory=list)
    workflows: list[Resource] = field(default_factory=list)
    large_workflow: Resource = field(default_factory=dict)


async def plant(client: Client, apps: int = APPS, workflows: int = 1, apps_with_builds: int = 1) -> Seed:
    """Create them in an empty organisation: `workflows` of one test each, and a large one."""

    async def create_app(number: int) -> None:
        platform = "iOS" if number % 2 else "Android"
        await client.call("POST", "apps", json={"name": f"App {number}", "platform": platform, "description": TEXT})

    await _each(create_app, range(apps))
    chosen = (await client.every("apps"))[-apps_with_builds:]
    seed = Seed([])
    await _each(lambda app: _upload(client, seed, app), chosen)
    owners = [chosen[number % len(chosen)] for number in range(workflows)]
    await _each(lambda app: _plant_workflow(client, seed, app), owners)
    seed.large_workflow = await _create_workflow(client, seed, chosen[0], TESTS_OF_LARGE_WORKFLOW)
    seed.apps = await client.every("apps")
    return seed


async def _each(work: Callable[[Any], Awaitable[object]], items: Iterable[Any]) -> None:
    """Do it for every item, some at once."""
    supply = iter(items)

    async def lane() -> None:
        for item in supply:
            await work(item)

    await asyncio.gather(*(lane() for _ in range(_AT_ONCE)))


async def _upload(client: Client, seed: Seed, app: Resource) -> None:
    build = {"version": "1.0.0", "file": "app.bin", "commit": "4f2c1d9"}
    seed.builds.append(await client.upload(app["id"], build, b"artifact"))


async def _plant_workflow(client: Client, seed: Seed, app: Resource) -> None:
    seed.workflows.append(await _create_workflow(client, seed, app, tests=1))


async def _create_workflow(client: Client, seed: Seed, app: Resource, tests: int) -> Resource:
    """A workflow of new tests that are attached to the app."""
    ids = []
    for number in range(tests):
        test = await client.call("POST", "tests", json={"name": f"Launch {number}", "steps": ["launchApp"]})
        await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})
        seed.tests.append(test)
        ids.append(test["id"])
    created = await client.call("POST", "workflows", json={"name": f"{tests} tests", "test_ids": ids})
    return {**created, "app_id": app["id"]}
