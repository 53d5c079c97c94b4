"""No child process has a password, token or key of its service, or can read one from the service or another child."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.attack.processes import descendants

SECRET = "a-secret-of-the-service"
VARIABLES = dict.fromkeys(
    ("MOBILETEST_MONGO_URI", "MOBILETEST_SERVICE_TOKEN", "AWS_SECRET_ACCESS_KEY", "LLM_KEY", "https_proxy"), SECRET
)
POOLS = {
    "flows": "services.catalog.flow_reader.ChildFlowReader",
    "artifacts": "services.catalog.inspector.ProcessInspector",
    "workspaces": "services.catalog.workspace_reader.ChildWorkspaceReader",
    "steps": "services.executor.resolver_pool.ResolverPool",
}
POOL = """
from importlib import import_module
module, _, name = sys.argv[1].rpartition(".")
pool = getattr(import_module(module), name)()
start = pool._children.warm
"""
ATTEMPTS = """
from services.chassis.child_process import ChildLimits, start_child
from services.executor.worker.processes.attempt_start import AttemptStart, LogFormat
from services.executor.worker_app import preload_attempts
preload_attempts()
start = lambda: start_child(AttemptStart(LogFormat("info", "json")), ChildLimits())
"""
PROGRAM = """
import asyncio, sys
from services.chassis.settings import ProcessSettings, load
{kind}
async def main():
    child = await start()
    print("started", flush=True)
    await asyncio.Event().wait()

load(ProcessSettings)
asyncio.run(main())
"""
# A program runs without what only root may, which is to read all processes.
AS_A_USER = ("setpriv", "--bounding-set=-all") if os.geteuid() == 0 else ()

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@contextmanager
def service(kind: str) -> Iterator[int]:
    """The id of a service that has started a child of this kind."""
    program = PROGRAM.format(kind=POOL if kind in POOLS else ATTEMPTS)
    command = (*AS_A_USER, sys.executable, "-c", program, POOLS.get(kind, ""))
    environment = {**os.environ, **VARIABLES, "TZ": "UTC"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"started\n"
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize("kind", [*POOLS, "attempts"])
def test_a_child_has_and_reads_no_secrets_of_its_service(kind: str) -> None:
    """Neither has the fork server, whose first variables all children show, or the tracker of multiprocessing."""
    with service(kind) as pid:
        assert SECRET in variables_of(pid)
        started = descendants(pid)
        assert len(started) == 3
        for each in started:
            assert SECRET not in variables_of(each)
            assert "MOBILETEST_" not in variables_of(each)
            assert "TZ=UTC" in variables_of(each)
        readable = {each for each in (pid, *started) if reads(f"/proc/{each}/environ") or reads(f"/proc/{each}/maps")}
        assert readable == {each for each in started if b"resource_tracker" in command_of(each)}


def test_children_end_first_when_memory_runs_out() -> None:
    with service("flows") as pid:
        scores = {each: Path(f"/proc/{each}/oom_score_adj").read_text().strip() for each in descendants(pid)}
        first = {each for each, score in scores.items() if score == "1000"}
        assert first == {each for each in scores if b"resource_tracker" not in command_of(each)}


def reads(path: str) -> bool:
    return subprocess.run([*AS_A_USER, "cat", path], check=False, capture_output=True).returncode == 0


def variables_of(pid: int) -> str:
    """Read as root: a service lets nobody else."""
    return Path(f"/proc/{pid}/environ").read_text(errors="replace")


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
