"""The service mobiletest.executor.v1.Executions."""

# ruff: noqa: N802 (methods are named as in the protos)

from collections.abc import AsyncIterator
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import executions_pb2_grpc, runs_pb2
from mobiletest.types.v1 import execution_pb2

from services.chassis.events import Event
from services.executor.events import logged
from services.executor.messages.configs import build_config, ci, run_config
from services.executor.messages.executions import execution_proto, start_proto
from services.executor.messages.runs import run_proto
from services.executor.messages.values import from_proto
from services.executor.model.attribution import ExecutionSource
from services.executor.model.executions import Execution, ExecutionKind
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.usecases.executions import ExecutionAnswers, ExecutionControl
from services.executor.usecases.reruns import ExecutionRerunner
from services.executor.usecases.starts import ExecutionStarter, StartRequest

Context = Any


class ExecutionsServicer(executions_pb2_grpc.ExecutionsServicer):
    """Starts and follows executions."""

    def __init__(
        self,
        starts: ExecutionStarter,
        reruns: ExecutionRerunner,
        following: ExecutionControl,
        answering: ExecutionAnswers,
    ) -> None:
        self._starts = starts
        self._reruns = reruns
        self._following = following
        self._answering = answering

    async def StartWorkflow(self, request: pb.StartWorkflowRequest, context: Context) -> pb.ExecutionStart:
        return await self._start(ExecutionKind.WORKFLOW, request.workflow_id, request)

    async def StartTest(self, request: pb.StartTestRequest, context: Context) -> pb.ExecutionStart:
        return await self._start(ExecutionKind.TEST, request.test_id, request)

    async def _start(
        self, kind: ExecutionKind, subject_id: str, request: pb.StartWorkflowRequest | pb.StartTestRequest
    ) -> pb.ExecutionStart:
        return start_proto(await self._starts.start(_wanted_start(kind, subject_id, request)))

    async def RerunExecution(self, request: pb.RerunExecutionRequest, context: Context) -> pb.ExecutionStart:
        again = await self._reruns.rerun(
            request.execution_id.lower(),
            failed_only=request.failed_only,
            service_client=request.service_client if request.HasField("service_client") else None,
        )
        return start_proto(again)

    async def ListExecutions(self, request: pb.ListExecutionsRequest, context: Context) -> pb.ListExecutionsResponse:
        page = PageRequest(request.page, request.page_size)
        items, total = await self._following.page(_wanted(request), page)
        return pb.ListExecutionsResponse(items=[execution_proto(item) for item in items], **_envelope(page, total))

    async def GetExecution(self, request: pb.GetExecutionRequest, context: Context) -> pb.Execution:
        after = request.after_revision if request.HasField("after_revision") else None
        return execution_proto(
            await self._following.get(request.execution_id.lower(), wait=request.wait, after_revision=after)
        )

    async def BatchGetExecutions(
        self, request: pb.BatchGetExecutionsRequest, context: Context
    ) -> pb.BatchGetExecutionsResponse:
        found = await self._following.batch([id_.lower() for id_ in request.execution_ids])
        return pb.BatchGetExecutionsResponse(executions=[execution_proto(execution) for execution in found])

    async def ListRuns(self, request: pb.ListRunsRequest, context: Context) -> pb.ListRunsResponse:
        page = PageRequest(request.page, request.page_size)
        execution, runs, total = await self._following.runs(request.execution_id.lower(), page)
        return pb.ListRunsResponse(items=[run_proto(execution, run) for run in runs], **_envelope(page, total))

    async def GetRun(self, request: pb.GetRunRequest, context: Context) -> runs_pb2.Run:
        return run_proto(*await self._following.run(request.execution_id.lower(), request.run_id.lower()))

    async def DownloadArtifact(self, request: pb.DownloadArtifactRequest, context: Context) -> AsyncIterator[HttpBody]:
        artifact, chunks = await self._following.artifact(
            request.execution_id.lower(), request.run_id.lower(), request.artifact_name
        )
        async for chunk in chunks:
            yield HttpBody(content_type=artifact.content_type, data=chunk)

    async def CancelExecution(self, request: pb.CancelExecutionRequest, context: Context) -> pb.Execution:
        return execution_proto(await self._following.cancel(request.execution_id.lower()))

    async def AnswerRun(self, request: pb.AnswerRunRequest, context: Context) -> runs_pb2.Run:
        question_id = request.question_id if request.HasField("question_id") else None
        answered = await self._answering.answer(
            request.execution_id.lower(), request.run_id.lower(), question_id, request.answer
        )
        return run_proto(*answered)

    async def WatchExecution(
        self, request: pb.WatchExecutionRequest, context: Context
    ) -> AsyncIterator[pb.ExecutionEvent]:
        async for happened in self._following.watch(request.execution_id.lower(), request.after_sequence):
            if event := _watched(happened):
                yield event

    async def GetJUnit(self, request: pb.GetJUnitRequest, context: Context) -> HttpBody:
        content = await self._following.junit(request.execution_id.lower())
        return HttpBody(content_type="application/xml", data=content)


def _wanted_start(
    kind: ExecutionKind, subject_id: str, request: pb.StartWorkflowRequest | pb.StartTestRequest
) -> StartRequest:
    return StartRequest(
        kind=kind,
        subject_id=subject_id.lower(),
        run_config=run_config(request.run_config),
        build_config=build_config(request.build_config),
        override_build_config=request.override_build_config,
        service_client=request.service_client if request.HasField("service_client") else None,
        ci=ci(request.ci),
        priority=request.priority,
        cancel_previous=isinstance(request, pb.StartWorkflowRequest) and request.cancel_previous,
    )


def _watched(happened: Event | Execution) -> pb.ExecutionEvent | None:
    if isinstance(happened, Event):
        return logged(happened)
    return pb.ExecutionEvent(sequence=happened.revision, execution=execution_proto(happened))


def _wanted(request: pb.ListExecutionsRequest) -> ExecutionFilter:
    return ExecutionFilter(
        status=from_proto(Status, execution_pb2.ExecutionStatus, request.status),
        workflow_id=request.workflow_id.lower() or None,
        app_id=request.app_id.lower() or None,
        source=from_proto(ExecutionSource, execution_pb2.ExecutionSource, request.source),
        branch=request.branch if request.HasField("branch") else None,
        commit_sha=request.commit_sha if request.HasField("commit_sha") else None,
        pr_number=request.pr_number if request.HasField("pr_number") else None,
    )


def _envelope(page: PageRequest, total: int) -> dict[str, Any]:
    """The fields that every page has."""
    pages = -(-total // page.size)
    return {
        "total": total,
        "page": page.number,
        "page_size": page.size,
        "total_pages": pages,
        "has_next": page.number < pages,
        "has_previous": page.number > 1,
    }
