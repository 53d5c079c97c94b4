import asyncio

import pytest
from grpc_health.v1 import health_pb2

from services.chassis.errors import Unavailable
from services.chassis.health import Health
from services.chassis.lifecycle import Background

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def fine() -> None:
    pass


async def broken() -> None:
    raise RuntimeError("the disk is full")


async def away() -> None:
    raise Unavailable("the database is away")


async def hanging() -> None:
    await asyncio.Event().wait()


async def grpc_status(health: Health, service: str = "") -> int:
    answer = await health.servicer.Check(health_pb2.HealthCheckRequest(service=service), None)
    return int(answer.status)


@pytest.fixture
def health() -> Health:
    return Health(check_timeout=0.05)


async def test_a_process_that_starts_is_alive_but_not_ready(health: Health) -> None:
    assert (await health.liveness()).ok
    assert (await health.readiness()).failures == {"process": "starting"}


async def test_a_failing_check_is_reported_with_its_error(health: Health) -> None:
    health.register("store", broken)
    health.register("mongodb", fine)
    await health.started()
    assert (await health.readiness()).failures == {"store": "the disk is full"}


async def test_a_check_that_hangs_fails_but_does_not_make_calls_unavailable(health: Health) -> None:
    health.register("mongodb", hanging)
    await health.started()
    assert (await health.readiness()).failures == {"mongodb": "no answer within 0.05 s"}
    assert health.unavailable is None


async def test_an_outage_of_a_dependency_affects_only_readiness(health: Health) -> None:
    health.register("mongodb", away)
    await health.started()
    assert not (await health.readiness()).ok
    assert (await health.liveness()).ok


async def test_calls_are_unavailable_while_a_dependency_is(health: Health) -> None:
    checks = [away]
    health.register("mongodb", lambda: checks[0]())
    await health.started()
    assert isinstance(health.unavailable, Unavailable)
    checks[0] = fine
    await health.publish()
    assert health.unavailable is None


async def test_a_failing_liveness_check_makes_the_process_unhealthy(health: Health) -> None:
    health.register("consumer", broken, affects="liveness")
    await health.started()
    assert (await health.readiness()).ok
    assert not (await health.liveness()).ok


async def test_grpc_health_covers_each_service(health: Health) -> None:
    health.serve(["mobiletest.catalog.v1.Apps"])
    await health.started()
    assert await grpc_status(health, "mobiletest.catalog.v1.Apps") == SERVING
    health.register("mongodb", away)
    await health.publish()
    assert await grpc_status(health) == NOT_SERVING
    assert await grpc_status(health, "mobiletest.catalog.v1.Apps") == NOT_SERVING


@pytest.mark.parametrize("watched", [True, False])
async def test_checks_are_repeated_only_while_they_are_watched(health: Health, watched: bool) -> None:
    async with Background() as background, health.mark_ready(background, watched=watched):
        assert ("health" in {task.get_name() for task in asyncio.all_tasks()}) is watched
        assert (await health.readiness()).ok


async def test_a_stopping_process_is_never_ready_again(health: Health) -> None:
    async with Background() as background:
        async with health.mark_ready(background):
            assert (await health.readiness()).ok
        await health.publish()
        assert (await health.readiness()).failures == {"process": "stopping"}
        assert await grpc_status(health) == NOT_SERVING
