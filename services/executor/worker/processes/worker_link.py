"""The worker as the process of an attempt sees it: calls, and the ports that are answered by them."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from itertools import count
from time import monotonic
from typing import Any

from mobiletest_automation.devices.handles import attach, detach
from mobiletest_automation.devices.port import Build, Device, DeviceFailure, OnSession, Seed
from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.llm.endpoint import ModelEndpoint
from mobiletest_automation.model.baseline_keys import baseline_key
from mobiletest_automation.model.results import Artifact, StepResult
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.model.unclean_devices import DeviceChange
from mobiletest_automation.model_ports import ModelFailed
from mobiletest_automation.ports import HumanQuestion
from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.scripting.http import HttpFailed, HttpRequest, HttpResponse
from mobiletest_automation.step_cache.entries import CachedSentence, CacheEntry
from services.chassis.message_stream import MessageStream
from services.executor.worker.processes.messages import (
    AcquireDevice,
    AddEntry,
    AskHuman,
    AskModel,
    Call,
    DeviceAcquired,
    EvidenceKept,
    ForgetCall,
    HumanAnswered,
    KeepEvidence,
    LoadBaseline,
    LoadSentence,
    ModelAnswered,
    Note,
    NoteDeviceChange,
    RawMessage,
    ReadBuild,
    ReadFile,
    Refused,
    RemoveEntries,
    ReportProgress,
    RequestAnswered,
    SendRequest,
    SentenceLoaded,
    SetPlan,
    encode,
)

UNHURRIED_REPORTS = 1_000
PAUSE_SECONDS = 0.05
"""Added to the pause after each further report: in the longest run they are some 3,000, which the worker keeps."""


class CallFailed(Exception):
    """The worker could not do what it was asked for."""


class WorkerLink:
    """Calls of the worker, any number at a time."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[RawMessage]] = {}

    async def call(self, call: Call, content: bytes = b"") -> Any:
        """The worker's answer. Raise DeviceFailure for a refusal with a category, CallFailed for another one."""
        answer, _ = await self._exchange(call, content)
        return answer

    async def read_build(self, limit: int) -> bytes:
        """The beginning of the build's file. Raise as `call`."""
        _, content = await self._exchange(ReadBuild(limit), b"")
        return content

    async def read_file(self, path: str) -> bytes:
        """A file of the test. Raise as `call`."""
        _, content = await self._exchange(ReadFile(path), b"")
        return content

    async def load_baseline(self, name: str, form: str) -> bytes | None:
        """The port `AcceptedBaselines`. Raise as `call`."""
        answer, content = await self._exchange(LoadBaseline(baseline_key(name, form)), b"")
        return content if answer.found else None

    async def _exchange(self, call: Call, content: bytes) -> tuple[Any, bytes]:
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._stream.send(encode(call, number=number, content=content))
            received = await waiting
        except asyncio.CancelledError:
            await self.notify(ForgetCall(number))
            raise
        finally:
            del self._waiting[number]
        answer = received.parse()
        if not isinstance(answer, Refused):
            return answer, bytes(received.content)
        if answer.category is None:
            raise CallFailed(answer.message)
        raise DeviceFailure(answer.category, answer.message)

    async def notify(self, note: Note) -> None:
        """Send what needs no answer."""
        await self._stream.send(encode(note))

    def close(self) -> None:
        self._stream.close()

    def receive(self, answer: RawMessage) -> None:
        """Give the answer to the call that waits for it, if it still does."""
        waiting = self._waiting.get(answer.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


class WorkerDevices:
    """The port `Devices`: the device that the worker has acquired for the attempt, whose session the worker ends."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def acquire(self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None) -> Device:
        acquired: DeviceAcquired = await self._link.call(AcquireDevice())
        return attach(acquired.handle, build, seed, self._note_change)

    async def _note_change(self, change: DeviceChange) -> None:
        await self._link.call(NoteDeviceChange(change))

    async def release(self, device: Device) -> None:
        await detach(device)


class WorkerFiles:
    """The port `FlowFiles`: the files with these paths, which the worker has."""

    def __init__(self, link: WorkerLink, paths: Collection[str]) -> None:
        self._link = link
        self._paths = frozenset(paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    async def read(self, path: str) -> bytes:
        return await self._link.read_file(path)


class WorkerBaselines:
    """The port `AcceptedBaselines` of the automation; the worker knows the organisation and the test."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def load(self, name: str, form: str) -> bytes | None:
        return await self._link.load_baseline(name, form)


class WorkerEvidence:
    """The port `EvidenceStore`."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        kept: EvidenceKept = await self._link.call(KeepEvidence(name, content_type), content)
        return kept.size


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
            await self._link.notify(ReportProgress(tuple(changed), tuple(artifacts), len(steps)))
            self._reported = steps
            self._reports += 1
            self._next = now + max(0, self._reports - UNHURRIED_REPORTS) * PAUSE_SECONDS
        await asyncio.sleep(0)


class WorkerStepCache:
    """The port `StepCacheStore`; the worker knows the organisation."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def load(self, key: str) -> CachedSentence | None:
        loaded: SentenceLoaded = await self._link.call(LoadSentence(key))
        return loaded.sentence

    async def add(self, key: str, org_id: str, entry: CacheEntry) -> None:
        await self._link.call(AddEntry(key, entry))

    async def set_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None:
        await self._link.call(SetPlan(key, tuple(plan)))

    async def remove(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        await self._link.call(RemoveEntries(key, tuple(screens)))


class WorkerModels:
    """The port `ChatModel`; the worker keeps the key, and counts what models cost."""

    def __init__(self, link: WorkerLink, names: LlmConfig) -> None:
        self._link = link
        self.endpoint = ModelEndpoint(base_url="", models=names)

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        answer: ModelAnswered = await self._link.call(AskModel(request))
        budget.spent = answer.usage
        if answer.reply is None:
            raise ModelFailed(answer.category, answer.message)
        return answer.reply


class WorkerHuman:
    """The port `Human`."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def ask(self, question: HumanQuestion) -> str | None:
        answer: HumanAnswered = await self._link.call(AskHuman(question))
        return answer.text


class WorkerHttp:
    """The http module of scripts: the worker decides which hosts may be called."""

    def __init__(self, link: WorkerLink) -> None:
        self._link = link

    async def send(self, request: HttpRequest) -> HttpResponse:
        try:
            answer: RequestAnswered = await self._link.call(SendRequest(request))
        except CallFailed as failed:
            raise HttpFailed(f"not available here: {failed}") from failed
        if answer.response is None:
            raise HttpFailed(answer.message)
        return answer.response
