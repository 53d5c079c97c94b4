"""What the process of attempts does: one attempt at a time, as its worker orders."""

import asyncio
import os
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Final

import uvloop

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.handles import attach, detach
from mobiletest_automation.devices.port import AppUnderTest, Device, OnSession, Seed
from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.llm.settings import ModelEndpoint
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.ports import ScreenStore
from mobiletest_automation.scripting.http import HttpFailed, HttpRequest, HttpResponse, SendHttp
from mobiletest_automation.step_cache.cache import StoredStepCache
from mobiletest_automation.telemetry import COUNTERS
from services.chassis import logs, metrics
from services.chassis.clock import SystemClock
from services.chassis.message_stream import MessageStream
from services.executor.model.screens import ScreenKey
from services.executor.worker.known_screens import KnownScreens
from services.executor.worker.processes.attempt_start import LogFormat
from services.executor.worker.processes.messages import (
    AttemptPorts,
    CancelAttempt,
    CountedModels,
    FinishAttempt,
    ModelOffer,
    ReportProgress,
    RunAttempt,
    decode,
)
from services.executor.worker.processes.process_limits import EXTEND_SECONDS, CpuLimit, is_out_of_memory, peak_memory
from services.executor.worker.processes.remote_ports import CallFailed, WorkerLink, functions_of

# Bytes of what a worker sends at once: the steps of a test, the beginning of a build.
ORDER_LIMIT = 64 * 1024 * 1024

# Screens that a process remembers.
SCREENS_REMEMBERED = 5_000

UNHURRIED_REPORTS = 1_000
# Added to the pause after each further report: in the longest run they are some 3,000, which the worker keeps.
PAUSE_SECONDS = 0.05
FUNCTIONS: Final = functions_of(AttemptPorts)

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class AttemptProcess:
    """A process of attempts, to be started with its socket."""

    log_format: LogFormat

    def __call__(self, worker: socket.socket) -> None:
        logs.configure(self.log_format)
        metrics.register(COUNTERS)
        uvloop.run(serve(worker))
        os._exit(0)  # nothing is left to clean up, and no thread may keep the process


async def serve(worker: socket.socket, *, limits: bool = True) -> None:
    """Run attempts until the worker closes the socket. `limits`: whether this process has limits of its own."""
    stream = await MessageStream.open(worker, limit=ORDER_LIMIT)
    link = WorkerLink(stream, FUNCTIONS)
    attempt: asyncio.Task[None] | None = None
    known = KnownScreens(SystemClock(), most=SCREENS_REMEMBERED)
    with suppress(EOFError, ConnectionError):
        while True:
            message = decode(await stream.receive())
            if message.kind == RunAttempt.__name__:
                work = _work(message.parse(RunAttempt), link, known, limits=limits)
                attempt = asyncio.create_task(work, context=logs.masked_context())
            elif message.kind != CancelAttempt.__name__:
                link.receive(message)
            elif attempt is not None:
                attempt.cancel()
    if attempt is not None:
        attempt.cancel()
    link.close()


async def _work(order: RunAttempt, link: WorkerLink, known: KnownScreens, *, limits: bool) -> None:
    """Run the attempt and report its end. If even that fails, the worker sees that the process ends."""
    before = asyncio.all_tasks()
    limit = CpuLimit(order.cpu) if limits else None
    extending = asyncio.create_task(_extend(limit)) if limit is not None else None
    try:
        if limit is not None:
            limit.extend()
        finish = await _finish(order, link, known)
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


async def _finish(order: RunAttempt, link: WorkerLink, known: KnownScreens) -> FinishAttempt:
    """Run the attempt; one that is cancelled has no result."""
    try:
        return FinishAttempt(result=await _run(order, link, known))
    except asyncio.CancelledError:
        return FinishAttempt(result=None)
    except Exception as error:
        if is_out_of_memory(error):
            return FinishAttempt(result=None, out_of_memory=True)
        return FinishAttempt(result=_crash(order.request, error))


async def _run(order: RunAttempt, link: WorkerLink, known: KnownScreens) -> AttemptResult:
    ports, request = link.proxies(AttemptPorts, order.ports), order.request
    runner = AttemptRunner(
        WorkerDevices(ports),
        model=_models(order.model, ports.models),
        cache=StoredStepCache(ports.cache) if ports.cache is not None else None,
        http=partial(_send_http, ports.send_http) if ports.send_http is not None else None,
    )
    return await runner.run(
        replace(request, build=replace(request.build, read=ports.read_build)),
        evidence=ports.evidence,
        progress=ProgressReporter(link),
        human=ports.human,
        files=WorkerFiles(ports, order.files),
        baselines=ports.baselines,
        screens=RememberedScreens(ports.screens, known, request.org_id) if ports.screens is not None else None,
    )


def _models(offer: ModelOffer | None, models: CountedModels | None) -> LanguageModels | None:
    if offer is None or models is None:
        return None
    return LanguageModels(WorkerModels(models, offer.names), offer.budget)


def _crash(request: AttemptRequest, error: Exception) -> AttemptResult:
    log.error("attempt_failed", run_id=request.run_id, attempt=request.attempt, exc_info=error)
    message = f"Internal error in the executor ({type(error).__name__}); its log has the details."
    return AttemptResult(failure=Failure(Category.UNKNOWN, message))


class WorkerDevices:
    """The port `Devices`: the device that the worker has acquired for the attempt, whose session the worker ends."""

    def __init__(self, worker: AttemptPorts) -> None:
        self._worker = worker

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        return attach(await self._worker.acquire_device(), build, seed, self._worker.note_change)

    async def release(self, device: Device) -> None:
        await detach(device)


class WorkerFiles:
    """The port `FlowFiles`: the files with these paths, which the worker has."""

    def __init__(self, worker: AttemptPorts, paths: Collection[str]) -> None:
        self._worker = worker
        self._paths = frozenset(paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    async def read(self, path: str) -> bytes:
        return await self._worker.read_file(path)


class WorkerModels:
    """The port `ChatModel`; the worker keeps the key, and counts what models cost."""

    def __init__(self, models: CountedModels, names: LlmConfig) -> None:
        self._models = models
        self.endpoint = ModelEndpoint(base_url="", models=names)

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        try:
            return await self._models.ask(request)
        finally:
            budget.spent = await self._models.usage()


class RememberedScreens:
    """The port `ScreenStore`: asks the worker once a day for a screen, so that repeated runs need not ask at each step.

    After a day it asks again, because what nothing refers to is deleted.
    """

    def __init__(self, store: ScreenStore, known: KnownScreens, org_id: str) -> None:
        self._store = store
        self._known = known
        self._org_id = org_id

    async def picture_of(self, state: str) -> str:
        return await self._store.picture_of(state)

    async def has(self, hash: str, state: str = "") -> bool:
        """The worker is told every `state`, of which it remembers the picture."""
        screen = ScreenKey(self._org_id, hash)
        if not state and screen in self._known:
            return True
        today = self._known.today
        stored = await self._store.has(hash, state)
        if stored:
            self._known.add(screen, today)
        return stored

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        today = self._known.today
        reason = await self._store.keep(hash, content, content_type, state)
        if not reason:
            self._known.add(ScreenKey(self._org_id, hash), today)
        return reason


class ProgressReporter:
    """Reports the steps that have changed since the last report, and lets a cancellation come between two steps."""

    def __init__(self, link: WorkerLink, now: Callable[[], float] = monotonic) -> None:
        self._link = link
        self._now = now
        self._reported: Sequence[StepResult] = ()
        self._reports = 0
        self._next = 0.0

    async def __call__(self, steps: Sequence[StepResult], artifacts: Sequence[Artifact]) -> None:
        """The more there were, the longer is the pause after a report: a repetition may run millions of steps."""
        now = self._now()
        if now >= self._next:
            known = self._reported
            changed = (step for n, step in enumerate(steps) if n >= len(known) or known[n] is not step)
            report = ReportProgress(tuple(changed), tuple(artifacts), len(steps))
            self._reported = steps  # before it waits: a step that takes long may be reported at the same time
            await self._link.notify(report)
            self._reports += 1
            self._next = now + max(0, self._reports - UNHURRIED_REPORTS) * PAUSE_SECONDS
        await asyncio.sleep(0)


async def _send_http(send: SendHttp, request: HttpRequest) -> HttpResponse:
    try:
        return await send(request)
    except CallFailed as failed:
        raise HttpFailed(f"not available here: {failed}") from failed
