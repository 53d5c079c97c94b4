"""A MongoDB that dies, hangs or comes back, seen by a gRPC caller."""

import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2

from deploy.local.mongod import Mongod
from services.chassis import errors
from services.chassis.context import Caller, bind
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

    probe: Probe
    mongo: Mongo

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


@pytest.fixture(params=["motor", "pymongo"])
async def bench(request: pytest.FixtureRequest, own_mongod: Mongod) -> AsyncIterator[Bench]:
    driver: Literal["motor", "pymongo"] = request.param
    mongo = await Mongo.connect(own_mongod.uri, "db", driver)
    health = Health()
    health.register("mongodb", mongo.ping)

    async def write(session: Session) -> None:
        await mongo.collection("apps").insert_one({"x": 1}, session=session)

    async with Background() as background, serving(health=health) as probe, health.mark_ready(background):
        probe.apps.then = lambda: mongo.transaction(write)
        with bind(Caller("org-1")):
            ready = Bench(probe, mongo)
            assert await ready.works()
            yield ready
    await mongo.close()


async def test_calls_are_unavailable_during_an_outage_and_work_after_it(bench: Bench, own_mongod: Mongod) -> None:
    await own_mongod.child.kill()
    error = await bench.create()
    assert isinstance(error, errors.Unavailable)
    assert error.retry_after == 1.0
    await eventually(bench.refuses_at_once)
    assert not (await bench.probe.health.readiness()).ok
    assert (await bench.probe.health.liveness()).ok
    await own_mongod.start()
    await eventually(bench.works, within=30)


async def test_a_database_that_hangs_is_detected_within_the_deadline_of_a_call(
    bench: Bench, own_mongod: Mongod
) -> None:
    own_mongod.child.send(signal.SIGSTOP)
    try:
        error = await bench.create()
        assert isinstance(error, errors.Unavailable | errors.DeadlineExceeded)
        await eventually(bench.refuses_at_once)
    finally:
        own_mongod.child.send(signal.SIGCONT)
    await eventually(bench.works, within=30)
