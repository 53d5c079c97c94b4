"""The example workspace: reads it from the files beside this module and puts it into the service, once.

What exists already, by name or version, is left as it is, so that loading again changes nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from examples.client import Client

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the loader runs: the apps and their builds, oldest first, as the service answers them, and the workflow."""

    builds: list[tuple[Any, Any]]
    workflow: Any


def content(name: str) -> bytes:
    """The content of a file of the examples."""
    return (FOLDER / name).read_bytes()


def described(name: str) -> Any:
    """The content of a YAML file of the examples."""
    return yaml.safe_load(content(name))


def described_tests() -> list[Any]:
    """The tests, by file name, then those that are Maestro files."""
    written = [yaml.safe_load(path.read_text()) for path in sorted((FOLDER / "tests").glob("*.yaml"))]
    return [*written, *(_flow(path) for path in sorted((FOLDER / "flows").glob("*.yaml")))]


def _flow(path: Path) -> dict[str, Any]:
    """A Maestro file is sent as it is; its name says whether it exists already."""
    text = path.read_text()
    configuration = next(yaml.safe_load_all(text))
    return {"name": configuration["name"], "flow": text}


async def load(client: Client) -> Workspace:
    """Make sure that the whole workspace is in the service."""
    apps = [await _app(client, described_app) for described_app in described("apps.yaml")]
    tests = [await _named(client, "tests", test) for test in described_tests()]
    for app, _ in apps:
        await _attach(client, app, tests)
    builds = [(app, build) for app, builds in apps for build in builds]
    return Workspace(builds, await _workflow(client, tests))


async def _named(client: Client, path: str, body: dict[str, Any]) -> Any:
    """The resource of this name, created when there is none."""
    present = {item["name"]: item for item in await client.every(path)}
    return present.get(body["name"]) or await client.call("POST", path, json=body)


async def _app(client: Client, described_app: dict[str, Any]) -> tuple[Any, list[Any]]:
    """An app and its builds, oldest first."""
    wanted = described_app.pop("builds")
    app = await _named(client, "apps", described_app)
    present = {build["version"]: build for build in await client.every(f"apps/{app['id']}/builds")}
    builds = []
    for build in wanted:
        version = str(build["version"])
        if version not in present:
            present[version] = await client.upload(app["id"], build, content(build["file"]))
        builds.append(present[version])
    return app, builds


async def _attach(client: Client, app: Any, tests: list[Any]) -> None:
    """Attach the tests that can run on the app's platform; those that are keep their pins."""
    present = {attached["test_id"] for attached in await client.every(f"apps/{app['id']}/tests")}
    for test in tests:
        if test["id"] not in present and test["platform"] in (None, app["platform"]):
            await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})


async def _workflow(client: Client, tests: list[Any]) -> Any:
    body = described("workflow.yaml")
    ids = {test["name"]: test["id"] for test in tests}
    body["test_ids"] = [ids[name] for name in body.pop("tests")]
    return await _named(client, "workflows", body)
