"""The catalog's answer about what to run, from proto."""

from google.protobuf.struct_pb2 import Value
from mobiletest.catalog.v1 import resolution_pb2
from mobiletest.types.v1 import platform_pb2

from services.executor.messages.configs import run_config
from services.executor.messages.values import from_proto, moment
from services.executor.model.plans import BuildArtifact, Json, ResolvedRuns, RunPlan
from services.executor.model.runs import Platform, RunTarget


def resolved(proto: resolution_pb2.ResolveRunsResponse) -> ResolvedRuns:
    """Which runs a start means."""
    return ResolvedRuns(
        workflow_id=proto.workflow_id,
        workflow_name=proto.workflow_name,
        run_config=run_config(proto.run_config),
        max_parallel=proto.max_parallel if proto.HasField("max_parallel") else None,
        plans=tuple(_plan(run) for run in proto.runs),
    )


def _plan(proto: resolution_pb2.PlannedRun) -> RunPlan:
    app = proto.app
    return RunPlan(
        target=_target(proto),
        steps=tuple(json_of(step) for step in proto.steps),
        timeout_seconds=proto.timeout_seconds if proto.HasField("timeout_seconds") else None,
        static_url=app.static_url if app.HasField("static_url") else None,
        system_prompt=app.system_prompt if app.HasField("system_prompt") else None,
        artifact=_artifact(proto.build),
        config_error=proto.config_error,
    )


def _target(proto: resolution_pb2.PlannedRun) -> RunTarget:
    app = proto.app if proto.HasField("app") else None
    build = proto.build if proto.HasField("build") else None
    return RunTarget(
        test_id=proto.test_id,
        test_name=proto.test_name,
        test_version_number=proto.test_version_number,
        platform=from_proto(Platform, platform_pb2.Platform, proto.platform),
        app_id=app.id if app else None,
        app_name=app.name if app else None,
        build_id=build.id if build else None,
        resolved_build_version=build.version if build else None,
        build_uploaded_at=moment(build.uploaded_at) if build else None,
    )


def _artifact(proto: resolution_pb2.PlannedBuild) -> BuildArtifact:
    return BuildArtifact(
        sha256=proto.sha256,
        file_name=proto.file_name,
        artifact_url=proto.artifact_url if proto.HasField("artifact_url") else None,
        package_name=proto.package_name if proto.HasField("package_name") else None,
    )


def json_of(value: Value) -> Json:
    """The JSON that a Value holds; whole numbers come back as int."""
    match value.WhichOneof("kind"):
        case "struct_value":
            return {name: json_of(item) for name, item in value.struct_value.fields.items()}
        case "list_value":
            return [json_of(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case _:
            return None
