"""Inspects artifacts in a child process, so that a malicious artifact cannot harm the service."""

import asyncio
import json
import os
import sys
from pathlib import Path

from services.catalog.model.builds import Inspection, RejectedArtifact

WALL_SECONDS = 15.0
AT_ONCE = 2
_MODULE = "services.catalog.inspection.manifest_reader"


class ProcessInspector:
    """Inspects each artifact in a child process without our environment, under resource limits."""

    def __init__(self, *, wall_seconds: float = WALL_SECONDS, at_once: int = AT_ONCE) -> None:
        self._wall_seconds = wall_seconds
        self._slots = asyncio.Semaphore(at_once)

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        """See the port."""
        async with self._slots:
            return _parse_output(*await self._run(path))

    async def _run(self, path: Path) -> tuple[int, bytes]:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            _MODULE,
            str(path),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            async with asyncio.timeout(self._wall_seconds):
                output, _ = await child.communicate()
        except TimeoutError:
            output = b""
        finally:
            await _stop(child)
        return child.returncode or 0, output


async def _stop(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        child.kill()
        await asyncio.shield(child.wait())


def _parse_output(code: int, output: bytes) -> Inspection | RejectedArtifact:
    if code != 0:
        return Inspection(error=f"the inspection ended with {_cause(code)}")
    try:
        found: dict[str, str | None] = json.loads(output)
    except ValueError:
        return Inspection(error="the inspection gave no answer")
    if found.get("hostile"):
        return RejectedArtifact(str(found["hostile"]))
    return Inspection(package_name=found.get("package_name"), version=found.get("version"), error=found.get("error"))


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
