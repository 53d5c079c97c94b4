"""What a worker does for an attempt in another process: devices, storage, models and people."""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from mobiletest_automation.devices.handles import DeviceHandle, handle_of, note_change
from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure, DeviceInfo, Devices, OnSession, Seed
from mobiletest_automation.evidence.recorder import (
    ARTIFACT_BYTES_LIMIT,
    ARTIFACTS_LIMIT,
    kind_of,
)
from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.llm.conversation import ChatModel
from mobiletest_automation.model.baseline_keys import baseline_key, is_baseline_key
from mobiletest_automation.model.devices import DeviceChange
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model_ports import ModelUsage
from mobiletest_automation.ports import EvidenceStore, Human, ScreenStore
from mobiletest_automation.scripting.http import SendHttp
from mobiletest_automation.step_cache.entries import StepCacheStore
from services.chassis import metrics
from services.chassis.errors import Unavailable
from services.executor.model.screens import CONTENT_TYPES, SCREEN_BYTES
from services.executor.worker.processes.messages import (
    AttemptPorts,
    FinishAttempt,
    RawMessage,
    ReportProgress,
    UnknownMessage,
)
from services.executor.worker.processes.remote_ports import PortServer, functions_of

# Reports of progress of one attempt.
REPORTS_LIMIT = 20_000
# Characters, of which the worker makes a key.
BASELINE_NAME_LIMIT = 2**20
# Trees and pictures of screens of one attempt, and their bytes.
SCREENS_LIMIT, SCREENS_BYTES_LIMIT = 4_500, 64 * 1024 * 1024
TOO_MANY_SCREENS = f"the attempt has {SCREENS_LIMIT} screens already"
TOO_MANY_BYTES = f"the screens of the attempt have more than {SCREENS_BYTES_LIMIT // 1024**2} MiB"
TOO_LARGE = f"it has more than {SCREEN_BYTES // 1024**2} MiB"
_HASH = re.compile("[0-9a-f]{32}", re.ASCII)
# Everything that an attempt can call.
FUNCTIONS: Final = functions_of(AttemptPorts)

# Loads a baseline of the attempt's test by its key.
LoadsBaseline: TypeAlias = Callable[[str], Awaitable[bytes | None]]

# Reads a file of the attempt's test. DeviceFailure.
ReadsFile: TypeAlias = Callable[[], Awaitable[bytes]]


class StoredEvidence:
    """The port `EvidenceStore`: counts what the attempt stores, whatever its process says."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self._stored: dict[str, Artifact] = {}

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        others = {other: artifact for other, artifact in self._stored.items() if other != name}
        used = sum(artifact.size_bytes for artifact in others.values())
        if len(others) >= ARTIFACTS_LIMIT or used + len(content) > ARTIFACT_BYTES_LIMIT or "/" in name:
            raise UnknownMessage(
                "the artifact cannot be stored: the attempt has too many, or its name is not a file name"
            )
        earlier = self._stored.get(name)
        stored = self._stored[name] = Artifact(name, kind_of(name, content_type), content_type, len(content))
        try:
            size = await self._store.keep(name, content, content_type)
        except Exception:
            self._stored = others if earlier is None else {**others, name: earlier}
            raise
        self._stored[name] = replace(stored, size_bytes=size)
        return size

    def list_artifacts(self, reported: Sequence[Artifact]) -> tuple[Artifact, ...]:
        """The artifacts that are stored: those that the attempt has reported, then those that it could not."""
        known = {artifact.name: artifact for artifact in reported if artifact.name in self._stored}
        listed = {**known, **{name: stored for name, stored in self._stored.items() if name not in known}}
        sizes = {name: stored.size_bytes for name, stored in self._stored.items()}
        return tuple(replace(artifact, size_bytes=sizes[name]) for name, artifact in listed.items())


class AttemptScreens:
    """The port `ScreenStore`: counts what the attempt stores, whatever its process says."""

    def __init__(self, store: ScreenStore) -> None:
        self._store = store
        self._hashes: set[str] = set()
        self._bytes = 0

    async def picture_of(self, state: str) -> str:
        self._check_state(state)
        return await self._store.picture_of(state)

    async def has(self, hash: str, state: str = "") -> bool:
        self._check_state(state)
        return self._counts(hash) and await self._store.has(hash, state)

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        self._check_state(state)
        if content_type not in CONTENT_TYPES:
            raise UnknownMessage("a screen has no such content type")
        if not self._counts(hash):
            return TOO_MANY_SCREENS
        if len(content) > SCREEN_BYTES:
            return TOO_LARGE
        if self._bytes + len(content) > SCREENS_BYTES_LIMIT:
            return TOO_MANY_BYTES
        self._bytes += len(content)
        return await self._store.keep(hash, content, content_type, state)

    def _check_state(self, state: str) -> None:
        if state and _HASH.fullmatch(state) is None:
            raise UnknownMessage("a screen has no such state")

    def _counts(self, hash: str) -> bool:
        """Whether it is one of those that the attempt may have."""
        if _HASH.fullmatch(hash) is None:
            raise UnknownMessage("a screen has no such hash")
        if hash not in self._hashes and len(self._hashes) >= SCREENS_LIMIT:
            return False
        self._hashes.add(hash)
        return True


class AttemptModels:
    """The port `CountedModels`, within the budget of an attempt."""

    def __init__(self, client: ChatModel, budget: BudgetTracker) -> None:
        self._client = client
        self._budget = budget

    async def ask(self, request: ChatRequest) -> Reply:
        return await self._client.ask(request, self._budget)

    async def usage(self) -> ModelUsage:
        return self._budget.spent


class AttemptBaselines:
    """The port `AcceptedBaselines`, of the attempt's test."""

    def __init__(self, load: LoadsBaseline) -> None:
        self._load = load

    async def load(self, name: str, form: str) -> bytes | None:
        key = baseline_key(name, form) if len(name) <= BASELINE_NAME_LIMIT else ""
        if not is_baseline_key(key):
            raise UnknownMessage("a baseline has no such key")
        try:
            return await self._load(key)
        except (Unavailable, TimeoutError) as error:
            message = "the baseline cannot be loaded: the artifact store is not available"
            raise DeviceFailure(Category.NETWORK_ERROR, message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an attempt may use; None is not available. `files` are by their paths."""

    devices: Devices
    evidence: EvidenceStore
    cache: StepCacheStore | None = None
    models: AttemptModels | None = None
    human: Human | None = None
    baselines: LoadsBaseline | None = None
    files: Mapping[str, ReadsFile] = field(default_factory=dict)
    http: SendHttp | None = None
    screens: ScreenStore | None = None
    on_session: OnSession | None = None


class AttemptHost:
    """Answers the calls of one attempt, and holds its device until the attempt has ended in whatever way."""

    def __init__(self, services: Services, *, org_id: str, platform: str, build: AppUnderTest, seed: Seed) -> None:
        self._services = services
        self._platform = platform
        self._build = build
        self._seed = seed
        self._device: Device | None = None
        self._reports: deque[RawMessage] = deque()
        self._reported_steps: dict[int, StepResult] = {}
        self._reported_artifacts: Sequence[Artifact] = ()
        # How often there was something new to show.
        self.changes = 0
        self._received = 0
        self.evidence = StoredEvidence(services.evidence)
        ports = AttemptPorts(
            acquire_device=self.acquire_device,
            note_change=self.note_change,
            evidence=self.evidence,
            read_file=self.read_file,
            read_build=build.read,
            baselines=AttemptBaselines(services.baselines) if services.baselines is not None else None,
            cache=services.cache,
            models=services.models,
            human=services.human,
            send_http=services.http,
            screens=AttemptScreens(services.screens) if services.screens is not None else None,
        )
        self.server = PortServer(FUNCTIONS, ports, {"org_id": org_id})

    async def acquire_device(self) -> DeviceHandle:
        if self._device is not None:
            raise UnknownMessage("an attempt has one device")
        self._device = await self._services.devices.acquire(
            self._platform, self._build, self._seed, on_session=self._services.on_session
        )
        self.changes += 1
        return handle_of(self._device)

    async def note_change(self, change: DeviceChange) -> None:
        if self._device is None:
            raise UnknownMessage("the attempt has no device")
        await note_change(self._device, change)

    async def read_file(self, path: str) -> bytes:
        if path not in self._services.files:
            raise UnknownMessage("the test has no such file")
        return await self._services.files[path]()

    def report(self, progress: RawMessage) -> None:
        """Remember a report of progress, which is read only if somebody may look, or without a result at the end."""
        if self._received >= REPORTS_LIMIT:
            raise UnknownMessage("too many reports")
        self._received += 1
        self.changes += 1
        self._reports.append(progress)

    def finish(self, finished: FinishAttempt) -> AttemptResult | None:
        """The result, if there is one, with the artifacts that are stored."""
        metrics.add_counts(finished.counts)
        result = finished.result
        return None if result is None else replace(result, artifacts=self.evidence.list_artifacts(result.artifacts))

    @property
    def device(self) -> DeviceInfo | None:
        """The attempt's device; None before it has one, and after its end."""
        return self._device.info if self._device is not None else None

    @property
    def unread_bytes(self) -> int:
        """The size of the reports that `progress` would read."""
        return sum(len(report.body) for report in self._reports)

    def progress(self) -> tuple[Sequence[StepResult], Sequence[Artifact]]:
        """The steps that were reported, and the artifacts that are stored.

        Raises:
            UnknownMessage: a report is malformed.
        """
        while self._reports:
            parsed = self._reports[0].parse(ReportProgress)
            steps = self._reported_steps | {step.index: step for step in parsed.steps}
            self._reported_steps = {index: step for index, step in steps.items() if index < parsed.count}
            self._reported_artifacts = parsed.artifacts
            self._reports.popleft()
        steps = self._reported_steps
        return [steps[index] for index in sorted(steps)], self.evidence.list_artifacts(self._reported_artifacts)

    def early_end(self, failure: Failure) -> AttemptResult:
        """The result of an attempt that cannot tell its own."""
        steps, artifacts = self.progress()
        device = self.device
        return AttemptResult(
            failure=failure,
            device=device.name if device is not None else None,
            simulated=device.simulated if device is not None else None,
            steps=tuple(steps),
            artifacts=tuple(artifacts),
        )

    def release(self) -> asyncio.Task[None] | None:
        """Close the device, in the background."""
        device, self._device = self._device, None
        if device is None:
            return None
        return asyncio.create_task(self._services.devices.release(device), name=f"release {device.info.name}")
