"""The gRPC service Resolution."""

# ruff: noqa: N802 (gRPC names the methods)

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mobiletest.catalog.v1 import resolution_pb2, resolution_pb2_grpc
from mobiletest.types.v1 import selection_pb2

from mobiletest_automation.flows.environment import override
from services.catalog.grpc.conversions import env_message, platform_number
from services.catalog.grpc.organisation_limits import limits_message
from services.catalog.grpc.tests import file_messages, step_messages
from services.catalog.grpc.workflows import build_config, build_config_message, run_config_message
from services.catalog.model.apps import App
from services.catalog.model.builds import Build
from services.catalog.model.resolution import PlannedRun, Shard, TestSelection
from services.catalog.model.tests import PLAN_BYTES
from services.catalog.model.workflows import Workflow
from services.catalog.ports import Limits
from services.catalog.usecases.resolution import ResolutionUseCases, Resolved, WorkflowStart
from services.chassis.context import current
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument
from services.chassis.fair_turns import FairTurns
from services.chassis.proto_values import read_optional, to_timestamp

PART_BYTES = 1024 * 1024
# A larger plan is sent in parts. Each mebibyte takes up to 25 MiB of memory and 0.3 s of CPU until it is sent.
ANSWER_BYTES = 512 * 1024


class ResolutionServicer(resolution_pb2_grpc.ResolutionServicer):
    """See the proto."""

    def __init__(self, usecases: ResolutionUseCases, limits: Limits) -> None:
        self._usecases = usecases
        self._limits = limits
        self._turns = FairTurns(16, per_org=8, waiting_per_org=1000, waiting=10_000)
        self._large_turns = FairTurns(2, per_org=1, waiting_per_org=8, waiting=32)

    async def ResolveRuns(
        self, request: resolution_pb2.ResolveRunsRequest, context: Any
    ) -> resolution_pb2.ResolveRunsResponse:
        async with self._turns.take(current().org_id):
            resolved = await self._resolve(request, ANSWER_BYTES)
            answer, size = await self._message(resolved), 0
            async for run in _runs(resolved):
                answer.runs.append(run)
                size += run.ByteSize()
                if size > ANSWER_BYTES:
                    raise InvalidArgument("The plan is too large for one message: use StreamRuns", reason=TOO_LARGE)
            return answer

    async def BatchResolveRuns(
        self, request: resolution_pb2.BatchResolveRunsRequest, context: Any
    ) -> resolution_pb2.BatchResolveRunsResponse:
        async with self._turns.take(current().org_id):
            starts = [_workflow_start(start) for start in request.starts]
            answer = resolution_pb2.BatchResolveRunsResponse(limits=limits_message(await self._limits.get()))
            size = 0
            for position, resolved in enumerate(await self._usecases.of_workflows(starts, most_bytes=ANSWER_BYTES)):
                if resolved is None:
                    continue
                plan = answer.plans.add(position=position, runs=_workflow_message(resolved))
                async for run in _runs(resolved):
                    plan.runs.runs.append(run)
                size += plan.ByteSize()
                if size > ANSWER_BYTES:
                    del answer.plans[-1]
                    break
            return answer

    async def StreamRuns(
        self, request: resolution_pb2.StreamRunsRequest, context: Any
    ) -> AsyncIterator[resolution_pb2.StreamRunsResponse]:
        async with self._large_turns.take(current().org_id):
            resolved = await self._resolve(request.start, PLAN_BYTES)
            part, size = await self._message(resolved), 0
            async for run in _runs(resolved):
                if part.runs and size + run.ByteSize() > PART_BYTES:
                    yield resolution_pb2.StreamRunsResponse(part=part)
                    part, size = resolution_pb2.ResolveRunsResponse(), 0
                part.runs.append(run)
                size += run.ByteSize()
            yield resolution_pb2.StreamRunsResponse(part=part)

    async def _message(self, resolved: Resolved) -> resolution_pb2.ResolveRunsResponse:
        message = _workflow_message(resolved)
        message.limits.CopyFrom(limits_message(await self._limits.get()))
        return message

    async def _resolve(self, request: resolution_pb2.ResolveRunsRequest, most_bytes: int) -> Resolved:
        subject = request.WhichOneof("subject")
        if subject == "workflow_id":
            return await self._usecases.of_workflow(_workflow_start(request), most_bytes=most_bytes)
        requested, override = build_config(request.build_config), request.override_build_config
        if subject == "tests":
            shard = _shard(request)
            wanted = [_test_selection(item) for item in request.tests.items]
            return await self._usecases.of_tests(
                wanted, requested, override=override, shard=shard, most_bytes=most_bytes
            )
        return await self._usecases.of_test(request.test_id, requested, override=override)


def _test_selection(message: selection_pb2.TestSelection) -> TestSelection:
    version, digest = read_optional(message, "version_number"), read_optional(message, "positions_digest")
    return TestSelection(message.test_id, version, digest)


def _workflow_start(request: resolution_pb2.ResolveRunsRequest) -> WorkflowStart:
    requested = build_config(request.build_config)
    return WorkflowStart(request.workflow_id, requested, request.override_build_config, _shard(request))


def _shard(request: resolution_pb2.ResolveRunsRequest) -> Shard | None:
    return Shard(request.shard.index, request.shard.count) if request.HasField("shard") else None


async def _runs(resolved: Resolved) -> AsyncIterator[resolution_pb2.PlannedRun]:
    """The runs as messages; other requests have their turns in between."""
    for run in resolved.runs:
        yield _run(run)
        await asyncio.sleep(0)


def _workflow_message(resolved: Resolved) -> resolution_pb2.ResolveRunsResponse:
    """The workflow that is started, without its runs."""
    workflow = resolved.workflow
    if workflow is None:
        return resolution_pb2.ResolveRunsResponse(notice=resolved.notice)
    return resolution_pb2.ResolveRunsResponse(
        workflow_id=workflow.id,
        workflow_name=workflow.name,
        run_config=run_config_message(_with_env(workflow)),
        build_config=build_config_message(workflow.build_config),
        max_parallel=workflow.max_parallel,
        notice=resolved.notice,
    )


def _with_env(workflow: Workflow) -> Mapping[str, Any] | None:
    """The run configuration with the variables of the workflow, which its own override."""
    config: Mapping[str, Any] = workflow.run_config or {}
    env = override(workflow.env, config.get("env", {}))
    return {**config, "env": env} if env else workflow.run_config


def _run(run: PlannedRun) -> resolution_pb2.PlannedRun:
    return resolution_pb2.PlannedRun(
        test_id=run.test.id,
        test_name=run.test.name,
        test_version_number=run.test.version_number,
        steps=step_messages(run.test.steps),
        timeout_seconds=run.test.timeout_seconds,
        platform=platform_number(run.platform),
        app=_app(run.app),
        build=_build(run.build),
        config_error=run.config_error or "",
        env=env_message(run.test.env),
        files=file_messages(run.test.files),
        source_path=run.test.source_path or "",
        step_positions=run.test.positions,
    )


def _app(app: App | None) -> resolution_pb2.PlannedApp | None:
    if app is None:
        return None
    return resolution_pb2.PlannedApp(
        id=app.id, name=app.name, static_url=app.static_url, system_prompt=app.system_prompt
    )


def _build(build: Build | None) -> resolution_pb2.PlannedBuild | None:
    if build is None:
        return None
    return resolution_pb2.PlannedBuild(
        id=build.id,
        version=build.version,
        uploaded_at=to_timestamp(build.uploaded_at),
        package_name=build.package_name,
        sha256=build.sha256 or "",
        artifact_url=build.artifact_url if build.sha256 is None else None,
        file_name=build.file_name or "",
    )
