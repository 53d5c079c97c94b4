"""Every kind of child process has the variables that it needs, and no password, token or key of its service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.processes import descendants

SECRET = "a-secret-of-the-service"
VARIABLES = dict.fromkeys(
    ("MOBILETEST_MONGO_URI", "MOBILETEST_SERVICE_TOKEN", "AWS_SECRET_ACCESS_KEY", "LLM_KEY", "https_proxy"), SECRET
)
POOLS = {
    "flows": "services.catalog.flow_reader.ChildFlowReader",
    "artifacts": "services.catalog.inspection.inspector.ProcessInspector",
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
{kind}
async def main():
    child = await start()
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", [*POOLS, "attempts"])
def test_a_child_has_no_secrets_of_its_service(kind: str) -> None:
    """Neither has the fork server, whose first variables all children show."""
    program = PROGRAM.format(kind=POOL if kind in POOLS else ATTEMPTS)
    command = (sys.executable, "-c", program, POOLS.get(kind, ""))
    environment = {**os.environ, **VARIABLES, "TZ": "UTC"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as service:
        try:
            assert service.stdout is not None
            assert service.stdout.readline() == b"started\n"
            assert SECRET in variables_of(service.pid)
            processes = [pid for pid in descendants(service.pid) if b"resource_tracker" not in command_of(pid)]
            assert len(processes) == 2
            for pid in processes:
                assert SECRET not in variables_of(pid)
                assert "MOBILETEST_" not in variables_of(pid)
                assert "TZ=UTC" in variables_of(pid)
        finally:
            service.kill()


def variables_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text(errors="replace")


def command_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
