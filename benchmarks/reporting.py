"""A reporting service as its own process on servers of its own, and what can be seen of it from outside."""

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from deploy.local.broker import Broker, broker
from deploy.local.child import Child, ChildSpec
from deploy.local.layout import python_path
from deploy.local.mongod import Mongod, mongod
from deploy.local.ports import LOOPBACK, Ports
from services.chassis.events import Event
from services.chassis.producer import Producer
from services.chassis.service_token import token_digest
from services.reporting.consumer import TOPICS

PUBLISHED_AT_ONCE = 500
TOKEN = "t" * 20
STARTED_SECONDS = 60.0
# To show its metrics costs reporting some 10 ms.
MEASURE_SECONDS = 0.5
_COUNT = re.compile(r"^mobiletest_event_apply_delay_seconds_count{[^}]*} (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Servers:
    """A mongod and a broker that nobody else uses."""

    mongod: Mongod
    broker: Broker
    folder: Path
    ports: Ports

    async def publish(self, events: Iterable[Event]) -> None:
        """Publish what there is, and raise when the broker did not take all of it."""
        async with Producer(self.broker.bootstrap, TOPICS, idempotence=False) as producer:
            waiting: list[Event] = []
            for event in events:
                waiting.append(event)
                if len(waiting) == PUBLISHED_AT_ONCE:
                    await publish(producer, waiting)
                    waiting = []
            await publish(producer, waiting)


async def publish(producer: Producer, events: list[Event]) -> None:
    """Publish; the first refusal is raised."""
    for result in await producer.publish(events) if events else ():
        if isinstance(result, Exception):
            raise result


@asynccontextmanager
async def servers(folder: Path) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        ports = stack.enter_context(Ports())
        server = await stack.enter_async_context(mongod(folder / "mongod"))
        kafka = await stack.enter_async_context(broker(folder / "broker.log"))
        yield Servers(server, kafka, folder, ports)


class Service:
    """`python -m services.reporting` with a database and a group of its own."""

    def __init__(self, servers: Servers, name: str, env: Mapping[str, str] | None = None) -> None:
        self.admin, self.grpc = (f"{LOOPBACK}:{servers.ports.take()}" for _ in range(2))
        settings = _settings(servers, name, self.admin) | {"GRPC_LISTEN": self.grpc}
        own = {f"MOBILETEST_{key}": value for key, value in settings.items()}
        argv = [sys.executable, "-m", "services.reporting"]
        spec = ChildSpec(
            name, argv, servers.folder / f"{name}.log", {**own, "PYTHONPATH": python_path(), **(env or {})}
        )
        self.child = Child(spec)

    async def applied(self) -> int:
        """How many events it has applied; 0 before it answers."""
        count = _COUNT.search(await self._metrics())
        return int(float(count.group(1))) if count else 0

    async def _metrics(self) -> str:
        self.child.check()
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://{self.admin}/metrics") as response:
                return await response.text()
        except aiohttp.ClientError:
            return ""


def _settings(servers: Servers, name: str, admin: str) -> dict[str, str]:
    return {
        "MONGO_URI": servers.mongod.uri,
        "KAFKA_BOOTSTRAP": servers.broker.bootstrap,
        "KAFKA_IDEMPOTENCE": "false",
        "KAFKA_SESSION_SECONDS": "2",
        "SERVICE_TOKEN": TOKEN,
        "CALLERS": ",".join(f"{name}={token_digest(TOKEN)}" for name in ("gateway", "operator")),
        "ADMIN_LISTEN": admin,
        "REPORTING_DATABASE": f"reporting_{name}",
        "REPORTING_GROUP": name,
        "INSTANCE": name,
        "LOG_LEVEL": "warning",
    }


@dataclass(frozen=True, slots=True)
class Moment:
    """A look at a running service: seconds of a clock, events applied, CPU seconds of each process."""

    at: float
    applied: int
    cpu: dict[str, float]


async def look(service: Service, servers: Servers) -> Moment:
    processes = {"reporting": service.child, "mongod": servers.mongod.child, "broker": servers.broker.child}
    applied = await service.applied()
    return Moment(time.monotonic(), applied, {name: cpu_seconds(child.pid) for name, child in processes.items()})


async def until_applied(service: Service, servers: Servers, events: int, within: float) -> tuple[Moment, Moment]:
    """The first look that saw an event applied, and the one that saw `events`, or the last within so many seconds."""
    async with asyncio.timeout(STARTED_SECONDS):
        while not (first := await look(service, servers)).applied:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.05)
    last = first
    while last.applied < events and last.at < first.at + within:
        await asyncio.sleep(MEASURE_SECONDS)
        last = await look(service, servers)
    return first, last


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mebibytes(pid: int) -> float:
    """The most memory that the process has had resident."""
    line = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
