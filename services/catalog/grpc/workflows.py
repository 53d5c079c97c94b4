"""The gRPC services Workflows and Resolution."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import resolution_pb2, resolution_pb2_grpc, workflows_pb2, workflows_pb2_grpc

from services.catalog.grpc.conversions import named_fields, page_of
from services.catalog.grpc.resolution_messages import resolved_message
from services.catalog.grpc.workflow_messages import build_config, new_workflow, run_config, workflow_message
from services.catalog.usecases.resolution import ResolutionUseCases
from services.catalog.usecases.workflows import WorkflowUseCases
from services.chassis.proto_values import page_fields, read_optional

_CHANGEABLE = ("name", "description", "test_ids", "tags", "run_config", "build_config", "max_parallel")


class WorkflowsServicer(workflows_pb2_grpc.WorkflowsServicer):
    """See the proto."""

    def __init__(self, usecases: WorkflowUseCases) -> None:
        self._usecases = usecases

    async def CreateWorkflow(
        self, request: workflows_pb2.CreateWorkflowRequest, context: Any
    ) -> workflows_pb2.Workflow:
        return workflow_message(await self._usecases.create(new_workflow(request)))

    async def ListWorkflows(
        self, request: workflows_pb2.ListWorkflowsRequest, context: Any
    ) -> workflows_pb2.ListWorkflowsResponse:
        page = page_of(request)
        listed = await self._usecases.list(request.search or None, page)
        items = map(workflow_message, listed.items)
        return workflows_pb2.ListWorkflowsResponse(items=items, **page_fields(request, listed.total))

    async def GetWorkflow(self, request: workflows_pb2.GetWorkflowRequest, context: Any) -> workflows_pb2.Workflow:
        return workflow_message(await self._usecases.get(request.workflow_id))

    async def UpdateWorkflow(
        self, request: workflows_pb2.UpdateWorkflowRequest, context: Any
    ) -> workflows_pb2.Workflow:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: _changed(request, field) for field in fields}
        return workflow_message(await self._usecases.update(request.workflow_id, changes))

    async def DeleteWorkflow(self, request: workflows_pb2.DeleteWorkflowRequest, context: Any) -> Empty:
        await self._usecases.delete(request.workflow_id)
        return Empty()


class ResolutionServicer(resolution_pb2_grpc.ResolutionServicer):
    """See the proto."""

    def __init__(self, usecases: ResolutionUseCases) -> None:
        self._usecases = usecases

    async def ResolveRuns(
        self, request: resolution_pb2.ResolveRunsRequest, context: Any
    ) -> resolution_pb2.ResolveRunsResponse:
        requested, override = build_config(request.build_config), request.override_build_config
        if request.WhichOneof("subject") == "workflow_id":
            resolved = await self._usecases.of_workflow(request.workflow_id, requested, override=override)
        else:
            resolved = await self._usecases.of_test(request.test_id, requested, override=override)
        return resolved_message(resolved)


def _changed(request: workflows_pb2.UpdateWorkflowRequest, field: str) -> Any:
    if field == "build_config":
        return build_config(request.build_config)
    if field == "run_config":
        return run_config(read_optional(request, field))
    if field in ("test_ids", "tags"):
        return tuple(getattr(request, field))
    return read_optional(request, field)
