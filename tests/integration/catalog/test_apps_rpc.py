"""The gRPC service Apps, on the running catalog."""

from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from mobiletest.catalog.v1 import apps_pb2 as pb
from mobiletest.types.v1.platform_pb2 import PLATFORM_ANDROID, PLATFORM_IOS

from services.chassis import context
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.error_status import to_domain_error
from services.chassis.errors import DomainError, InvalidArgument, PermissionDenied
from tests.integration.catalog.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def failed(call: Any) -> DomainError:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    known = to_domain_error(error.value)
    assert known is not None
    return known


async def made(service: Service, name: str = "Shop", platform: Any = PLATFORM_ANDROID) -> pb.App:
    app: pb.App = await service.apps.CreateApp(pb.CreateAppRequest(name=name, platform=platform))
    return app


async def test_an_app_from_creation_to_deletion(service: Service) -> None:
    org_id = context.current().org_id
    app = await service.apps.CreateApp(pb.CreateAppRequest(name=" Shop ", platform=PLATFORM_IOS, description="d"))
    assert (app.name, app.platform, app.description, app.org_id) == ("Shop", PLATFORM_IOS, "d", org_id)
    assert (app.versions_count, app.attached_tests, app.pinned_tests) == (0, 0, 0)
    for unset in ("static_url", "current_version", "latest_build_id", "recent_executions", "rolling_pass_rate"):
        assert not app.HasField(unset)
    assert await service.apps.GetApp(pb.GetAppRequest(app_id=app.id)) == app
    batch = await service.apps.BatchGetApps(pb.BatchGetAppsRequest(app_ids=[str(uuid4()), app.id]))
    assert list(batch.apps) == [app]
    listed = await service.apps.ListApps(pb.ListAppsRequest())
    assert list(listed.items) == [app]
    mask = FieldMask(paths=["name", "description", "current_version"])
    request = pb.UpdateAppRequest(app_id=app.id, current_version="2", update_mask=mask)
    changed = await service.apps.UpdateApp(request)
    assert (changed.name, changed.HasField("description"), changed.current_version) == ("Shop", False, "2")
    assert changed.revision == app.revision + 1
    await service.apps.DeleteApp(pb.DeleteAppRequest(app_id=app.id))
    assert (await failed(service.apps.GetApp(pb.GetAppRequest(app_id=app.id)))).message == "App not found"
    assert (await service.apps.ListApps(pb.ListAppsRequest())).total == 0


async def test_an_update_without_a_mask_changes_what_is_set(service: Service) -> None:
    app = await made(service)
    changed = await service.apps.UpdateApp(pb.UpdateAppRequest(app_id=app.id, static_url="https://x.test"))
    assert (changed.static_url, changed.name) == ("https://x.test", "Shop")
    assert await service.apps.UpdateApp(pb.UpdateAppRequest(app_id=app.id)) == changed


INVALID = [
    ("CreateApp", pb.CreateAppRequest(platform=PLATFORM_IOS), "name"),
    ("ListApps", pb.ListAppsRequest(page_size=501), "page_size"),
    ("GetApp", pb.GetAppRequest(app_id="x"), "app_id"),
    ("UpdateApp", pb.UpdateAppRequest(app_id=str(uuid4()), update_mask=FieldMask(paths=["org_id"])), "update_mask"),
]


@pytest.mark.parametrize(("method", "request_", "field"), INVALID)
async def test_what_is_invalid_names_its_field(service: Service, method: str, request_: Any, field: str) -> None:
    error = await failed(getattr(service.apps, method)(request_))
    assert isinstance(error, InvalidArgument)
    assert [violation.field for violation in error.violations] == [field]


async def test_a_key_without_the_scope_may_not(service: Service) -> None:
    """Scopes are checked here as well, not only at the gateway."""
    with context.bind(Caller(str(uuid4()), scopes=frozenset({"read"}))):
        error = await failed(service.apps.CreateApp(pb.CreateAppRequest(name="x", platform=PLATFORM_IOS)))
        assert isinstance(error, PermissionDenied)
        await service.apps.ListApps(pb.ListAppsRequest())


async def test_an_idempotency_key_makes_one_app(service: Service) -> None:
    org_id = context.current().org_id
    with context.bind(Caller(org_id, idempotency_key=str(uuid4()), scopes=ALL_SCOPES)):
        assert await made(service) == await made(service)
    assert (await service.apps.ListApps(pb.ListAppsRequest())).total == 1
