"""What a worker does for an attempt in another process: devices, storage, models and people."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mobiletest_automation.devices.handles import DeviceHandle, handle_of, note_change
from mobiletest_automation.devices.port import Build, Device, DeviceFailure, Devices, OnSession, Seed
from mobiletest_automation.evidence.recorder import (
    ARTIFACT_BYTES_LIMIT,
    ARTIFACTS_LIMIT,
    kind_of,
)
from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import ChatRequest
from mobiletest_automation.llm.conversation import ChatModel
from mobiletest_automation.model.baseline_keys import is_baseline_key
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model_ports import ModelFailed
from mobiletest_automation.ports import EvidenceStore, Human
from mobiletest_automation.scripting.http import HttpFailed, HttpRequest, SendHttp
from mobiletest_automation.step_cache.entries import StepCacheStore
from services.chassis import metrics
from services.chassis.errors import Unavailable
from services.executor.worker.processes.messages import (
    AcquireDevice,
    AddEntry,
    Answer,
    AskHuman,
    AskModel,
    BaselineLoaded,
    CacheChange,
    DeviceAcquired,
    Done,
    EvidenceKept,
    FinishAttempt,
    HumanAnswered,
    InvalidMessage,
    KeepEvidence,
    LoadBaseline,
    LoadSentence,
    ModelAnswered,
    NoteDeviceChange,
    RawMessage,
    ReadBuild,
    ReadFile,
    RemoveEntries,
    RequestAnswered,
    SendRequest,
    SentenceLoaded,
    SetPlan,
)

REPORTS_LIMIT = 20_000
"""Reports of progress of one attempt."""


LoadsBaseline: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Loads a baseline of the attempt's test by its key."""

ReadsFile: TypeAlias = Callable[[], Awaitable[bytes]]
"""Reads a file of the attempt's test. DeviceFailure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an attempt may use; None is not available. `budget` is that of `models`, `files` are by their paths."""

    devices: Devices
    evidence: EvidenceStore
    cache: StepCacheStore | None = None
    models: ChatModel | None = None
    budget: BudgetTracker | None = None
    human: Human | None = None
    baselines: LoadsBaseline | None = None
    files: Mapping[str, ReadsFile] = field(default_factory=dict)
    http: SendHttp | None = None
    on_session: OnSession | None = None


class AttemptHost:
    """Answers the calls of one attempt, and holds its device until the attempt has ended in whatever way."""

    def __init__(self, services: Services, *, org_id: str, platform: str, build: Build, seed: Seed) -> None:
        self._services = services
        self._org_id = org_id
        self._platform = platform
        self._build = build
        self._seed = seed
        self._device: Device | None = None
        self._reports: list[RawMessage] = []
        self._stored: dict[str, Artifact] = {}

    async def answer(self, call: object, content: bytes) -> tuple[Answer, bytes]:
        """The answer to a call. Raises DeviceFailure, InvalidMessage, and what storage raises."""
        services = self._services
        match call:
            case AcquireDevice():
                return DeviceAcquired(await self._acquire()), b""
            case NoteDeviceChange(change) if self._device is not None:
                await note_change(self._device, change)
            case ReadBuild(limit) if self._build.read is not None:
                return Done(), await self._build.read(limit)
            case ReadFile(path) if path in services.files:
                return Done(), await services.files[path]()
            case KeepEvidence(name, content_type):
                return EvidenceKept(await self._keep(name, content, content_type)), b""
            case LoadBaseline(key) if services.baselines is not None and is_baseline_key(key):
                picture = await _load_baseline(services.baselines, key)
                return BaselineLoaded(picture is not None), picture or b""
            case AskModel(request) if services.models is not None and services.budget is not None:
                return await _ask(services.models, services.budget, request), b""
            case AskHuman(question) if services.human is not None:
                return HumanAnswered(await services.human.ask(question)), b""
            case SendRequest(request) if services.http is not None:
                return await _send(services.http, request), b""
            case LoadSentence(key) if services.cache is not None:
                return SentenceLoaded(await services.cache.load(key)), b""
            case AddEntry() | SetPlan() | RemoveEntries() if services.cache is not None:
                await self._change_cache(services.cache, call)
            case _:
                raise InvalidMessage(f"{type(call).__name__} is not available")
        return Done(), b""

    async def _keep(self, name: str, content: bytes, content_type: str) -> int:
        """Store an artifact; its size. What the attempt has stored is counted here, whatever its process says."""
        others = {other: artifact for other, artifact in self._stored.items() if other != name}
        used = sum(artifact.size_bytes for artifact in others.values())
        if len(others) >= ARTIFACTS_LIMIT or used + len(content) > ARTIFACT_BYTES_LIMIT or "/" in name:
            raise InvalidMessage("the artifact cannot be stored: the attempt has too many, or its name is no file's")
        earlier = self._stored.get(name)
        stored = self._stored[name] = Artifact(name, kind_of(name, content_type), content_type, len(content))
        try:
            size = await self._services.evidence.keep(name, content, content_type)
        except Exception:
            self._stored = others if earlier is None else {**others, name: earlier}
            raise
        self._stored[name] = replace(stored, size_bytes=size)
        return size

    def _listed(self, reported: Sequence[Artifact]) -> tuple[Artifact, ...]:
        """The artifacts that are stored: those that the attempt has reported, then those that it could not."""
        known = {artifact.name: artifact for artifact in reported if artifact.name in self._stored}
        listed = {**known, **{name: each for name, each in self._stored.items() if name not in known}}
        return tuple(replace(each, size_bytes=self._stored[name].size_bytes) for name, each in listed.items())

    async def _change_cache(self, cache: StepCacheStore, change: CacheChange) -> None:
        match change:
            case AddEntry(key, entry):
                await cache.add(key, self._org_id, entry)
            case SetPlan(key, plan):
                await cache.set_plan(key, self._org_id, plan)
            case RemoveEntries(key, screens):
                await cache.remove(key, screens)

    async def _acquire(self) -> DeviceHandle:
        if self._device is not None:
            raise InvalidMessage("an attempt has one device")
        self._device = await self._services.devices.acquire(
            self._platform, self._build, self._seed, on_session=self._services.on_session
        )
        return handle_of(self._device)

    def report(self, progress: RawMessage) -> None:
        """Remember a report of progress, which is read only if the attempt ends without a result."""
        if len(self._reports) >= REPORTS_LIMIT:
            raise InvalidMessage("too many reports")
        self._reports.append(progress)

    def finish(self, finished: FinishAttempt) -> AttemptResult | None:
        """The result, if there is one, with the artifacts that are stored."""
        metrics.add_counts(finished.counts)
        result = finished.result
        return None if result is None else replace(result, artifacts=self._listed(result.artifacts))

    def progress(self) -> tuple[Sequence[StepResult], Sequence[Artifact]]:
        """The steps that were reported, and the artifacts that are stored."""
        steps: dict[int, StepResult] = {}
        artifacts: Sequence[Artifact] = ()
        for report in self._reports:
            parsed = report.parse()
            steps |= {step.index: step for step in parsed.steps}
            steps = {index: step for index, step in steps.items() if index < parsed.count}
            artifacts = parsed.artifacts
        return [steps[index] for index in sorted(steps)], self._listed(artifacts)

    def early_end(self, failure: Failure) -> AttemptResult:
        """The result of an attempt that cannot tell its own."""
        steps, artifacts = self.progress()
        info = self._device.info if self._device is not None else None
        return AttemptResult(
            failure=failure,
            device=info.name if info is not None else None,
            simulated=info.simulated if info is not None else None,
            steps=tuple(steps),
            artifacts=tuple(artifacts),
        )

    def release(self) -> asyncio.Task[None] | None:
        """Close the device, in the background."""
        device, self._device = self._device, None
        if device is None:
            return None
        return asyncio.create_task(self._services.devices.release(device), name=f"release {device.info.name}")


async def _load_baseline(load: LoadsBaseline, key: str) -> bytes | None:
    try:
        return await load(key)
    except (Unavailable, TimeoutError) as error:
        message = "the baseline cannot be loaded: the artifact store is not available"
        raise DeviceFailure(Category.NETWORK_ERROR, message) from error


async def _send(send: SendHttp, request: HttpRequest) -> RequestAnswered:
    try:
        return RequestAnswered(await send(request))
    except HttpFailed as failed:
        return RequestAnswered(None, str(failed))


async def _ask(models: ChatModel, budget: BudgetTracker, request: ChatRequest) -> ModelAnswered:
    try:
        reply = await models.ask(request, budget)
    except ModelFailed as failed:
        return ModelAnswered(None, budget.spent, failed.category, failed.message)
    return ModelAnswered(reply, budget.spent)
