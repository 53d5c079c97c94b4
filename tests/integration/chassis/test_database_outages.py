"""A MongoDB that dies, hangs or comes back, seen by a gRPC caller."""

import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2

from deploy.local.mongod import Mongod, mongod
from services.chassis import errors
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DomainError
from services.chassis.health import Health
from services.chassis.lifecycle import Background
from services.chassis.mongo import Driver, Mongo, Session
from tests.eventually import eventually
from tests.integration.chassis.probe import Probe, serving


@dataclass
class Bench:
    """A service whose creations write to MongoDB in a transaction."""

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

    async def is_unavailable(self) -> None:
        error = await self.create()
        assert isinstance(error, errors.Unavailable), error
        assert error.retry_after == 1.0
        await eventually(self.refuses_at_once)


@pytest.fixture
async def own_mongod(tmp_path: Path) -> AsyncIterator[Mongod]:
    async with mongod(tmp_path / "mongod") as running:
        yield running


@pytest.fixture
async def bench(own_mongod: Mongod, mongo_driver: Driver) -> AsyncIterator[Bench]:
    mongo = await Mongo.connect(own_mongod.uri, "db", mongo_driver)
    health = Health()
    health.register("mongodb", mongo.ping)

    async def write(session: Session) -> None:
        await mongo.collection("apps").insert_one({"x": 1}, session=session)

    async with Background() as background, serving(health=health) as probe, health.mark_ready(background):
        probe.apps.then = lambda: mongo.transaction(write)
        with bind(Caller("org-1", scopes=ALL_SCOPES)):
            yield Bench(probe)
    await mongo.close()


async def test_calls_are_unavailable_while_the_database_hangs_or_is_down_and_work_after_it(
    bench: Bench, own_mongod: Mongod
) -> None:
    """Those under way too, long before their deadline; then calls are refused at once until it answers again."""
    assert await bench.works()
    own_mongod.child.send(signal.SIGSTOP)
    try:
        await bench.is_unavailable()
    finally:
        own_mongod.child.send(signal.SIGCONT)
    await eventually(bench.works)
    await own_mongod.child.kill()
    await bench.is_unavailable()
    assert not (await bench.probe.health.readiness()).ok
    assert (await bench.probe.health.liveness()).ok
    await own_mongod.start()
    await eventually(bench.works)
