"""Executions, runs and their configurations, from proto and to proto."""

from dataclasses import fields
from functools import cache, lru_cache
from typing import Any

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.types.v1 import (
    ci_pb2,
    execution_pb2,
    platform_pb2,
    run_config_pb2,
    source_position_pb2,
    variant_pb2,
)

from mobiletest_automation.flows.environment import mask_environment
from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.failures import Failure
from mobiletest_automation.model.results import Artifact, BoundElement, ScreenArea, StepResult, StepScreen
from mobiletest_automation.model.run_config import (
    CacheRetryMode,
    DismissDialogs,
    ExecutionMode,
    FallbackTrigger,
    Grounder,
    LlmConfig,
    RunConfig,
    Screens,
)
from mobiletest_automation.model.variants import EMPTY_VARIANT, Variant
from services.chassis.proto_values import (
    json_to_struct,
    json_to_value,
    read_optional,
    struct_to_json,
    to_enum_member,
    to_enum_number,
    to_timestamp,
)
from services.executor.model.attribution import Ci
from services.executor.model.executions import (
    BuildConfig,
    Execution,
    ExecutionBuild,
    PinnedBuild,
    artifact_url,
    metadata,
    report_metadata,
    simulation,
    status_message,
)
from services.executor.model.run_groups import RunGroup
from services.executor.model.runs import Question, Run
from services.executor.model.step_proposals import Healing


def read_run_config(proto: run_config_pb2.RunConfig) -> RunConfig:
    """The configuration as written; absent fields and unspecified values are None."""
    return RunConfig(
        llm_config=LlmConfig(**_present(proto.llm_config)),
        execution_mode=_execution_mode(proto.execution_mode),
        run_id=read_optional(proto, "run_id"),
        cache_retry_mode=to_enum_member(CacheRetryMode, run_config_pb2.CacheRetryMode, proto.cache_retry_mode),
        fallback_trigger=to_enum_member(FallbackTrigger, run_config_pb2.FallbackTrigger, proto.fallback_trigger),
        disable_grid=read_optional(proto, "disable_grid"),
        env=struct_to_json(proto.env),
        screens=to_enum_member(Screens, run_config_pb2.Screens, proto.screens),
        dismiss_dialogs=DismissDialogs(**_present(proto.dismiss_dialogs)),
    )


def _execution_mode(proto: run_config_pb2.ExecutionMode) -> ExecutionMode:
    grounder = to_enum_member(Grounder, run_config_pb2.GrounderType, proto.grounder_type)
    return ExecutionMode(**{**_present(proto), "grounder_type": grounder})


def run_config_proto(config: RunConfig, *, with_env: bool = True) -> run_config_pb2.RunConfig:
    """The configuration with all fields that are not None; values of variables are masked if their names say so."""
    env = mask_environment(config.env) if with_env else {}
    grounder = to_enum_number(run_config_pb2.GrounderType, config.execution_mode.grounder_type) or None
    dialogs = config.dismiss_dialogs
    return run_config_pb2.RunConfig(
        llm_config=run_config_pb2.LlmConfig(**_fields(config.llm_config)),
        execution_mode=run_config_pb2.ExecutionMode(**{**_fields(config.execution_mode), "grounder_type": grounder}),
        run_id=config.run_id,
        cache_retry_mode=to_enum_number(run_config_pb2.CacheRetryMode, config.cache_retry_mode) or None,
        fallback_trigger=to_enum_number(run_config_pb2.FallbackTrigger, config.fallback_trigger) or None,
        disable_grid=config.disable_grid,
        env=json_to_struct(env) if env else None,
        screens=to_enum_number(run_config_pb2.Screens, config.screens) or None,
        dismiss_dialogs=run_config_pb2.DismissDialogs(**_fields(dialogs)) if dialogs != DismissDialogs() else None,
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
    return ci_pb2.CiAttribution(**_fields(attribution))


def _present(proto: Message) -> dict[str, Any]:
    """The fields that are set, by name: those of the dataclass have the same names."""
    return {field.name: value for field, value in proto.ListFields()}


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name: those of the proto have the same names."""
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def execution_proto(execution: Execution, *, brief: bool = False) -> executions_pb2.Execution:
    """The execution as it stands; `brief` leaves out its variables, as lists and events do."""
    return executions_pb2.Execution(
        id=execution.id,
        task_id=execution.id,
        kind=to_enum_number(executions_pb2.ExecutionKind, execution.kind),
        workflow_id=execution.workflow_id,
        workflow_name=execution.workflow_name,
        status=to_enum_number(execution_pb2.ExecutionStatus, execution.status),
        success=execution.success,
        message=status_message(execution),
        source=to_enum_number(execution_pb2.ExecutionSource, execution.source),
        ci=ci_proto(execution.ci),
        service_client=execution.service_client,
        run_config=run_config_proto(execution.run_config, with_env=not brief),
        build_config=build_config_proto(execution.build_config),
        counts=executions_pb2.RunCounts(**_fields(execution.counts)),
        failure=_execution_failure(execution.failure),
        created_at=to_timestamp(execution.created_at),
        started_at=to_timestamp(execution.started_at),
        completed_at=to_timestamp(execution.completed_at),
        execution_time_seconds=execution.execution_time_seconds,
        cancel_requested_at=to_timestamp(execution.cancel_requested_at),
        revision=execution.revision,
        priority=execution.priority,
        rerun_of=execution.rerun_of,
        verifies=execution.verifies,
        superseded_by=execution.superseded_by,
        name=execution.name,
        shard=None if execution.shard is None else str(execution.shard),
        test_name=execution.test_name,
        builds=map(_execution_build, execution.builds),
        started_by=execution.started_by,
        flaky_runs=execution.flaky_runs or None,
    )


def _execution_build(build: ExecutionBuild) -> executions_pb2.ExecutionBuild:
    return executions_pb2.ExecutionBuild(
        app_id=build.app_id,
        app_name=build.app_name,
        platform=to_enum_number(platform_pb2.Platform, build.platform) or None,
        build_id=build.build_id,
        version=build.version,
    )


def start_proto(execution: Execution) -> executions_pb2.ExecutionStart:
    """The answer to a start."""
    return executions_pb2.ExecutionStart(
        status=to_enum_number(execution_pb2.ExecutionStatus, execution.status),
        message=status_message(execution),
        id=execution.id,
        task_id=execution.id,
    )


def _execution_failure(failure: Failure | None) -> executions_pb2.ExecutionFailure | None:
    if failure is None:
        return None
    category = to_enum_number(execution_pb2.FailureCategory, failure.category)
    return executions_pb2.ExecutionFailure(category=category, message=failure.message)


def run_proto(execution: Execution, run: Run, *, brief: bool = False) -> runs_pb2.Run:
    """The run; `brief` leaves out the attempts' steps and artifacts, as events do."""
    target = run.target
    return runs_pb2.Run(
        id=run.id,
        execution_id=run.execution_id,
        test_id=target.test_id,
        test_name=target.test_name,
        test_version_number=target.test_version_number,
        app_id=target.app_id,
        build_id=target.build_id,
        resolved_build_version=target.resolved_build_version,
        platform=to_enum_number(platform_pb2.Platform, target.platform) or None,
        status=to_enum_number(execution_pb2.ExecutionStatus, run.status),
        success=run.success,
        source=to_enum_number(execution_pb2.ExecutionSource, execution.source),
        started_at=to_timestamp(run.started_at),
        completed_at=to_timestamp(run.completed_at),
        execution_time_seconds=run.execution_time_seconds,
        attempt_number=run.attempt_number,
        attempts=[_attempt(run, attempt, brief=brief) for attempt in run.attempts],
        failure=_failure(run.failure),
        metadata=_shared_struct(tuple(metadata(execution, run).items())),
        report_metadata=_report_metadata(run),
        question=question_proto(run, run.open_question),
        variant=variant_proto(run.variant),
        source_path=target.source_path,
        simulation=simulation(run),
        verifies=run.verifies,
        comment_count=None if brief else run.comment_count or None,
    )


def run_group_proto(group: RunGroup, *, on_page: int) -> executions_pb2.RunGroup:
    return executions_pb2.RunGroup(
        standing=to_enum_number(executions_pb2.RunStanding, group.standing),
        category=to_enum_number(execution_pb2.FailureCategory, group.category) or None,
        reason=group.reason,
        total=len(group.run_ids),
        on_page=on_page,
    )


def variant_proto(variant: Variant) -> variant_pb2.Variant | None:
    """None for the empty variant."""
    if variant == EMPTY_VARIANT:
        return None
    return variant_pb2.Variant(
        id=variant.id, values=_shared_struct(tuple(variant.values.items())), left_out=variant.left_out
    )


def _report_metadata(run: Run) -> Struct:
    outcome = report_metadata(run)
    if outcome["artifacts"] or "bindings_changed" in outcome or run.failure is not None:
        return json_to_struct(outcome)
    return _shared_struct(tuple({**outcome, "artifacts": ()}.items()))


@lru_cache(maxsize=1024)
def _shared_struct(fields: tuple[tuple[str, Any], ...]) -> Struct:
    """The object with these fields, which the runs of an execution have in common: copy it, never change it."""
    return json_to_struct(dict(fields))


def _attempt(run: Run, attempt: Attempt, *, brief: bool) -> runs_pb2.Attempt:
    return runs_pb2.Attempt(
        number=attempt.number,
        worker=attempt.worker,
        device=attempt.device,
        simulated=attempt.simulated,
        built_in_model=attempt.built_in_model,
        status=to_enum_number(execution_pb2.ExecutionStatus, attempt.status),
        success=attempt.success,
        mode=to_enum_number(runs_pb2.AttemptMode, attempt.mode),
        started_at=to_timestamp(attempt.started_at),
        completed_at=to_timestamp(attempt.completed_at),
        failure=_failure(attempt.failure),
        steps=() if brief else [_step(step) for step in attempt.steps],
        artifacts=() if brief else [_artifact(run, artifact) for artifact in attempt.artifacts],
    )


def _failure(failure: Failure | None) -> runs_pb2.Failure | None:
    if failure is None:
        return None
    converted = {
        "category": to_enum_number(execution_pb2.FailureCategory, failure.category),
        "position": _position(failure.position),
        "run_from": map(_position, failure.run_from),
    }
    return runs_pb2.Failure(**{**_fields(failure), **converted})


def _position(position: SourcePosition | None) -> source_position_pb2.SourcePosition | None:
    return source_position_pb2.SourcePosition(**_fields(position)) if position is not None else None


def _step(step: StepResult) -> runs_pb2.StepResult:
    converted = {
        "status": to_enum_number(runs_pb2.StepStatus, step.status),
        "resolution": to_enum_number(runs_pb2.Resolution, step.resolution),
        "started_at": to_timestamp(step.started_at),
        "category": to_enum_number(execution_pb2.FailureCategory, step.category),
        "cache": to_enum_number(runs_pb2.CacheOutcome, step.cache) or None,
        "position": _position(step.position),
        "element_area": _area(step.element_area),
        "screen": step_screen_proto(step.screen),
    }
    fields = {**_fields(step), **converted}
    del fields["place"]  # it tells the services which step it is
    return runs_pb2.StepResult(**fields)


def _area(area: ScreenArea | None) -> runs_pb2.ScreenArea | None:
    return runs_pb2.ScreenArea(**_fields(area)) if area is not None else None


def step_screen_proto(screen: StepScreen | None) -> runs_pb2.StepScreen | None:
    """The screen of a step; None if there is none."""
    if screen is None:
        return None
    bound = bound_element_proto(screen.element) if screen.element is not None else None
    urls = {"tree_url": screen_url(screen.tree), "picture_url": screen_url(screen.picture)}
    return runs_pb2.StepScreen(**{**_fields(screen), **urls, "element": bound})


def bound_element_proto(element: BoundElement) -> runs_pb2.BoundElement:
    return runs_pb2.BoundElement(**{**_fields(element), "area": _area(element.area)})


def screen_url(hash: str) -> str:
    """The path from which a tree or a picture can be downloaded; "" if it was not kept."""
    return f"/api/v1/screens/{hash}" if hash else ""


def question_proto(run: Run, question: Question | None) -> runs_pb2.Question | None:
    """What the run asks; None for nothing."""
    if question is None:
        return None
    prompt, picture = question.prompt, question.screenshot_artifact
    return runs_pb2.Question(
        **_fields(prompt),
        screenshot_url=artifact_url(run, picture) if picture is not None else "",
        asked_at=to_timestamp(question.asked_at),
        expires_at=to_timestamp(question.expires_at),
    )


def _artifact(run: Run, artifact: Artifact) -> runs_pb2.Artifact:
    return runs_pb2.Artifact(
        name=artifact.name,
        kind=artifact.kind,
        content_type=artifact.content_type,
        size_bytes=artifact.size_bytes,
        url=artifact_url(run, artifact),
        gone=to_enum_number(runs_pb2.ArtifactGone, artifact.gone) or None,
    )


def healing_proto(healing: Healing) -> executions_pb2.Healing:
    """What is proposed for a run."""
    proposal, check, target = healing.proposal, healing.check, healing.run.target
    message = executions_pb2.Healing(
        state=to_enum_number(executions_pb2.HealingState, healing.state),
        reason=healing.reason,
        test_id=target.test_id,
        test_version_number=target.test_version_number,
        check_execution_id=check.execution_id if check is not None else None,
        check_run_id=check.id if check is not None else None,
    )
    if proposal is not None:
        message.proposal.CopyFrom(
            executions_pb2.StepProposal(
                path=proposal.path,
                old_step=json_to_value(proposal.old_step),
                old_line=proposal.old_line,
                step=json_to_value(proposal.step),
                line=proposal.line,
                why=proposal.why,
                past_screens=proposal.past_screens,
                held_screens=proposal.held_screens,
                position=_position(healing.position),
            )
        )
    return message
