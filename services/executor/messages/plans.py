"""The catalog's answer about what to run, from proto."""

from mobiletest.catalog.v1 import resolution_pb2
from mobiletest.types.v1 import platform_pb2

from services.chassis.proto_values import read_optional, to_datetime, to_enum_member, value_to_json
from services.executor.messages.configs import read_run_config
from services.executor.model.plans import BuildArtifact, ResolvedRuns, RunPlan
from services.executor.model.runs import Platform, RunTarget


def resolved_runs(proto: resolution_pb2.ResolveRunsResponse) -> ResolvedRuns:
    """Which runs a start means."""
    return ResolvedRuns(
        workflow_id=proto.workflow_id,
        workflow_name=proto.workflow_name,
        run_config=read_run_config(proto.run_config),
        max_parallel=read_optional(proto, "max_parallel"),
        plans=tuple(_plan(run) for run in proto.runs),
    )


def _plan(proto: resolution_pb2.PlannedRun) -> RunPlan:
    app = proto.app
    return RunPlan(
        target=_target(proto),
        steps=tuple(value_to_json(step) for step in proto.steps),
        timeout_seconds=read_optional(proto, "timeout_seconds"),
        static_url=read_optional(app, "static_url"),
        system_prompt=read_optional(app, "system_prompt"),
        artifact=_artifact(proto.build),
        config_error=proto.config_error,
    )


def _target(proto: resolution_pb2.PlannedRun) -> RunTarget:
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
    )


def _artifact(proto: resolution_pb2.PlannedBuild) -> BuildArtifact:
    return BuildArtifact(
        sha256=proto.sha256,
        file_name=proto.file_name,
        artifact_url=read_optional(proto, "artifact_url"),
        package_name=read_optional(proto, "package_name"),
    )
