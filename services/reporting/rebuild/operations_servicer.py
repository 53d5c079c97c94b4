"""The gRPC service Operations, and the metrics of the newest operation, whichever process runs it."""

# ruff: noqa: N802 (gRPC names the methods)

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from mobiletest.reporting.v1 import operations_pb2, operations_pb2_grpc

from services.chassis import logs, metrics
from services.chassis.proto_values import to_enum_number
from services.chassis.retry import run_every
from services.reporting.rebuild.job import RebuildJob
from services.reporting.rebuild.state import Difference, JobKind, JobProgress, JobState

METRICS_INTERVAL_SECONDS = 15.0
_LABELS = ["operation", "phase"]
_done = metrics.gauge("mobiletest_reporting_operation_done", "Facts or documents processed in this phase", _LABELS)
_total = metrics.gauge("mobiletest_reporting_operation_total", "Estimated facts or documents of this phase", _LABELS)
_differences = metrics.gauge("mobiletest_reporting_operation_differences", "Differences found", ["operation"])

Messages = AsyncGenerator[operations_pb2.OperationProgress, None]

log = logs.get(__name__)


class OperationsServicer(operations_pb2_grpc.OperationsServicer):
    """See the proto. Each call has a job of its own, so that two calls compete for the lease."""

    def __init__(self, new_job: Callable[[], RebuildJob]) -> None:
        self._new_job = new_job

    async def Verify(self, request: operations_pb2.VerifyRequest, context: Any) -> Messages:
        async for message in self._run(JobKind.VERIFY, restart=request.restart):
            yield message

    async def Rebuild(self, request: operations_pb2.RebuildRequest, context: Any) -> Messages:
        async for message in self._run(JobKind.REBUILD, restart=request.restart):
            yield message

    async def _run(self, operation: JobKind, *, restart: bool) -> Messages:
        async with aclosing(self._new_job().run(operation, restart=restart)) as steps:
            async for progress in steps:
                yield progress_message(progress)


def progress_message(progress: JobProgress) -> operations_pb2.OperationProgress:
    """The progress as a message."""
    state = progress.state
    message = operations_pb2.OperationProgress(
        phase=to_enum_number(operations_pb2.OperationPhase, state.phase),
        done=state.done,
        total=state.total,
        differences=state.differences,
        found=map(_difference, progress.found),
    )
    message.began_at.FromDatetime(state.began_at)
    return message


def _difference(difference: Difference) -> operations_pb2.Difference:
    return operations_pb2.Difference(
        collection=difference.collection,
        id=difference.id,
        field=difference.field,
        serving=difference.serving,
        recounted=difference.recounted,
    )


async def export_metrics(current: Callable[[], Awaitable[JobState | None]]) -> None:
    """Keep the metrics up to date until cancelled."""

    async def work() -> None:
        if (state := await current()) is not None:
            set_metrics(state)

    await run_every(METRICS_INTERVAL_SECONDS, work, log=log, event="operation_unknown")


def set_metrics(state: JobState) -> None:
    """Set the metrics to this state."""
    _done.clear()
    _total.clear()
    _done.labels(state.operation.value, state.phase.value).set(state.done)
    _total.labels(state.operation.value, state.phase.value).set(state.total)
    _differences.labels(state.operation.value).set(state.differences)
