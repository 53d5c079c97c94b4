"""Inbound gRPC: the services Executions, Baselines, Screens, Steps, RunLimits and ExecutionFacts."""

# ruff: noqa: N802 (methods are named as in the protos)

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from google.protobuf.empty_pb2 import Empty
from mobiletest.executor.v1 import (
    baselines_pb2,
    baselines_pb2_grpc,
    executions_pb2_grpc,
    facts_pb2,
    facts_pb2_grpc,
    limits_pb2,
    limits_pb2_grpc,
    runs_pb2,
    screens_pb2,
    screens_pb2_grpc,
    steps_pb2,
    steps_pb2_grpc,
)
from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.types.v1 import execution_pb2, platform_pb2
from mobiletest.types.v1 import limits_pb2 as types_pb2

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import WEBP
from mobiletest_automation.model.states import Status
from mobiletest_automation.stored_screens.verdict import Verdict
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument
from services.chassis.events import Event
from services.chassis.proto_values import (
    PAGE_BYTES,
    page_fields,
    read_datetime,
    read_optional,
    take_page,
    to_enum_member,
    to_timestamp,
    value_to_json,
)
from services.chassis.stored_transfers import http_bodies
from services.executor.events import execution_changed_message, run_changed_message, to_execution_event
from services.executor.messages import (
    execution_proto,
    healing_proto,
    read_build_config,
    read_ci,
    read_run_config,
    run_group_proto,
    run_proto,
    start_proto,
)
from services.executor.model.attribution import ExecutionSource
from services.executor.model.baselines import Baseline
from services.executor.model.executions import (
    Execution,
    ExecutionKind,
    ExecutionResult,
    Shard,
    StartSubject,
    TestSelection,
)
from services.executor.ports.executions import ExecutionFilter, ExecutionOrder, Page
from services.executor.resolver_pool import ResolverPool
from services.executor.storage.facts import MongoFacts
from services.executor.usecases.baselines import BaselineUseCases
from services.executor.usecases.build_screens import AppScreenUseCases
from services.executor.usecases.executions import ExecutionControl, NewSteps
from services.executor.usecases.last_passes import LastPasses
from services.executor.usecases.organisation_limits import LimitUseCases
from services.executor.usecases.recheck import CheckedScreen, RecheckUseCases, ScreenGroup
from services.executor.usecases.run_reports import RunReports
from services.executor.usecases.screens import ScreenUseCases
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from services.executor.usecases.step_proposals import HealingUseCases
from services.executor.usecases.videos import VideoUseCases

# Of a screen, whose hash is that of its content, and of the video of an attempt that has ended.
KEPT = ("http-cache-control", "private, max-age=86400, immutable")


class ExecutionsServicer(executions_pb2_grpc.ExecutionsServicer):
    """Starts, reads, watches and cancels executions."""

    def __init__(
        self,
        starter: ExecutionStarter,
        control: ExecutionControl,
        baselines: BaselineUseCases,
        *,
        healing: HealingUseCases,
        reports: RunReports,
        videos: VideoUseCases,
    ) -> None:
        self._starter = starter
        self._control = control
        self._baselines = baselines
        self._healing = healing
        self._reports = reports
        self._videos = videos

    async def StartWorkflow(self, request: pb.StartWorkflowRequest, context: Any) -> pb.ExecutionStart:
        subject = StartSubject(ExecutionKind.WORKFLOW, request.workflow_id.lower(), shard=_shard(request))
        wanted = _start_request(subject, request, request.cancel_previous)
        return start_proto(await self._starter.start(wanted))

    async def StartTest(self, request: pb.StartTestRequest, context: Any) -> pb.ExecutionStart:
        wanted = _start_request(StartSubject(ExecutionKind.TEST, request.test_id.lower()), request)
        return start_proto(await self._starter.start(wanted))

    async def StartTests(self, request: pb.StartTestsRequest, context: Any) -> pb.ExecutionStart:
        tests = tuple(
            TestSelection(
                test.test_id.lower(), read_optional(test, "version_number"), read_optional(test, "positions_digest")
            )
            for test in request.tests
        )
        subject = StartSubject(ExecutionKind.TEST, tests=tests, shard=_shard(request))
        wanted = _start_request(subject, request, request.cancel_previous)
        wanted = replace(
            wanted,
            name=read_optional(request, "name"),
            sequence=tuple(test_id.lower() for test_id in request.sequence),
            continue_on_failure=read_optional(request, "continue_on_failure") is not False,
        )
        return start_proto(await self._starter.start(wanted))

    async def RerunExecution(self, request: pb.RerunExecutionRequest, context: Any) -> pb.ExecutionStart:
        again = await self._starter.rerun(
            request.execution_id.lower(),
            failed_only=request.failed_only,
            run_ids=[run_id.lower() for run_id in request.run_ids],
            service_client=read_optional(request, "service_client"),
        )
        return start_proto(again)

    async def ListExecutions(self, request: pb.ListExecutionsRequest, context: Any) -> pb.ListExecutionsResponse:
        page = Page(request.page, request.page_size)
        found = await self._control.page(_filter(request), page)
        return pb.ListExecutionsResponse(
            items=[execution_proto(item, brief=True) for item in found.items],
            searched_until=to_timestamp(found.searched_until),
            **page_fields(request, found.total),
        )

    async def GetExecution(self, request: pb.GetExecutionRequest, context: Any) -> pb.Execution:
        after = read_optional(request, "after_revision")
        return execution_proto(
            await self._control.get(request.execution_id.lower(), wait=request.wait, after_revision=after)
        )

    async def BatchGetExecutions(
        self, request: pb.BatchGetExecutionsRequest, context: Any
    ) -> pb.BatchGetExecutionsResponse:
        executions = await self._control.batch([id_.lower() for id_ in request.execution_ids])
        answer = pb.BatchGetExecutionsResponse(executions=[execution_proto(execution) for execution in executions])
        if len(executions) > 1 and answer.ByteSize() > PAGE_BYTES:
            raise InvalidArgument("The executions are too large for one message: ask for fewer", reason=TOO_LARGE)
        return answer

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:
        page = Page(request.page, request.page_size)
        if request.order == pb.RUN_ORDER_WORST:
            return await self._worst_runs(request, page)
        execution, runs, total = await self._control.runs(request.execution_id.lower(), page)
        return pb.ListRunsResponse(items=[run_proto(execution, run) for run in runs], **page_fields(request, total))

    async def _worst_runs(self, request: pb.ListRunsRequest, page: Page) -> pb.ListRunsResponse:
        execution, runs, groups = await self._control.worst_runs(request.execution_id.lower(), page)
        shown = {run.id for run in runs}
        return pb.ListRunsResponse(
            items=[run_proto(execution, run) for run in runs],
            groups=[
                run_group_proto(group, on_page=number)
                for group in groups
                if (number := len(shown.intersection(group.run_ids)))
            ],
            **page_fields(request, sum(len(group.run_ids) for group in groups)),
        )

    async def GetRun(self, request: pb.GetRunRequest, context: Any) -> runs_pb2.Run:
        return run_proto(*await self._control.run(request.execution_id.lower(), request.run_id.lower()))

    async def GetHealing(self, request: pb.GetHealingRequest, context: Any) -> pb.Healing:
        return healing_proto(await self._healing.get(request.execution_id.lower(), request.run_id.lower()))

    async def VerifyHealing(self, request: pb.VerifyHealingRequest, context: Any) -> pb.Healing:
        return healing_proto(await self._healing.verify(request.execution_id.lower(), request.run_id.lower()))

    async def DownloadArtifact(self, request: pb.DownloadArtifactRequest, context: Any) -> AsyncIterator[HttpBody]:
        asked = read_optional(request, "range")
        artifact_download = await self._control.artifact(
            request.execution_id.lower(), request.run_id.lower(), request.artifact_name, asked
        )
        if artifact_download.part is not None:
            await context.send_initial_metadata(artifact_download.part.headers(artifact_download.etag))
        content_type, key = artifact_download.artifact.content_type, artifact_download.object_key
        async for body in http_bodies(
            context, content_type, artifact_download.chunks, key=key, part=artifact_download.part
        ):
            yield body

    async def GetRunReport(self, request: pb.GetRunReportRequest, context: Any) -> AsyncIterator[HttpBody]:
        asked, run_id = read_optional(request, "range"), request.run_id.lower()
        report = await self._reports.download(request.execution_id.lower(), run_id, asked)
        name = ("http-content-disposition", f'attachment; filename="run-{run_id}.html"')
        await context.send_initial_metadata((*report.part.headers(report.etag), name))
        async for data in report.chunks:
            yield HttpBody(content_type="text/html; charset=utf-8", data=data)

    async def DownloadVideo(self, request: pb.DownloadVideoRequest, context: Any) -> AsyncIterator[HttpBody]:
        number, asked = read_optional(request, "attempt"), read_optional(request, "range")
        video = await self._videos.download(request.execution_id.lower(), request.run_id.lower(), number, asked)
        await context.send_initial_metadata((*video.part.headers(video.etag), *((KEPT,) if video.is_final else ())))
        async for chunk in video.chunks:
            yield HttpBody(content_type=WEBP, data=chunk)

    async def AcceptBaseline(self, request: pb.AcceptBaselineRequest, context: Any) -> pb.Baseline:
        run_id = request.run_id.lower()
        return _baseline_proto(
            await self._baselines.accept(request.execution_id.lower(), run_id, request.artifact_name)
        )

    async def CancelExecution(self, request: pb.CancelExecutionRequest, context: Any) -> pb.Execution:
        return execution_proto(await self._control.cancel(request.execution_id.lower()))

    async def AnswerRun(self, request: pb.AnswerRunRequest, context: Any) -> runs_pb2.Run:
        question_id = read_optional(request, "question_id")
        answered = await self._control.answer(
            request.execution_id.lower(), request.run_id.lower(), question_id, request.answer
        )
        return run_proto(*answered)

    async def WatchExecution(self, request: pb.WatchExecutionRequest, context: Any) -> AsyncIterator[pb.ExecutionEvent]:
        watched = self._control.watch(request.execution_id.lower(), request.after_sequence, steps=request.steps)
        async for news in watched:
            if news is None and request.heartbeats:
                yield pb.ExecutionEvent()
            elif news is not None and (event := _watch_event(news)):
                yield event

    async def GetJUnit(self, request: pb.GetJUnitRequest, context: Any) -> HttpBody:
        content = await self._control.junit(request.execution_id.lower(), request.base_url)
        return HttpBody(content_type="application/xml", data=content)


def _shard(request: pb.StartWorkflowRequest | pb.StartTestsRequest) -> Shard | None:
    return Shard(request.shard.index, request.shard.count) if request.HasField("shard") else None


def _start_request(
    subject: StartSubject,
    request: pb.StartWorkflowRequest | pb.StartTestRequest | pb.StartTestsRequest,
    cancel_previous: bool = False,
) -> StartRequest:
    return StartRequest(
        subject=subject,
        run_config=read_run_config(request.run_config),
        build_config=read_build_config(request.build_config),
        override_build_config=request.override_build_config,
        service_client=read_optional(request, "service_client"),
        ci=read_ci(request.ci),
        priority=request.priority,
        cancel_previous=cancel_previous,
    )


def _watch_event(news: Event | Execution | NewSteps) -> pb.ExecutionEvent | None:
    if isinstance(news, Event):
        return to_execution_event(news)
    if isinstance(news, NewSteps):
        return pb.ExecutionEvent(steps=pb.StepsNotice(run_ids=news.run_ids))
    return pb.ExecutionEvent(sequence=news.revision, execution=execution_proto(news, brief=True))


def _filter(request: pb.ListExecutionsRequest) -> ExecutionFilter:
    return ExecutionFilter(
        status=to_enum_member(Status, execution_pb2.ExecutionStatus, request.status),
        workflow_id=request.workflow_id.lower() or None,
        app_id=request.app_id.lower() or None,
        source=to_enum_member(ExecutionSource, execution_pb2.ExecutionSource, request.source),
        branch=read_optional(request, "branch"),
        commit_sha=read_optional(request, "commit_sha"),
        pr_number=read_optional(request, "pr_number"),
        name=read_optional(request, "name"),
        ci_run_id=read_optional(request, "ci_run_id"),
        started_by=read_optional(request, "started_by"),
        result=to_enum_member(ExecutionResult, pb.ExecutionResult, request.result),
        rerun_of=request.rerun_of.lower() or None,
        superseded_by=request.superseded_by.lower() or None,
        created_after=read_datetime(request, "created_after"),
        created_before=read_datetime(request, "created_before"),
        exact=request.exact,
        order=to_enum_member(ExecutionOrder, pb.ExecutionOrder, request.sort) or ExecutionOrder.NEWEST,
    )


class BaselinesServicer(baselines_pb2_grpc.BaselinesServicer):
    """Shows and deletes baselines."""

    def __init__(self, usecases: BaselineUseCases) -> None:
        self._usecases = usecases

    async def ListBaselines(
        self, request: baselines_pb2.ListBaselinesRequest, context: Any
    ) -> baselines_pb2.ListBaselinesResponse:
        baselines = await self._usecases.of_test(request.test_id.lower())
        first = (request.page - 1) * request.page_size
        items = map(_baseline_proto, baselines[first : first + request.page_size])
        return baselines_pb2.ListBaselinesResponse(items=items, **page_fields(request, len(baselines)))

    async def DownloadBaseline(
        self, request: baselines_pb2.DownloadBaselineRequest, context: Any
    ) -> AsyncIterator[HttpBody]:
        asked = read_optional(request, "range")
        baseline_download = await self._usecases.download(request.test_id.lower(), request.key, asked)
        await context.send_initial_metadata(baseline_download.part.headers(baseline_download.etag))
        async for chunk in baseline_download.chunks:
            yield HttpBody(content_type="image/png", data=chunk)

    async def DeleteBaseline(self, request: baselines_pb2.DeleteBaselineRequest, context: Any) -> Empty:
        await self._usecases.delete(request.test_id.lower(), request.key)
        return Empty()


def _baseline_proto(baseline: Baseline) -> pb.Baseline:
    return pb.Baseline(
        test_id=baseline.test_id,
        key=baseline.key,
        size_bytes=baseline.size_bytes,
        form=baseline.form,
        sha256=baseline.sha256,
        accepted_at=to_timestamp(baseline.accepted_at),
    )


class ScreensServicer(screens_pb2_grpc.ScreensServicer):
    """Shows what is kept of screens."""

    def __init__(self, usecases: ScreenUseCases, builds: AppScreenUseCases, passes: LastPasses) -> None:
        self._usecases = usecases
        self._builds = builds
        self._passes = passes

    async def ListScreens(
        self, request: screens_pb2.ListScreensRequest, context: Any
    ) -> screens_pb2.ListScreensResponse:
        screens = await self._builds.of_app(request.app_id.lower(), request.build.lower() or None)
        first = (request.page - 1) * request.page_size
        items = screens.items[first : first + request.page_size]
        fields = page_fields(request, len(screens.items))
        return screens_pb2.ListScreensResponse(items=items, runs=screens.runs, notice=screens.notice, **fields)

    async def CompareScreens(
        self, request: screens_pb2.CompareScreensRequest, context: Any
    ) -> screens_pb2.ScreenComparison:
        return await self._builds.compare(request.version_id.lower(), request.base.lower() or None)

    async def GetLastPass(self, request: screens_pb2.GetLastPassRequest, context: Any) -> screens_pb2.LastPass:
        step = read_optional(request, "step_index")
        return await self._passes.find(request.execution_id.lower(), request.run_id.lower(), step)

    async def DownloadScreen(self, request: screens_pb2.DownloadScreenRequest, context: Any) -> AsyncIterator[HttpBody]:
        download = await self._usecases.download(request.hash, read_optional(request, "range"))
        await context.send_initial_metadata((*download.part.headers(request.hash), KEPT))
        key, part = download.object_key, download.part
        async for body in http_bodies(context, download.content_type, download.chunks, key=key, part=part):
            yield body


class StepsServicer(steps_pb2_grpc.StepsServicer):
    """Previews steps, and checks them on the screens of past runs."""

    def __init__(self, resolver: ResolverPool, rechecks: RecheckUseCases) -> None:
        self._resolver = resolver
        self._rechecks = rechecks

    async def ResolveStep(self, request: steps_pb2.ResolveStepRequest, context: Any) -> steps_pb2.ResolveStepResponse:
        return await self._resolver.resolve(request)

    async def RecheckStep(self, request: steps_pb2.RecheckStepRequest, context: Any) -> steps_pb2.RecheckStepResponse:
        recheck = await self._rechecks.recheck(
            request.test_id.lower(),
            step=value_to_json(request.step),
            flow=read_optional(request, "flow"),
            path=read_optional(request, "step_path"),
            platform=to_enum_member(Platform, platform_pb2.Platform, request.platform),
        )
        return steps_pb2.RecheckStepResponse(
            step=recheck.step.title,
            runs=recheck.runs,
            passed=_counts_proto(recheck.counts(ScreenGroup.PASSED)),
            failed=_counts_proto(recheck.counts(ScreenGroup.FAILED)),
            others=_counts_proto(recheck.counts(ScreenGroup.OTHER)),
            asserts_nothing=recheck.asserts_nothing,
            reasons=[
                steps_pb2.RecheckReason(group=group, verdict=verdict, reason=reason, count=count)
                for group, verdict, reason, count in recheck.reasons()
            ],
            other_steps=[
                steps_pb2.RecheckedStep(kind=kind, text=text, screens=_counts_proto(counts))
                for kind, text, counts in recheck.other_steps()
            ],
            examples=map(_example_proto, recheck.examples()),
        )


def _counts_proto(counts: Mapping[Verdict, int]) -> steps_pb2.RecheckCounts:
    return steps_pb2.RecheckCounts(**{verdict.value: counts.get(verdict, 0) for verdict in Verdict})


def _example_proto(screen: CheckedScreen) -> steps_pb2.RecheckExample:
    past = screen.past
    return steps_pb2.RecheckExample(
        group=screen.group,
        verdict=screen.answer.verdict,
        reason=screen.answer.reason,
        element=screen.answer.element or None,
        execution_id=past.run.execution_id,
        run_id=past.run.id,
        step_index=past.step.index,
        step_text=past.step.text,
        screen=past.screen.tree,
    )


class RunLimitsServicer(limits_pb2_grpc.RunLimitsServicer):
    """Shows the use of runs and language models."""

    def __init__(self, usecases: LimitUseCases) -> None:
        self._usecases = usecases

    async def ListRunLimits(
        self, request: limits_pb2.ListRunLimitsRequest, context: Any
    ) -> limits_pb2.ListRunLimitsResponse:
        in_use = await self._usecases.in_use()
        limits = [types_pb2.Limit(name=each.name, limit=each.limit, used=each.used) for each in in_use]
        return limits_pb2.ListRunLimitsResponse(limits=limits, models_available=await self._usecases.has_models())


class ExecutionFactsServicer(facts_pb2_grpc.ExecutionFactsServicer):
    """The history of all organisations, for rebuilding read models."""

    def __init__(self, facts: MongoFacts) -> None:
        self._facts = facts

    async def ListRunFacts(
        self, request: facts_pb2.ListRunFactsRequest, context: Any
    ) -> facts_pb2.ListRunFactsResponse:
        runs, total = await self._facts.runs(request.page_token, request.page_size)
        facts = take_page(run_changed_message(execution, run) for execution, run in runs)
        more = len(facts) < len(runs) or len(facts) == request.page_size
        token = facts[-1].run.id if more else ""
        return facts_pb2.ListRunFactsResponse(facts=facts, next_page_token=token, estimated_total=total)

    async def ListExecutionFacts(
        self, request: facts_pb2.ListExecutionFactsRequest, context: Any
    ) -> facts_pb2.ListExecutionFactsResponse:
        executions, total = await self._facts.executions(request.page_token, request.page_size)
        facts = take_page(map(execution_changed_message, executions))
        more = len(facts) < len(executions) or len(facts) == request.page_size
        token = facts[-1].execution.id if more else ""
        return facts_pb2.ListExecutionFactsResponse(facts=facts, next_page_token=token, estimated_total=total)
