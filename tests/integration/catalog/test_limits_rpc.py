"""Limits over gRPC: set by operators, carried by keys and plans, and a spool that is full."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio
from mobiletest.catalog.v1 import (
    api_keys_pb2,
    apps_pb2,
    builds_pb2,
    limits_pb2,
    limits_pb2_grpc,
    resolution_pb2,
    tests_pb2,
)
from mobiletest.types.v1 import limits_pb2 as types_pb2
from mobiletest.types.v1 import platform_pb2

from services.catalog.commands import bootstrap_organisation
from services.chassis import context, grpc_server
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.error_status import from_rpc_error
from services.chassis.errors import PermissionDenied
from services.chassis.mongo import Mongo
from tests.eventually import eventually
from tests.fakes.workspaces import PNG, zip_files
from tests.integration.catalog.conftest import TOKEN_OF_GATEWAY, Service
from tests.integration.catalog.test_apps_rpc import failed
from tests.integration.catalog.test_imports_rpc import messages, send

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
    )
    verified = await service.keys.VerifyApiKey(api_keys_pb2.VerifyApiKeyRequest(key=organisation))
    test = await service.tests.CreateTest(tests_pb2.CreateTestRequest(name="T", steps=[{"string_value": "Tap x"}]))
    resolved = await service.resolution.ResolveRuns(resolution_pb2.ResolveRunsRequest(test_id=test.id))
    read = await service.limits.GetOrganisationLimits(limits_pb2.GetOrganisationLimitsRequest())
    for limits in (verified.limits, resolved.limits, read):
        assert (limits.requests_per_second, limits.queued_runs, limits.allowed_models) == (7, 3, ["small"])
        assert (limits.script_hosts, limits.baseline_bytes) == (["api.example.com"], 5)
        assert limits.api_keys == service.settings.organisation_api_keys
        assert not limits.HasField("streams")


async def test_use_is_shown(service: Service, organisation: str) -> None:
    await set_limits(service, artifact_bytes=5000, api_keys=2)
    shown = await service.limits.GetLimits(limits_pb2.GetLimitsRequest())
    assert {each.name: (each.limit, each.used) for each in shown.limits} == {
        "artifact_bytes": (5000, 0),
        "api_keys": (2, 1),
    }
    assert list(shown.allowed_models) == ["*"]


async def test_import_beyond_the_limit_of_bytes_changes_nothing(service: Service, organisation: str) -> None:
    await set_limits(service, artifact_bytes=len(PNG))
    files = {"a.yaml": "- addMedia: [p.png]\n", "p.png": PNG + b"!"}
    refused = await failed(service.tests.ImportTests(messages(zip_files(files))))
    assert (type(refused), refused.reason) == (PermissionDenied, "LIMIT_REACHED")
    assert (service.files(), (await service.tests.ListTests(tests_pb2.ListTestsRequest())).total) == ([], 0)
    assert (await send(service, files | {"p.png": PNG})).created_count == 1


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
    for host in ("localhost", "http://api.example.com", "api.example.com:8080", "*"):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await set_limits(service, script_hosts=[host])
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with context.bind(Caller(org_id="nobody")), pytest.raises(grpc.aio.AioRpcError) as unknown:
        await set_limits(service, api_keys=1000)
    assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


class TestSpool:
    async def test_an_upload_that_finds_no_room_is_told_when_to_come_again(self, service: Service) -> None:
        """Before its bytes are read: the uploads of the organisation have a quarter of the spool. When they have ended
        there is room.
        """
        request = apps_pb2.CreateAppRequest(name="Shop", platform=platform_pb2.PLATFORM_ANDROID)
        app, full = await service.apps.CreateApp(request), asyncio.Event()

        async def slow(version: str) -> AsyncIterator[builds_pb2.UploadBuildRequest]:
            metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, version=version)
            yield builds_pb2.UploadBuildRequest(metadata=metadata)
            yield builds_pb2.UploadBuildRequest(chunk=b"a")
            await full.wait()
            yield builds_pb2.UploadBuildRequest(chunk=b"", end=builds_pb2.UploadBuildEnd(size=1))

        first = [asyncio.ensure_future(service.builds.UploadBuild(slow(version))) for version in "12345678"]
        metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, version="9", expected_bytes=1)
        await eventually(lambda: len(list(service.spool.iterdir())) == len(first))
        refused = await _refused_upload(service, metadata)
        full.set()
        assert (refused.reason, refused.retry_after) == ("LIMIT_REACHED", 10.0)
        assert "spool_bytes" in refused.message
        assert "".join([(await upload).version for upload in first]) == "12345678"
        assert list(service.spool.iterdir()) == []


async def _refused_upload(service: Service, metadata: builds_pb2.UploadBuildMetadata) -> Any:
    """The error of an upload that never sends a byte."""

    async def messages() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        yield builds_pb2.UploadBuildRequest(metadata=metadata)

    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await service.builds.UploadBuild(messages())
    return from_rpc_error(refused.value)
