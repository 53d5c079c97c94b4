"""What `mobiletest run` adds to what the server needs: `python -m benchmarks.command_line`.

In turns: the command on a folder that the server has already, and a client that sends only the start of the same tests
and waits in a long poll. Also the time of `--help`, beside an interpreter that does nothing.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import limits
from deploy.local import stack
from examples.client import Client

ROOT = Path(__file__).parents[1]
ROUNDS = 7
FLOW = "appId: com.example.shop\nname: Flow {}\n---\n- launchApp\n- assertVisible: Log in\n"
SIZES = (1, 50)


async def main() -> None:
    print(show_start())
    print("\n| flows | the server alone, s | `mobiletest run`, s | added, s (least to most) | ratio |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder) / "state", workers=2, extra_env=limits.ENVIRONMENT) as running:
            environment = {"MOBILETEST_URL": running.url, "MOBILETEST_API_KEY": running.api_key}
            async with Client(running.url, running.api_key) as client:
                for size in SIZES:
                    print(await measure(client, environment, make_project(Path(folder) / f"{size}", size)))


def show_start() -> str:
    """The time of `mobiletest --help`, and of an interpreter without it."""
    bare, shown = [], []
    for _ in range(ROUNDS):
        bare.append(timed([sys.executable, "-c", "pass"]))
        shown.append(timed([sys.executable, "-m", "mobiletest_cli", "--help"]))
    return f"--help {statistics.median(shown) * 1000:.0f} ms, python -c pass {statistics.median(bare) * 1000:.0f} ms"


def timed(command: Sequence[str]) -> float:
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "cli")}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def make_project(folder: Path, size: int) -> Path:
    """A folder with an app file and flows."""
    (folder / ".maestro").mkdir(parents=True)
    (folder / "app.apk").write_bytes(b"app of %d flows" % size)
    (folder / "mobiletest.yaml").write_text(f"app: Shop {size}\n")
    for number in range(size):
        (folder / ".maestro" / f"{number}.yaml").write_text(FLOW.format(number))
    return folder


async def measure(client: Client, environment: dict[str, str], project: Path) -> str:
    """A row of the table."""
    app = await client.call("POST", "apps", json={"name": f"Shop {project.name}", "platform": "Android"})
    await run_command(environment, project)
    tests = await client.every(f"apps/{app['id']}/tests")
    alone, command = [], []
    for _ in range(ROUNDS):
        alone.append(await run_alone(client, app, [{"test_id": each["test_id"]} for each in tests]))
        command.append(await run_command(environment, project))
    added = [of_command - of_server for of_command, of_server in zip(command, alone, strict=True)]
    server, whole = statistics.median(alone), statistics.median(command)
    spread = f"{statistics.median(added):.2f} ({min(added):.2f} to {max(added):.2f})"
    return f"| {project.name} | {server:.2f} | {whole:.2f} | {spread} | {whole / server:.2f} |"


async def run_command(environment: dict[str, str], project: Path) -> float:
    """Seconds of the command, until it has printed the verdict."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mobiletest_cli", "run", "--file", "app.apk", "--build", "1", "--junit", "junit.xml"),
        cwd=project,
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT / "cli")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert await process.wait() == 0
    return time.perf_counter() - began


async def run_alone(client: Client, app: Any, tests: Sequence[Any]) -> float:
    """Seconds from the start of these tests to the end of the execution."""
    began = time.perf_counter()
    build = {"build_config": {"android_build": {"app_id": app["id"]}}, "override_build_config": True}
    started = await client.call("POST", "executions", json={"tests": tests, **build})
    while True:
        execution = await client.call("GET", f"executions/{started['id']}", params={"wait": 30})
        if execution["status"] == "completed":
            return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
