"""Reads the plans of starts from the catalog; those that are read at the same time share calls."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import grpc
from mobiletest.catalog.v1 import resolution_pb2 as pb
from mobiletest.catalog.v1 import resolution_pb2_grpc
from mobiletest.types.v1 import limits_pb2 as types_pb2
from mobiletest.types.v1 import platform_pb2

from mobiletest_automation.flows.configuration import properties_of
from mobiletest_automation.model.devices import Platform
from services.chassis.batcher import Batcher
from services.chassis.context import current
from services.chassis.error_status import is_too_large
from services.chassis.errors import Unavailable
from services.chassis.grpc_server import Channel
from services.chassis.proto_values import read_optional, struct_to_json, to_datetime, to_enum_member, value_to_json
from services.executor.messages import build_config_proto, read_run_config
from services.executor.model.executions import BuildConfig, StartSubject
from services.executor.model.runs import BuildArtifact, ResolvedRuns, RunPlan, RunTarget, TestFile
from services.executor.organisation_limits import OrganisationLimitsCache
from services.executor.ports.executions import PlanTooLarge

RESOLVE_SECONDS = 5.0
BATCH = 50


class PlanReader:
    """Plans of workflows are read in batches, all others one by one. Errors of the catalog are raised unchanged."""

    def __init__(self, to: Channel, limits: OrganisationLimitsCache) -> None:
        self._resolution = resolution_pb2_grpc.ResolutionStub(to)  # type: ignore[no-untyped-call]
        self._limits = limits
        self._batcher: Batcher[bytes, ResolvedRuns] = Batcher(self._read_several, max_in_flight=2, max_items=BATCH)

    async def read(self, request: pb.ResolveRunsRequest) -> ResolvedRuns:
        """The plan.

        Raises:
            PlanTooLarge: for one that has to be read `in_parts`.
        """
        if not request.HasField("workflow_id"):
            return await self._read_one(request)
        key = request.SerializeToString(deterministic=True)
        return await self._batcher.get(current(), key, 2 * RESOLVE_SECONDS)

    async def in_parts(self, request: pb.ResolveRunsRequest) -> ResolvedRuns:
        """A plan of any size. Each part is released once it has been read."""
        stream = self._resolution.StreamRuns(pb.StreamRunsRequest(start=request), timeout=RESOLVE_SECONDS)
        first: ResolvedRuns | None = None
        plans: list[RunPlan] = []
        async for answer in stream:
            resolved = self._limited(answer.part, answer.part.limits) if first is None else resolved_runs(answer.part)
            first = first or replace(resolved, plans=())
            plans += resolved.plans
        if first is None:
            raise Unavailable("The catalog ended the plan before its first part: try again", retry_after=1.0)
        return replace(first, plans=tuple(plans))

    async def _read_one(self, request: pb.ResolveRunsRequest) -> ResolvedRuns:
        try:
            answer = await self._resolution.ResolveRuns(request, timeout=RESOLVE_SECONDS)
        except grpc.aio.AioRpcError as error:
            if is_too_large(error):
                raise PlanTooLarge from error
            raise
        return self._limited(answer, answer.limits)

    async def _read_several(self, keys: Sequence[bytes]) -> Mapping[bytes, ResolvedRuns]:
        """What the catalog leaves out is read alone, for its own error."""
        starts = list(map(pb.ResolveRunsRequest.FromString, keys))
        if len(starts) == 1:
            return {keys[0]: await self._read_one(starts[0])}
        try:
            answer = await self._resolution.BatchResolveRuns(
                pb.BatchResolveRunsRequest(starts=starts), timeout=RESOLVE_SECONDS
            )
        except grpc.aio.AioRpcError as error:
            if is_too_large(error) or error.code() is grpc.StatusCode.UNIMPLEMENTED:  # by an older catalog
                return {}
            raise
        return {keys[plan.position]: self._limited(plan.runs, answer.limits) for plan in answer.plans}

    def _limited(self, answer: pb.ResolveRunsResponse, limits: types_pb2.OrganisationLimits) -> ResolvedRuns:
        return replace(resolved_runs(answer), limits=self._limits.put(current().org_id, limits))


def resolve_request(
    subject: StartSubject, build_config: BuildConfig, override_build_config: bool
) -> pb.ResolveRunsRequest:
    """Asks what to run."""
    request = pb.ResolveRunsRequest(
        build_config=build_config_proto(build_config), override_build_config=override_build_config
    )
    _set_subject(request, subject)
    return request


def _set_subject(request: pb.ResolveRunsRequest, subject: StartSubject) -> None:
    if subject.shard is not None:
        request.shard.index, request.shard.count = subject.shard.index, subject.shard.count
    if not subject.tests:
        setattr(request, f"{subject.kind.value}_id", subject.id)
        return
    for test in subject.tests:
        request.tests.items.add(**asdict(test))


def resolved_runs(proto: pb.ResolveRunsResponse) -> ResolvedRuns:
    """The catalog's answer about what to run."""
    return ResolvedRuns(
        workflow_id=proto.workflow_id,
        workflow_name=proto.workflow_name,
        run_config=read_run_config(proto.run_config),
        max_parallel=read_optional(proto, "max_parallel"),
        plans=tuple(_plan(run) for run in proto.runs),
        notice=proto.notice,
    )


def _plan(proto: pb.PlannedRun) -> RunPlan:
    app = proto.app
    steps = tuple(value_to_json(step) for step in proto.steps)
    return RunPlan(
        target=replace(_target(proto), properties=properties_of(steps)),
        steps=steps,
        timeout_seconds=read_optional(proto, "timeout_seconds"),
        static_url=read_optional(app, "static_url"),
        system_prompt=read_optional(app, "system_prompt"),
        artifact=_artifact(proto.build),
        config_error=proto.config_error,
        env=struct_to_json(proto.env),
        files=tuple(TestFile(file.path, file.sha256) for file in proto.files),
        step_positions=proto.step_positions,
        size_bytes=proto.ByteSize(),
    )


def _target(proto: pb.PlannedRun) -> RunTarget:
    app = read_optional(proto, "app")
    build = read_optional(proto, "build")
    return RunTarget(
        test_id=proto.test_id,
        test_name=proto.test_name,
        test_version_number=proto.test_version_number,
        platform=to_enum_member(Platform, platform_pb2.Platform, proto.platform),
        app_id=app.id if app else None,
        app_name=app.name if app else None,
        build_id=build.id if build else None,
        resolved_build_version=build.version if build else None,
        build_uploaded_at=to_datetime(build.uploaded_at) if build else None,
        source_path=proto.source_path or None,
    )


def _artifact(proto: pb.PlannedBuild) -> BuildArtifact:
    return BuildArtifact(
        sha256=proto.sha256,
        file_name=proto.file_name,
        artifact_url=read_optional(proto, "artifact_url"),
        package_name=read_optional(proto, "package_name"),
    )
