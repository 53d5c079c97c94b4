"""A MongoDB that dies, hangs or comes back, seen by a gRPC caller."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2

from deploy.local.mongod import Mongod
from services.chassis import errors
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DomainError
from services.chassis.health import Health
from services.chassis.lifecycle import Background
from services.chassis.mongo import Mongo, Session
from tests.eventually import eventually
from tests.integration.chassis.probe import Probe, serving


@dataclass
class Bench:
    """A service whose creations write to MongoDB in a transaction."""

    driver: str
    probe: Probe

    async def create(self) -> DomainError | None:
        """One creation; what went wrong, if anything."""
        try:
            await self.probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1))
        except grpc.aio.AioRpcError as error:
            return to_domain_error(error) or DomainError(f"not foreseen: {error}")
        return None

    async def works(self) -> bool:
        return await self.create() is None

    async def refuses_at_once(self) -> bool:
        """Whether a call is refused without having reached the servicer."""
        before = len(self.probe.apps.callers)
        return isinstance(await self.create(), errors.Unavailable) and len(self.probe.apps.callers) == before


@asynccontextmanager
async def open_bench(driver: Literal["motor", "pymongo"], uri: str) -> AsyncIterator[Bench]:
    mongo = await Mongo.connect(uri, f"db-{driver}", driver)
    health = Health()
    health.register("mongodb", mongo.ping)

    async def write(session: Session) -> None:
        await mongo.collection("apps").insert_one({"x": 1}, session=session)

    async with Background() as background, serving(health=health) as probe, health.mark_ready(background):
        probe.apps.then = lambda: mongo.transaction(write)
        bench = Bench(driver, probe)
        assert await bench.works()
        yield bench
    await mongo.close()


@pytest.fixture
async def benches(own_mongod: Mongod) -> AsyncIterator[list[Bench]]:
    """One with each driver; they share the outage."""
    with bind(Caller("org-1", scopes=ALL_SCOPES)):
        async with open_bench("motor", own_mongod.uri) as motor, open_bench("pymongo", own_mongod.uri) as pymongo:
            yield [motor, pymongo]


async def test_calls_are_unavailable_during_an_outage_and_work_after_it(
    benches: list[Bench], own_mongod: Mongod
) -> None:
    async def is_unavailable(bench: Bench) -> None:
        error = await bench.create()
        assert isinstance(error, errors.Unavailable), bench.driver
        assert error.retry_after == 1.0
        await eventually(bench.refuses_at_once)
        assert not (await bench.probe.health.readiness()).ok
        assert (await bench.probe.health.liveness()).ok

    await own_mongod.child.kill()
    await asyncio.gather(*map(is_unavailable, benches))
    await own_mongod.start()
    await asyncio.gather(*(eventually(bench.works, within=30) for bench in benches))


async def test_calls_are_unavailable_while_the_database_hangs(benches: list[Bench], own_mongod: Mongod) -> None:
    """Those under way too, long before their deadline; then calls are refused until it answers again."""

    async def is_detected(bench: Bench) -> None:
        error = await bench.create()
        assert isinstance(error, errors.Unavailable), (bench.driver, error)
        assert error.retry_after == 1.0
        await eventually(bench.refuses_at_once)

    own_mongod.child.send(signal.SIGSTOP)
    try:
        await asyncio.gather(*map(is_detected, benches))
    finally:
        own_mongod.child.send(signal.SIGCONT)
    await asyncio.gather(*(eventually(bench.works, within=30) for bench in benches))
