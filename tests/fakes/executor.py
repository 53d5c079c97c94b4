"""Fakes of the executor's ports: a catalog, limits, artifacts, scripted attempts."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import AttemptResult
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound, Unavailable
from services.executor.model.executions import BuildConfig, ExecutionKind, StartSubject, TestSelection
from services.executor.model.organisation_limits import UNLIMITED, OrganisationLimits
from services.executor.model.runs import ResolvedRuns, RunPlan, RunTarget
from services.executor.ports.baselines import TestKey
from services.executor.ports.executions import PlanTooLarge
from services.executor.ports.runs import Claim, Progress


def plan(name: str = "Log in", *, platform: Platform | None = Platform.ANDROID, config_error: str = "") -> RunPlan:
    """A plan with one step, and its own test, app and build."""
    target = RunTarget(
        test_id=str(uuid4()),
        test_name=name,
        test_version_number=1,
        platform=platform,
        app_id=str(uuid4()),
        app_name="Shop",
        build_id=str(uuid4()),
        resolved_build_version="1.0",
        build_uploaded_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    return RunPlan(target=target, steps=('Tap "Log in"', {"tapOn": {"id": "ok"}}), config_error=config_error)


class FakeCatalog:
    """Resolves what was added with `add`; anything else is NotFound.

    `files` are those of builds by their ids, and those of tests by their SHA-256.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[ExecutionKind, str], ResolvedRuns] = {}
        self.files: dict[str, bytes] = {}
        # Of every organisation.
        self.limits = UNLIMITED
        # The ids of what has a large plan.
        self.large: set[str] = set()
        self.reads = 0
        # Errors of the next reads of files and secrets.
        self.outages: list[Exception] = []
        self.secrets: dict[str, str] = {}

    def add(self, resolved: ResolvedRuns) -> str:
        """The id of a workflow, or of a test when the answer names no workflow."""
        kind = ExecutionKind.WORKFLOW if resolved.workflow_id else ExecutionKind.TEST
        subject_id = resolved.workflow_id or resolved.plans[0].target.test_id
        self._known[kind, subject_id] = resolved
        return subject_id

    def workflow(self, *plans: RunPlan, max_parallel: int | None = None) -> str:
        """The id of a new workflow with these runs."""
        return self.add(
            ResolvedRuns(workflow_id=str(uuid4()), workflow_name="Nightly", max_parallel=max_parallel, plans=plans)
        )

    async def resolve(
        self,
        subject: StartSubject,
        build_config: BuildConfig,
        *,
        override_build_config: bool,
        large: bool = False,
    ) -> ResolvedRuns:
        if subject.tests:
            return replace(self._several(subject.tests), limits=self.limits)
        if (subject.kind, subject.id) not in self._known:
            raise NotFound(f"{subject.kind.capitalize()} not found")
        if subject.id in self.large and not large:
            raise PlanTooLarge
        return replace(self._known[subject.kind, subject.id], limits=self.limits)

    def _several(self, tests: Sequence[TestSelection]) -> ResolvedRuns:
        resolutions = [self._known[ExecutionKind.TEST, test.test_id] for test in tests]
        return ResolvedRuns(plans=tuple(plan for resolved in resolutions for plan in resolved.plans))

    async def organisation_limits(self) -> OrganisationLimits:
        return self.limits

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        self.reads += 1
        if self.outages:
            raise self.outages.pop(0)
        if build_id not in self.files:
            raise NotFound("Build not found")
        return self.files[build_id][:limit]

    async def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        self.reads += 1
        if self.outages:
            raise self.outages.pop(0)
        if build_id not in self.files:
            raise NotFound("Build not found")
        content = self.files[build_id]
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]

    async def download_test_file(self, org_id: str, sha256: str) -> AsyncIterator[bytes]:
        async for chunk in self.download(org_id, sha256):
            yield chunk

    async def secret_values(self, org_id: str, names: Collection[str]) -> Mapping[str, str]:
        if self.outages:
            raise self.outages.pop(0)
        return {name: value for name, value in self.secrets.items() if name in names}


class FakeExistingTests:
    """The catalog has these tests; `error` is raised instead of an answer."""

    def __init__(self, *tests: TestKey) -> None:
        self.tests = set(tests)
        self.error: Exception | None = None

    async def existing_tests(self, org_id: str, test_ids: Collection[str]) -> Collection[str]:
        if self.error is not None:
            raise self.error
        return [test_id for test_id in test_ids if TestKey(org_id, test_id) in self.tests]


class FakeConfirmedLimits:
    """Every organisation has these limits, unless the catalog is `away`."""

    def __init__(self, limits: OrganisationLimits = UNLIMITED) -> None:
        self.limits = limits
        self.away = False

    async def confirmed_limits(self, org_id: str) -> OrganisationLimits:
        if self.away:
            raise Unavailable("The catalog is away")
        return self.limits


class FakeLimitsSource:
    """Every organisation has these limits."""

    def __init__(self, limits: OrganisationLimits = UNLIMITED) -> None:
        self.limits = limits

    async def get(self, org_id: str) -> OrganisationLimits:
        return self.limits


class FakeArtifacts:
    """Artifacts in memory; every write raises `down` if set."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, int, str], bytes] = {}
        self.down: Exception | None = None

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        if self.down:
            raise self.down
        self.kept[run_id, attempt, name] = content

    async def read(self, run_id: str, attempt: int, name: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        if (run_id, attempt, name) not in self.kept:
            raise NotFound("Object not found")
        content = self.kept[run_id, attempt, name]
        yield content if part is None else content[part.start : part.end]

    def object_key(self, run_id: str, attempt: int, name: str) -> str:
        return f"{run_id}/{attempt}/{name}"


class FakeAttempts:
    """Attempts with the given `results`, one after the other (then passing), that block until `release` is set."""

    def __init__(self, *results: AttemptResult | Exception, devices: int = 100, blocking: bool = False) -> None:
        self.results = list(results)
        self.devices = devices
        self.left_by_others: int | None = None
        self.settled: list[int] = []
        self.release = asyncio.Event()
        if not blocking:
            self.release.set()
        self.refused_orgs: set[str] = set()
        self.begun: list[Claim] = []
        self.cancelled: list[Claim] = []

    def reset(self, *results: AttemptResult | Exception, blocking: bool = False) -> None:
        """Forget the attempts so far, and end those that block."""
        self.release.set()
        self.results = list(results)
        self.begun, self.cancelled = [], []
        if blocking:
            self.release = asyncio.Event()

    @property
    def platforms(self) -> Sequence[Platform]:
        return tuple(Platform)

    def accepts(self, platform: Platform, org_id: str) -> bool:
        return org_id not in self.refused_orgs

    def places(self, platform: Platform) -> int:
        return self.devices

    async def reserve(self, platform: Platform, runs: int) -> int:
        return min(runs, self.devices if self.left_by_others is None else self.left_by_others)

    def settle(self, platform: Platform, runs: int) -> None:
        self.settled.append(runs)

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        self.begun.append(claim)
        try:
            await self.release.wait()
            result = self.results.pop(0) if self.results else AttemptResult(device="phone-1", simulated=True)
        except asyncio.CancelledError:
            self.cancelled.append(claim)
            raise
        if isinstance(result, Exception):
            raise result
        return result
