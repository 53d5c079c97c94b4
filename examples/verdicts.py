"""Runs the example workflow on each build and prints the verdicts as a table."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.client import Client
from examples.workspace import Workspace

ENDED = ("completed", "failed", "cancelled")
PLATFORM_FIELD = {"iOS": "ios_build", "Android": "android_build"}
Runs = dict[tuple[str, str], Any]


async def run(client: Client, workspace: Workspace) -> Runs:
    """The runs of the workflow on the n-th build of every app, oldest first, by (test name, build id).

    What an earlier start of the stack has run is not run again.
    """
    runs: Runs = {}
    requests = [_Request.on(workspace.workflow, generation) for generation in _generations(workspace)]
    earlier = [await _earlier(client, request) for request in requests]
    if all(earlier):
        print("The examples have run before, and are not run again: these are their verdicts.")
    for request, execution_id in zip(requests, earlier, strict=True):
        execution = await _ended(client, execution_id or await _start(client, request))
        for item in await client.every(f"executions/{execution['id']}/runs"):
            runs[item["test_name"], item["build_id"]] = item
    return runs


def _generations(workspace: Workspace) -> list[list[tuple[Any, Any]]]:
    """The first builds of all apps, then the second ones, and so on."""
    by_app: dict[str, list[tuple[Any, Any]]] = {}
    for app, build in workspace.builds:
        by_app.setdefault(app["id"], []).append((app, build))
    longest = max(len(builds) for builds in by_app.values())
    return [[builds[place] for builds in by_app.values() if place < len(builds)] for place in range(longest)]


@dataclass(frozen=True, slots=True)
class _Request:
    """The workflow on these builds, for the commit that they were made from."""

    workflow_id: str
    build_config: Mapping[str, Any]
    commit: str

    @classmethod
    def on(cls, workflow: Any, builds: list[tuple[Any, Any]]) -> Self:
        config = {
            PLATFORM_FIELD[app["platform"]]: {"app_id": app["id"], "pinned_version": build["version"]}
            for app, build in builds
        }
        return cls(workflow["id"], config, builds[0][1]["metadata"]["commit_sha"])


async def _earlier(client: Client, request: _Request) -> str | None:
    """The id of the newest execution of the same request that was neither cancelled nor ended without a verdict."""
    query = {"workflow_id": request.workflow_id, "commit_sha": request.commit, "page_size": 100}
    for execution in (await client.call("GET", "executions", params=query))["items"]:
        config = {field: build for field, build in (execution["build_config"] or {}).items() if build}
        if config == request.build_config and execution["status"] not in ("failed", "cancelled"):
            return str(execution["id"])
    return None


async def _start(client: Client, request: _Request) -> str:
    """The id of a new execution."""
    body = {
        "workflow_id": request.workflow_id,
        "build_config": request.build_config,
        "override_build_config": True,
    }
    headers = {
        "X-CI-Branch": "main",
        "X-CI-Commit-SHA": request.commit,
        "X-CI-Repository": "https://git.example.com/shop",
    }
    started = await client.call("POST", "execution/api/execute_workflow_id_async", json=body, headers=headers)
    return str(started["id"])


async def _ended(client: Client, execution_id: str) -> Any:
    """The execution after its end."""
    async with asyncio.timeout(300):
        while True:
            execution = await client.call("GET", f"executions/{execution_id}", params={"wait": 30})
            if execution["status"] in ENDED:
                return execution


def show(workspace: Workspace, runs: Runs) -> None:
    """Print one row per test and one column per build."""
    table = Table(title=f'Verdicts of the workflow "{workspace.workflow["name"]}" (simulated devices)')
    table.add_column("Test", no_wrap=True)
    for app, build in workspace.builds:
        table.add_column(f"{app['platform']}\n{build['version']}", justify="center")
    for name in dict.fromkeys(test for test, _ in runs):
        table.add_row(name, *(_verdict(runs.get((name, build["id"]))) for _, build in workspace.builds))
    width = None if Console().is_terminal else 140
    console = Console(width=width)
    console.print(table)
    console.print('"flaky": passed after a failed attempt on the same build; "-": this test is not for that platform.')


def _verdict(item: Any) -> Text:
    if item is None:
        return Text("-", style="dim")
    if item["status"] != "completed":
        return Text(item["failure"]["category"] if item["failure"] else item["status"], style="magenta")
    if not item["success"]:
        return Text("failed", style="red")
    return Text("flaky", style="yellow") if item["report_metadata"].get("flaky") else Text("passed", style="green")
