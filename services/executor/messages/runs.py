"""Runs, attempts and steps as proto messages."""

from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2, platform_pb2

from services.chassis.proto_values import json_to_struct, to_enum_number, to_timestamp
from services.executor.model.attempts import Artifact, Attempt, StepResult
from services.executor.model.executions import Execution
from services.executor.model.failures import Failure
from services.executor.model.questions import Question
from services.executor.model.reports import artifact_url, metadata, report_metadata
from services.executor.model.runs import Run


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
        failure=failure_proto(run.failure),
        metadata=json_to_struct(metadata(execution, run)),
        report_metadata=json_to_struct(report_metadata(run)),
        question=_question(run, run.open_question),
    )


def _attempt(run: Run, attempt: Attempt, *, brief: bool) -> runs_pb2.Attempt:
    return runs_pb2.Attempt(
        number=attempt.number,
        worker=attempt.worker,
        device=attempt.device,
        simulated=attempt.simulated,
        status=to_enum_number(execution_pb2.ExecutionStatus, attempt.status),
        success=attempt.success,
        mode=to_enum_number(runs_pb2.AttemptMode, attempt.mode),
        started_at=to_timestamp(attempt.started_at),
        completed_at=to_timestamp(attempt.completed_at),
        failure=failure_proto(attempt.failure),
        steps=() if brief else [_step(step) for step in attempt.steps],
        artifacts=() if brief else [_artifact(run, artifact) for artifact in attempt.artifacts],
    )


def failure_proto(failure: Failure | None) -> runs_pb2.Failure | None:
    """The failure of a run or attempt; None stays None."""
    if failure is None:
        return None
    return runs_pb2.Failure(
        category=to_enum_number(execution_pb2.FailureCategory, failure.category),
        reason=failure.reason,
        message=failure.message,
        step_index=failure.step_index,
        step_kind=failure.step_kind,
    )


def _step(step: StepResult) -> runs_pb2.StepResult:
    return runs_pb2.StepResult(
        index=step.index,
        kind=step.kind,
        text=step.text,
        status=to_enum_number(runs_pb2.StepStatus, step.status),
        resolution=to_enum_number(runs_pb2.Resolution, step.resolution),
        action=step.action,
        element=step.element,
        started_at=to_timestamp(step.started_at),
        duration_seconds=step.duration_seconds,
        message=step.message,
        category=to_enum_number(execution_pb2.FailureCategory, step.category),
        screenshot=step.screenshot,
        depth=step.depth,
        tree=step.tree,
        cache=to_enum_number(runs_pb2.CacheOutcome, step.cache) or None,
        model_calls=step.model_calls,
        model_tokens=step.model_tokens,
    )


def _question(run: Run, question: Question | None) -> runs_pb2.Question | None:
    if question is None:
        return None
    asked, picture = question.asked, question.screenshot_artifact
    return runs_pb2.Question(
        id=asked.id,
        text=asked.text,
        step_index=asked.step_index,
        options=asked.options,
        screenshot=asked.screenshot,
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
