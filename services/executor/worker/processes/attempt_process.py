"""What the process of attempts does: one attempt at a time, as its worker orders."""

import asyncio
import os
import socket
from contextlib import suppress
from dataclasses import dataclass, replace

import uvloop

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.step_cache.cache import StoredStepCache
from services.chassis import logs, metrics
from services.chassis.message_stream import MessageStream
from services.executor.worker.processes.attempt_start import LogFormat
from services.executor.worker.processes.limits import EXTEND_SECONDS, CpuLimit, is_out_of_memory, peak_memory
from services.executor.worker.processes.messages import (
    CancelAttempt,
    FinishAttempt,
    RunAttempt,
    decode,
)
from services.executor.worker.processes.worker_link import (
    ProgressReporter,
    WorkerBaselines,
    WorkerDevices,
    WorkerEvidence,
    WorkerFiles,
    WorkerHttp,
    WorkerHuman,
    WorkerLink,
    WorkerModels,
    WorkerStepCache,
)

ORDER_LIMIT = 64 * 1024 * 1024
"""Bytes of what a worker sends at once: the steps of a test, the beginning of a build."""

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class AttemptProcess:
    """A process of attempts, to be started with its socket."""

    log_format: LogFormat

    def __call__(self, worker: socket.socket) -> None:
        logs.configure(self.log_format)
        uvloop.run(serve(worker))
        os._exit(0)  # nothing is left to clean up, and no thread may keep the process


async def serve(worker: socket.socket, *, limits: bool = True) -> None:
    """Run attempts until the worker closes the socket. `limits`: whether this process has limits of its own."""
    stream = await MessageStream.open(worker, limit=ORDER_LIMIT)
    link = WorkerLink(stream)
    cache = StoredStepCache(WorkerStepCache(link))
    attempt: asyncio.Task[None] | None = None
    with suppress(EOFError, ConnectionError):
        while True:
            message = decode(await stream.receive())
            if message.kind is RunAttempt:
                work = _work(message.parse(), link, cache, limits=limits)
                attempt = asyncio.create_task(work, context=logs.masked_context())
            elif message.kind is not CancelAttempt:
                link.receive(message)
            elif attempt is not None:
                attempt.cancel()
    if attempt is not None:
        attempt.cancel()
    link.close()


async def _work(order: RunAttempt, link: WorkerLink, cache: StoredStepCache, *, limits: bool) -> None:
    """Run the attempt and report its end. If even that fails, the worker sees that the process ends."""
    before = asyncio.all_tasks()
    limit = CpuLimit(order.cpu) if limits else None
    extending = asyncio.create_task(_extend(limit)) if limit is not None else None
    try:
        if limit is not None:
            limit.extend()
        finish = await _finish(order, link, cache)
        left = asyncio.all_tasks() - before - {extending}
        await link.notify(
            replace(
                finish,
                clean=finish.result is not None and not left and not (limit is not None and limit.gave_way),
                counts=tuple(metrics.take_counts()),
                memory_bytes=peak_memory() if limits else 0,
            )
        )
    except BaseException:
        link.close()
        raise
    finally:
        if limit is not None and extending is not None:
            limit.end()
            extending.cancel()


async def _extend(limit: CpuLimit) -> None:
    while True:
        await asyncio.sleep(EXTEND_SECONDS)
        limit.extend()


async def _finish(order: RunAttempt, link: WorkerLink, cache: StoredStepCache) -> FinishAttempt:
    """Run the attempt; one that is cancelled has no result."""
    try:
        return FinishAttempt(result=await _run(order, link, cache))
    except asyncio.CancelledError:
        return FinishAttempt(result=None)
    except Exception as error:
        if is_out_of_memory(error):
            return FinishAttempt(result=None, out_of_memory=True)
        return FinishAttempt(result=_crash(order.request, error))


async def _run(order: RunAttempt, link: WorkerLink, cache: StoredStepCache) -> AttemptResult:
    request, model = order.request, order.model
    if order.has_build_file:
        request = replace(request, build=replace(request.build, read=link.read_build))
    runner = AttemptRunner(
        WorkerDevices(link),
        cache=cache if order.has_cache else None,
        model=LanguageModels(WorkerModels(link, model.names), model.budget) if model is not None else None,
        http=WorkerHttp(link).send,
    )
    return await runner.run(
        request,
        evidence=WorkerEvidence(link),
        progress=ProgressReporter(link),
        human=WorkerHuman(link) if order.has_human else None,
        files=WorkerFiles(link, order.files),
        baselines=WorkerBaselines(link),
    )


def _crash(request: AttemptRequest, error: Exception) -> AttemptResult:
    log.error("attempt_failed", run_id=request.run_id, attempt=request.attempt, exc_info=error)
    message = f"Internal error in the executor ({type(error).__name__}); its log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))
