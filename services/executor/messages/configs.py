"""Run configurations, build configurations and CI attribution, from proto and to proto."""

from typing import Any

from google.protobuf.message import Message
from mobiletest.types.v1 import ci_pb2, run_config_pb2

from services.chassis.proto_values import read_optional, to_enum_member, to_enum_number
from services.executor.model.attribution import Ci
from services.executor.model.executions import BuildConfig, PinnedBuild
from services.executor.model.run_config import (
    CacheRetryMode,
    ExecutionMode,
    FallbackTrigger,
    Grounder,
    LlmConfig,
    RunConfig,
)


def read_run_config(proto: run_config_pb2.RunConfig) -> RunConfig:
    """The configuration as written; absent fields and unspecified values are None."""
    return RunConfig(
        llm_config=LlmConfig(**_present(proto.llm_config)),
        execution_mode=_execution_mode(proto.execution_mode),
        run_id=read_optional(proto, "run_id"),
        cache_retry_mode=to_enum_member(CacheRetryMode, run_config_pb2.CacheRetryMode, proto.cache_retry_mode),
        fallback_trigger=to_enum_member(FallbackTrigger, run_config_pb2.FallbackTrigger, proto.fallback_trigger),
        disable_grid=read_optional(proto, "disable_grid"),
    )


def _execution_mode(proto: run_config_pb2.ExecutionMode) -> ExecutionMode:
    grounder = to_enum_member(Grounder, run_config_pb2.GrounderType, proto.grounder_type)
    return ExecutionMode(**{**_present(proto), "grounder_type": grounder})


def run_config_proto(config: RunConfig) -> run_config_pb2.RunConfig:
    """The configuration with all fields that are not None."""
    mode, llm = config.execution_mode, config.llm_config
    return run_config_pb2.RunConfig(
        llm_config=run_config_pb2.LlmConfig(
            primary_model=llm.primary_model,
            reflection_model=llm.reflection_model,
            planning_model=llm.planning_model,
        ),
        execution_mode=run_config_pb2.ExecutionMode(
            human_in_the_loop=mode.human_in_the_loop,
            enable_reflection=mode.enable_reflection,
            enable_planning=mode.enable_planning,
            retries=mode.retries,
            reflection_retries=mode.reflection_retries,
            skip_app_install=mode.skip_app_install,
            grounder_type=to_enum_number(run_config_pb2.GrounderType, mode.grounder_type) or None,
        ),
        run_id=config.run_id,
        cache_retry_mode=to_enum_number(run_config_pb2.CacheRetryMode, config.cache_retry_mode) or None,
        fallback_trigger=to_enum_number(run_config_pb2.FallbackTrigger, config.fallback_trigger) or None,
        disable_grid=config.disable_grid,
    )


def read_build_config(proto: run_config_pb2.BuildConfig) -> BuildConfig:
    """The builds that a request names."""
    return BuildConfig(
        ios_build=_pinned(proto.ios_build) if proto.HasField("ios_build") else None,
        android_build=_pinned(proto.android_build) if proto.HasField("android_build") else None,
    )


def build_config_proto(config: BuildConfig) -> run_config_pb2.BuildConfig | None:
    """The reverse of `read_build_config`; None when no build is named."""
    if config == BuildConfig():
        return None
    return run_config_pb2.BuildConfig(
        ios_build=_pinned_proto(config.ios_build), android_build=_pinned_proto(config.android_build)
    )


def _pinned(proto: run_config_pb2.PlatformBuild) -> PinnedBuild:
    return PinnedBuild(proto.app_id, read_optional(proto, "pinned_version"))


def _pinned_proto(build: PinnedBuild | None) -> run_config_pb2.PlatformBuild | None:
    if build is None:
        return None
    return run_config_pb2.PlatformBuild(app_id=build.app_id, pinned_version=build.pinned_version)


def read_ci(proto: ci_pb2.CiAttribution) -> Ci:
    """The X-CI headers of a request."""
    return Ci(**_present(proto))


def ci_proto(attribution: Ci) -> ci_pb2.CiAttribution:
    """The reverse of `read_ci`."""
    return ci_pb2.CiAttribution(
        system=attribution.system,
        commit_sha=attribution.commit_sha,
        branch=attribution.branch,
        pr_number=attribution.pr_number,
        run_url=attribution.run_url,
        run_id=attribution.run_id,
        repository=attribution.repository,
    )


def _present(proto: Message) -> dict[str, Any]:
    """The fields that are set, by name (the dataclass has the same field names)."""
    return {field.name: value for field, value in proto.ListFields()}
