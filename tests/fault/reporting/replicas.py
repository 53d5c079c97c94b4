"""Reporting as processes that can be killed, frozen, added and removed, on a MongoDB and a broker of the test's own."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, TopicPartition
from pymongo import MongoClient

from deploy.local.broker import Broker, broker
from deploy.local.child import Child, ChildSpec
from deploy.local.mongod import Mongod, mongod
from services.chassis.topics import DEAD_LETTERS, committed_offsets
from services.reporting.consumer import TOPICS
from tests.callers import callers
from tests.published_offsets import PublishedOffsets

ROOT = Path(__file__).parents[3]
DATABASE = "reporting"
SESSION_SECONDS = 2


@dataclass
class Replicas:
    """The replicas by name, and the servers that they work with."""

    folder: Path
    mongod: Mongod
    broker: Broker
    group: str = field(default_factory=lambda: f"reporting-{uuid4().hex[:8]}")
    running: dict[str, Child] = field(default_factory=dict)
    published: PublishedOffsets = field(default_factory=PublishedOffsets)

    def start(self) -> str:
        """The name of a new replica, which is starting."""
        name = f"reporting-{uuid4().hex[:8]}"
        argv = ["nice", sys.executable, "-m", "services.reporting"]  # others may have time limits
        spec = ChildSpec(name, argv, self.folder / f"{name}.log", env=self._env(name))
        self.running[name] = Child(spec)
        self.running[name].start()
        return name

    async def kill(self, name: str) -> None:
        """SIGKILL, wherever it is."""
        child = self.running.pop(name)
        child.check()
        await child.kill()

    async def leave(self, name: str) -> None:
        """SIGTERM: it leaves the group by itself."""
        child = self.running.pop(name)
        child.check()
        await child.stop()

    def freeze(self, name: str) -> None:
        self.running[name].send(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self.running[name].send(signal.SIGCONT)

    async def end(self) -> None:
        """Kill all; ChildDied if one ended by itself before."""
        try:
            for child in self.running.values():
                child.check()
        finally:
            for name in list(self.running):
                await self.running.pop(name).kill()

    async def wind_back(self, by: int) -> None:
        """Give the next replicas another group, whose offsets are those of this one set back by `by`.

        That needs no wait for the broker to notice that members are dead, which must be before it takes their offsets.
        """
        ends = await committed_offsets(self.broker.bootstrap, self.group, self.published.ends)
        self.group = f"reporting-{uuid4().hex[:8]}"
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.broker.bootstrap, group_id=self.group, enable_auto_commit=False
        )
        consumer.assign(list(ends))
        await consumer.start()
        try:
            await consumer.commit({place: max(0, end - by) for place, end in ends.items() if end > 0})
        finally:
            await consumer.stop()

    async def behind(self) -> int:
        """How many of the published records the group has not committed."""
        return sum((await self.published.behind(self.broker.bootstrap, self.group)).values())

    async def dead_letters(self) -> int:
        """How many records were dead-lettered."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self.broker.bootstrap)
        await consumer.start()
        try:
            ends = await consumer.end_offsets([TopicPartition(name + DEAD_LETTERS, 0) for name in TOPICS])
        finally:
            await consumer.stop()
        return sum(ends.values())

    @property
    def client(self) -> "MongoClient[dict[str, Any]]":
        """A client of the database, to be closed."""
        return MongoClient(self.mongod.uri)

    def _env(self, name: str) -> dict[str, str]:
        return {
            "MOBILETEST_INSTANCE": name,
            "MOBILETEST_MONGO_URI": self.mongod.uri,
            "MOBILETEST_KAFKA_BOOTSTRAP": self.broker.bootstrap,
            "MOBILETEST_KAFKA_IDEMPOTENCE": "false",
            "MOBILETEST_KAFKA_SESSION_SECONDS": str(SESSION_SECONDS),
            "MOBILETEST_SERVICE_TOKEN": "t" * 20,
            "MOBILETEST_CALLERS": callers("t" * 20, "operator"),
            "MOBILETEST_SHUTDOWN_GRACE_SECONDS": "2",
            "MOBILETEST_FOLD_BATCH": "1000",
            "MOBILETEST_REPORTING_DATABASE": DATABASE,
            "MOBILETEST_REPORTING_GROUP": self.group,
            "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}",
        }


@asynccontextmanager
async def replicas(folder: Path) -> AsyncIterator[Replicas]:
    """Private servers without a replica; all processes are killed at the end."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(mongod(folder / "mongod"))
        events = await stack.enter_async_context(broker(folder / "broker.log"))
        started = Replicas(folder, database, events)
        stack.push_async_callback(started.end)
        yield started
