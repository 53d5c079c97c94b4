"""What the operator's token does for an organisation that does not exist."""

from typing import Any

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc, limits_pb2, limits_pb2_grpc
from mobiletest.executor.v1 import executions_pb2, executions_pb2_grpc
from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc

from services.chassis.error_status import to_domain_error
from services.chassis.errors import DomainError, NotFound
from tests.shared_infrastructure import SharedStack

APP = apps_pb2.CreateAppRequest(name="Orphan", platform=1)
WORKFLOW = executions_pb2.StartWorkflowRequest(workflow_id="6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10")


@pytest.mark.parametrize(
    ("service", "stub", "method", "request_"),
    [
        ("catalog", apps_pb2_grpc.AppsStub, "CreateApp", APP),
        ("catalog", apps_pb2_grpc.AppsStub, "ListApps", apps_pb2.ListAppsRequest()),
        ("catalog", limits_pb2_grpc.LimitsStub, "SetOrganisationLimits", limits_pb2.SetOrganisationLimitsRequest()),
        ("executor", executions_pb2_grpc.ExecutionsStub, "StartWorkflow", WORKFLOW),
        ("executor", executions_pb2_grpc.ExecutionsStub, "ListExecutions", executions_pb2.ListExecutionsRequest()),
        ("reporting", reports_pb2_grpc.ReportsStub, "GetAppWorkspace", reports_pb2.GetAppWorkspaceRequest()),
    ],
)
async def test_an_organisation_that_does_not_exist_is_not_found(
    service: str, stub: Any, method: str, request_: Any, stack: SharedStack
) -> None:
    metadata = (
        ("authorization", f"Bearer {stack.grpc_token}"),
        ("x-org-id", "nobody"),
        ("x-scopes", "read,write,execute"),
    )
    async with grpc.aio.insecure_channel(stack.grpc[service]) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await getattr(stub(channel), method)(request_, metadata=metadata, timeout=10)
    error: DomainError | None = to_domain_error(refused.value)
    assert isinstance(error, NotFound)
    assert (error.message, error.reason) == ("There is no organisation nobody", "ORGANISATION_NOT_FOUND")
