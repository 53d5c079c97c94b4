"""The gRPC service Workflows; workflows, build and run configurations as messages."""

# ruff: noqa: N802 (gRPC names the methods)

from collections.abc import Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict, ParseDict
from mobiletest.catalog.v1 import workflows_pb2, workflows_pb2_grpc
from mobiletest.types.v1 import run_config_pb2

from mobiletest_automation.flows.environment import mask_environment
from mobiletest_automation.flows.labels import normalize
from services.catalog.grpc.conversions import env_message, named_fields, page_of, platform_number
from services.catalog.model.tests import Test
from services.catalog.model.values import Json
from services.catalog.model.workflows import NO_BUILD_CONFIG, AppChoice, BuildConfig, Workflow
from services.catalog.usecases.workflows import NewWorkflow, WorkflowUseCases
from services.chassis.proto_values import page_fields, read_optional, struct_to_json, to_timestamp

_CHANGEABLE = ("name", "description", "test_ids", "tags", "run_config", "build_config", "max_parallel", "env")


class WorkflowsServicer(workflows_pb2_grpc.WorkflowsServicer):
    """See the proto."""

    def __init__(self, usecases: WorkflowUseCases) -> None:
        self._usecases = usecases

    async def CreateWorkflow(
        self, request: workflows_pb2.CreateWorkflowRequest, context: Any
    ) -> workflows_pb2.Workflow:
        fields = {field: _field_value(request, field) for field in _CHANGEABLE if field != "name"}
        return workflow_message(await self._usecases.create(NewWorkflow(request.name, **fields)))

    async def ListWorkflows(
        self, request: workflows_pb2.ListWorkflowsRequest, context: Any
    ) -> workflows_pb2.ListWorkflowsResponse:
        page = page_of(request)
        listed = await self._usecases.list(request.search or None, page)
        items = map(workflow_message, listed.items)
        return workflows_pb2.ListWorkflowsResponse(items=items, **page_fields(request, listed.total))

    async def GetWorkflow(self, request: workflows_pb2.GetWorkflowRequest, context: Any) -> workflows_pb2.Workflow:
        return workflow_message(await self._usecases.get(request.workflow_id))

    async def ListWorkflowTests(
        self, request: workflows_pb2.ListWorkflowTestsRequest, context: Any
    ) -> workflows_pb2.ListWorkflowTestsResponse:
        workflow, listed = await self._usecases.tests(request.workflow_id, page_of(request))
        in_order = frozenset(workflow.test_ids)
        items = (_test_message(test, is_listed=test.id in in_order) for test in listed.items)
        return workflows_pb2.ListWorkflowTestsResponse(items=items, **page_fields(request, listed.total))

    async def UpdateWorkflow(
        self, request: workflows_pb2.UpdateWorkflowRequest, context: Any
    ) -> workflows_pb2.Workflow:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: _field_value(request, field) for field in fields}
        expected = request.expected_revisions
        return workflow_message(await self._usecases.update(request.workflow_id, changes, expected))

    async def DeleteWorkflow(self, request: workflows_pb2.DeleteWorkflowRequest, context: Any) -> Empty:
        await self._usecases.delete(request.workflow_id, request.expected_revisions)
        return Empty()


def _field_value(request: workflows_pb2.CreateWorkflowRequest | workflows_pb2.UpdateWorkflowRequest, field: str) -> Any:
    if field == "build_config":
        return build_config(request.build_config)
    if field == "run_config":
        return run_config(read_optional(request, field))
    if field == "env":
        return struct_to_json(request.env)
    if field in ("test_ids", "tags"):
        return tuple(getattr(request, field))
    return read_optional(request, field)


def workflow_message(workflow: Workflow) -> workflows_pb2.Workflow:
    """The workflow as a message."""
    return workflows_pb2.Workflow(
        id=workflow.id,
        org_id=workflow.org_id,
        name=workflow.name,
        description=workflow.description,
        test_ids=workflow.test_ids,
        tags=workflow.tags,
        run_config=run_config_message(_with_masked_env(workflow.run_config)),
        build_config=build_config_message(workflow.build_config),
        max_parallel=workflow.max_parallel,
        env=env_message(mask_environment(workflow.env)),
        created_at=to_timestamp(workflow.created_at),
        updated_at=to_timestamp(workflow.updated_at),
        revision=workflow.revision,
    )


def _test_message(test: Test, *, is_listed: bool) -> workflows_pb2.WorkflowTest:
    platform = platform_number(test.platform)
    return workflows_pb2.WorkflowTest(test_id=test.id, test_name=test.name, platform=platform, is_listed=is_listed)


def build_config(message: run_config_pb2.BuildConfig) -> BuildConfig:
    """Which apps and versions are named."""
    return BuildConfig(
        ios_build=_choice(message.ios_build) if message.HasField("ios_build") else None,
        android_build=_choice(message.android_build) if message.HasField("android_build") else None,
    )


def build_config_message(config: BuildConfig) -> run_config_pb2.BuildConfig | None:
    """The message; None when nothing is named."""
    if config == NO_BUILD_CONFIG:
        return None
    return run_config_pb2.BuildConfig(
        ios_build=_choice_message(config.ios_build), android_build=_choice_message(config.android_build)
    )


def run_config(message: run_config_pb2.RunConfig | None) -> Mapping[str, Json] | None:
    """The run configuration as it is stored: the JSON form of the message."""
    return MessageToDict(message, preserving_proto_field_name=True) if message is not None else None


def run_config_message(config: Mapping[str, Json] | None) -> run_config_pb2.RunConfig | None:
    """The message; fields that this version does not know are left out."""
    if config is None:
        return None
    return ParseDict(dict(config), run_config_pb2.RunConfig(), ignore_unknown_fields=True)


def _with_masked_env(config: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return {**config, "env": mask_environment(config["env"])} if config and "env" in config else config


def _choice(message: run_config_pb2.PlatformBuild) -> AppChoice:
    version = read_optional(message, "pinned_version")
    return AppChoice(message.app_id, normalize(version.strip()) if version is not None else None)


def _choice_message(choice: AppChoice | None) -> run_config_pb2.PlatformBuild | None:
    if choice is None:
        return None
    return run_config_pb2.PlatformBuild(app_id=choice.app_id, pinned_version=choice.pinned_version)
