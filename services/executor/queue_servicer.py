"""Inbound gRPC: the service Queue."""

# ruff: noqa: N802 (methods are named as in the protos)

from collections.abc import Mapping
from typing import Any

from mobiletest.executor.v1 import queue_pb2, queue_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from mobiletest_automation.model.devices import Platform
from services.chassis.proto_values import page_fields, to_enum_number, to_timestamp
from services.executor.messages import question_proto
from services.executor.model.runs import Run
from services.executor.model.workers import PoolView, WorkerState, WorkerView
from services.executor.ports.executions import Page
from services.executor.usecases.queue import QueuePage, QueueUseCases, WaitingRun, WorkersPage

# Of one pool in a response.
MAX_DEVICES = 100


class QueueServicer(queue_pb2_grpc.QueueServicer):
    """Shows waiting runs, questions, workers and devices."""

    def __init__(self, usecases: QueueUseCases) -> None:
        self._usecases = usecases

    async def ListQueuedRuns(
        self, request: queue_pb2.ListQueuedRunsRequest, context: Any
    ) -> queue_pb2.ListQueuedRunsResponse:
        queue_page = await self._usecases.queue(Page(request.page, request.page_size))
        return queue_pb2.ListQueuedRunsResponse(
            items=map(_queued_run, queue_page.items),
            held_back=queue_page.held_back,
            running=sum(queue_page.running.values()),
            platforms=(_platform_queue(queue_page, platform) for platform in Platform),
            **page_fields(request, queue_page.total),
        )

    async def ListQuestions(
        self, request: queue_pb2.ListQuestionsRequest, context: Any
    ) -> queue_pb2.ListQuestionsResponse:
        runs, total = await self._usecases.questions(Page(request.page, request.page_size))
        return queue_pb2.ListQuestionsResponse(items=map(_run_question, runs), **page_fields(request, total))

    async def ListWorkers(self, request: queue_pb2.ListWorkersRequest, context: Any) -> queue_pb2.ListWorkersResponse:
        workers_page = await self._usecases.workers(Page(request.page, request.page_size))
        return queue_pb2.ListWorkersResponse(
            items=map(_worker, workers_page.items),
            devices=sum(each.devices for each in workers_page.capacities.values()),
            free_devices=sum(each.free for each in workers_page.capacities.values()),
            platforms=(_platform_workers(workers_page, platform) for platform in Platform),
            **_states(workers_page.states),
            **page_fields(request, workers_page.total),
        )


def _platform_queue(page: QueuePage, platform: Platform) -> queue_pb2.PlatformQueue:
    return queue_pb2.PlatformQueue(
        platform=to_enum_number(platform_pb2.Platform, platform),
        waiting=page.waiting.get(platform, 0),
        running=page.running.get(platform, 0),
    )


def _platform_workers(page: WorkersPage, platform: Platform) -> queue_pb2.PlatformWorkers:
    capacity = page.capacities[platform]
    return queue_pb2.PlatformWorkers(
        platform=to_enum_number(platform_pb2.Platform, platform),
        devices=capacity.devices,
        free_devices=capacity.free,
        **_states(page.states_by_platform[platform]),
    )


def _states(counts: Mapping[WorkerState, int]) -> Mapping[str, Any]:
    """The fields of a message that say how many workers are in which state."""
    return {state.value: counts.get(state, 0) for state in WorkerState}


def _run_question(run: Run) -> queue_pb2.RunQuestion:
    return queue_pb2.RunQuestion(
        run_id=run.id,
        execution_id=run.execution_id,
        test_id=run.target.test_id,
        test_name=run.target.test_name,
        question=question_proto(run, run.open_question),
    )


def _queued_run(waiting: WaitingRun) -> queue_pb2.QueuedRun:
    run = waiting.run
    return queue_pb2.QueuedRun(
        run_id=run.id,
        execution_id=run.execution_id,
        test_id=run.target.test_id,
        test_name=run.target.test_name,
        platform=to_enum_number(platform_pb2.Platform, run.target.platform),
        priority=run.priority,
        attempt_number=run.attempt_number,
        waiting_since=to_timestamp(_waiting_since(run)),
        ahead=waiting.ahead,
        reason=to_enum_number(queue_pb2.WaitReason, waiting.reason),
        message=waiting.message,
    )


def _waiting_since(run: Run) -> Any:
    """The end of its last attempt, or when it was released."""
    return run.attempts[-1].completed_at if run.attempts else run.queued_at


def _worker(view: WorkerView) -> queue_pb2.Worker:
    worker = view.worker
    return queue_pb2.Worker(
        name=worker.report.name,
        state=to_enum_number(queue_pb2.WorkerState, worker.state),
        started_at=to_timestamp(worker.started_at),
        heartbeat_at=to_timestamp(worker.heartbeat_at),
        slots=worker.report.slots,
        running=worker.running,
        pools=map(_pool, view.pools),
    )


def _pool(view: PoolView) -> queue_pb2.DevicePool:
    pool = view.pool
    return queue_pb2.DevicePool(
        name=pool.name,
        platform=to_enum_number(platform_pb2.Platform, pool.platform),
        simulated=pool.simulated,
        labels=pool.labels,
        slots=pool.slots,
        busy=len(view.busy),
        shared=pool.shared is not None,
        devices=[_device(view, number) for number in range(1, min(pool.slots, MAX_DEVICES) + 1)],
    )


def _device(view: PoolView, number: int) -> queue_pb2.PooledDevice:
    state = to_enum_number(queue_pb2.DeviceState, view.device_state(number))
    return queue_pb2.PooledDevice(name=f"{view.pool.name}-{number}", state=state)
