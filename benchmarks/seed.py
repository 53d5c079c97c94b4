"""What both sides of a benchmark hold: apps, and a workflow with one test on one build."""

from dataclasses import dataclass
from typing import Any

from examples.client import Client

APPS = 200
TEXT = "A shop with a catalogue, a cart and a checkout, as the tests of this benchmark see it."


@dataclass(frozen=True, slots=True)
class Seed:
    """The resources as REST shows them."""

    apps: list[dict[str, Any]]
    build: dict[str, Any]
    test: dict[str, Any]
    workflow: dict[str, Any]


async def plant(client: Client) -> Seed:
    """Create them in an empty organisation."""
    for number in range(APPS):
        platform = "iOS" if number % 2 else "Android"
        await client.call("POST", "apps", json={"name": f"App {number}", "platform": platform, "description": TEXT})
    app = (await client.every("apps"))[-1]
    build = await client.upload(app["id"], {"version": "1.0.0", "file": "app.bin", "commit": "4f2c1d9"}, b"artifact")
    test = await client.call("POST", "tests", json={"name": "Launch", "steps": ["launchApp"]})
    await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})
    body = {"name": "One test", "test_ids": [test["id"]]}
    workflow = await client.call("POST", "workflows", json=body)
    return Seed(await client.every("apps"), build, test, workflow)
