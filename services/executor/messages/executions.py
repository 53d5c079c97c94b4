"""Executions as proto messages."""

from mobiletest.executor.v1 import executions_pb2
from mobiletest.types.v1 import execution_pb2

from services.chassis.proto_values import to_enum_number, to_timestamp
from services.executor.messages.configs import build_config_proto, ci_proto, run_config_proto
from services.executor.model.executions import Execution, RunCounts, status_message
from services.executor.model.failures import Failure


def execution_proto(execution: Execution) -> executions_pb2.Execution:
    """The execution as it stands."""
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
        run_config=run_config_proto(execution.run_config),
        build_config=build_config_proto(execution.build_config),
        counts=_counts(execution.counts),
        failure=_failure(execution.failure),
        created_at=to_timestamp(execution.created_at),
        started_at=to_timestamp(execution.started_at),
        completed_at=to_timestamp(execution.completed_at),
        execution_time_seconds=execution.execution_time_seconds,
        cancel_requested_at=to_timestamp(execution.cancel_requested_at),
        revision=execution.revision,
        priority=execution.priority,
        rerun_of=execution.rerun_of,
        superseded_by=execution.superseded_by,
    )


def start_proto(execution: Execution) -> executions_pb2.ExecutionStart:
    """The answer to a start."""
    return executions_pb2.ExecutionStart(
        status=to_enum_number(execution_pb2.ExecutionStatus, execution.status),
        message=status_message(execution),
        id=execution.id,
        task_id=execution.id,
    )


def _counts(counts: RunCounts) -> executions_pb2.RunCounts:
    return executions_pb2.RunCounts(
        total=counts.total,
        queued=counts.queued,
        running=counts.running,
        passed=counts.passed,
        failed=counts.failed,
        cancelled=counts.cancelled,
        infra_failed=counts.infra_failed,
    )


def _failure(failure: Failure | None) -> executions_pb2.ExecutionFailure | None:
    if failure is None:
        return None
    category = to_enum_number(execution_pb2.FailureCategory, failure.category)
    return executions_pb2.ExecutionFailure(category=category, message=failure.message)
