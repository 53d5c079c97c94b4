"""A service of the stack in a child process."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from deploy.local.child import Child, ChildSpec

READY_SECONDS = 60.0
_GRACE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A Python module to run, the variables to add to its environment, and the `host:port` of its /readyz."""

    name: str
    module: str
    admin: str
    env: Mapping[str, str]


class Service:
    """A service that keeps its addresses over stop and start."""

    def __init__(self, spec: ServiceSpec, log: Path) -> None:
        argv = [sys.executable, "-m", spec.module]
        self.spec = spec
        self.child = Child(ChildSpec(spec.name, argv, log, env=spec.env, grace=_GRACE_SECONDS))

    @property
    def origin(self) -> str:
        return self.spec.module

    async def start(self, *, within: float = READY_SECONDS) -> None:
        """Start it and wait until it is ready.

        Raises:
            ChildDied: with its last log lines.
            TimeoutError: with its last log lines.
        """
        self.child.start()
        await self.child.ready(lambda: is_ready(self.spec), within=within)

    async def stop(self) -> None:
        await self.child.stop()


async def is_ready(spec: ServiceSpec) -> bool:
    """Whether /readyz answers 200."""
    return await status(f"http://{spec.admin}/readyz") == 200


async def status(url: str, headers: Mapping[str, str] | None = None) -> int:
    """The HTTP status of a GET; 0 without an answer within 5 s."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session,
            session.get(url, headers=headers) as response,
        ):
            return response.status
    except (aiohttp.ClientError, TimeoutError):
        return 0
