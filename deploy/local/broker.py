"""An embedded broker: Tansu, which speaks the Kafka protocol and keeps everything in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.local import binaries
from deploy.local.child import Child, ChildSpec
from deploy.local.ports import LOOPBACK, Ports, accepts


class Broker:
    """A broker that keeps its port over stop and start, but not its topics: `republish` restores those.

    `advertised_port` is for clients that reach it through a proxy.
    """

    def __init__(self, port: int, log: Path, *, advertised_port: int | None = None) -> None:
        self.port = port
        self._advertised_port = advertised_port or port
        self.binary = binaries.broker()
        self.child = Child(ChildSpec("broker", self._argv(), log))

    @property
    def origin(self) -> str:
        return f"{self.binary.path.name} from {self.binary.origin}, port {self.port}"

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    async def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self.child.start()
        await self.child.ready(lambda: accepts(self.port), within=30.0)

    async def stop(self) -> None:
        """Kill it: it has nothing to save, and its graceful shutdown waits seconds for clients."""
        await self.child.kill()

    def _argv(self) -> list[str]:
        advertised = f"tcp://{LOOPBACK}:{self._advertised_port}"
        listen = ["--listener-url", f"tcp://{self.bootstrap}", "--advertised-listener-url", advertised]
        return [str(self.binary.path), "broker", *listen, "--storage-engine", "memory://tansu/"]


@asynccontextmanager
async def broker(log: Path) -> AsyncIterator[Broker]:
    """A running broker, stopped at the end."""
    with Ports() as ports:
        server = Broker(ports.take(), log)
        try:
            await server.start()
            yield server
        finally:
            await server.stop()
