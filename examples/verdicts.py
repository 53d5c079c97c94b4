"""Runs the example workflow on each build and prints the verdicts as a table."""

import asyncio
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.client import Client
from examples.workspace import Workspace

ENDED = ("completed", "failed", "cancelled")
PLATFORM_FIELD = {"iOS": "ios_build", "Android": "android_build"}
Runs = dict[tuple[str, str], Any]


async def run(client: Client, workspace: Workspace) -> Runs:
    """Run the workflow on the n-th build of every app, oldest first; each run by (test name, build id)."""
    runs: Runs = {}
    for generation in _generations(workspace):
        execution = await _execute(client, workspace.workflow, generation)
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


async def _execute(client: Client, workflow: Any, builds: list[tuple[Any, Any]]) -> Any:
    """Start the workflow on these builds and wait for its end; the execution."""
    config = {
        PLATFORM_FIELD[app["platform"]]: {"app_id": app["id"], "pinned_version": build["version"]}
        for app, build in builds
    }
    body = {"workflow_id": workflow["id"], "build_config": config, "override_build_config": True}
    commit = builds[0][1]["metadata"]["commit_sha"]
    headers = {"X-CI-Branch": "main", "X-CI-Commit-SHA": commit, "X-CI-Repository": "https://git.example.com/shop"}
    started = await client.call("POST", "execution/api/execute_workflow_id_async", json=body, headers=headers)
    async with asyncio.timeout(300):
        while True:
            execution = await client.call("GET", f"executions/{started['id']}", params={"wait": 30})
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
