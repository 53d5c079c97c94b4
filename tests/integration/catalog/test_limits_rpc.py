"""Limits over gRPC: set by operators, carried by keys and plans, and a spool that is full."""

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio
from mobiletest.catalog.v1 import (
    api_keys_pb2,
    apps_pb2,
    limits_pb2,
    limits_pb2_grpc,
    resolution_pb2,
    tests_pb2,
)
from mobiletest.types.v1 import limits_pb2 as types_pb2
from mobiletest.types.v1.platform_pb2 import PLATFORM_IOS

from services.catalog.commands import bootstrap_organisation
from services.chassis import context, grpc_server
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.mongo import Mongo
from tests.integration.catalog.conftest import TOKEN_OF_GATEWAY, Service

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def organisation(service: Service) -> AsyncIterator[str]:
    """A new organisation, of which the caller is; gives its key."""
    mongo = await Mongo.connect(service.settings.mongo_uri, service.settings.mongo_database)
    issued = await bootstrap_organisation(mongo, "Limited")
    await mongo.close()
    with context.bind(Caller(org_id=issued.key.org_id, scopes=ALL_SCOPES)):
        yield issued.value


def set_limits(service: Service, **limits: Any) -> Any:
    message = types_pb2.OrganisationLimits(**limits)
    return service.limits.SetOrganisationLimits(limits_pb2.SetOrganisationLimitsRequest(limits=message))


async def test_limits_travel_with_keys_and_plans(service: Service, organisation: str) -> None:
    await set_limits(
        service,
        requests_per_second=7,
        queued_runs=3,
        allowed_models=["small"],
        script_hosts=["api.example.com"],
        baseline_bytes=5,
        evidence_bytes=6,
        screen_bytes=0,
        screens="off",
    )
    verified = await service.keys.VerifyApiKey(api_keys_pb2.VerifyApiKeyRequest(key=organisation))
    test = await service.tests.CreateTest(tests_pb2.CreateTestRequest(name="T", steps=[{"string_value": "Tap x"}]))
    resolved = await service.resolution.ResolveRuns(resolution_pb2.ResolveRunsRequest(test_id=test.id))
    read = await service.limits.GetOrganisationLimits(limits_pb2.GetOrganisationLimitsRequest())
    for limits in (verified.limits, resolved.limits, read):
        assert (limits.requests_per_second, limits.queued_runs, limits.allowed_models) == (7, 3, ["small"])
        assert (limits.script_hosts, limits.baseline_bytes, limits.evidence_bytes) == (["api.example.com"], 5, 6)
        assert (limits.HasField("screen_bytes"), limits.screen_bytes, limits.screens) == (True, 0, "off")
        assert limits.api_keys == service.settings.organisation_api_keys
        assert not limits.HasField("streams")


async def test_limits_are_shown_with_their_use(service: Service, organisation: str) -> None:
    """That of `attached_tests` is of the app with most."""
    await set_limits(service, apps=7, tests=8, test_bytes=9000)
    new = apps_pb2.CreateAppRequest(name="A", platform=PLATFORM_IOS)
    apps = [await service.apps.CreateApp(new) for _ in range(2)]
    test = await service.tests.CreateTest(tests_pb2.CreateTestRequest(name="T", steps=[{"string_value": "Tap x"}]))
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=apps[0].id, test_id=test.id))
    shown = await service.limits.GetLimits(limits_pb2.GetLimitsRequest())
    assert {each.name: (each.limit, each.used) for each in shown.limits} == {
        "artifact_bytes": (service.settings.organisation_artifact_bytes, 0),
        "api_keys": (service.settings.organisation_api_keys, 1),
        "apps": (7, 2),
        "tests": (8, 1),
        "workflows": (10_000, 0),
        "builds": (100_000, 0),
        "test_bytes": (9000, 512 + len('["Tap x"]')),
        "attached_tests": (10_000, 1),
    }


async def test_limits_are_for_operators(service: Service, organisation: str) -> None:
    """A call on behalf of a key is refused, and so are limits that are not valid or of no organisation."""
    descriptors = [limits_pb2.DESCRIPTOR.services_by_name["Limits"]]
    async with grpc_server.open_channel(service.address, TOKEN_OF_GATEWAY, services=descriptors) as channel:
        stub: Any = limits_pb2_grpc.LimitsStub(channel)  # type: ignore[no-untyped-call]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.SetOrganisationLimits(limits_pb2.SetOrganisationLimitsRequest())
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.aio.AioRpcError) as invalid:
        await set_limits(service, requests_per_second=0)
    assert invalid.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with context.bind(Caller(org_id="nobody")), pytest.raises(grpc.aio.AioRpcError) as unknown:
        await set_limits(service, api_keys=1000)
    assert unknown.value.code() is grpc.StatusCode.NOT_FOUND
