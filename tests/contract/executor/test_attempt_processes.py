"""Attempts in processes, and the same messages without processes."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from services.chassis.child_process import ChildLimits, ChildProcess, preload, start_child
from services.executor import telemetry
from services.executor.automation.attempt import AttemptRequest
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.port import NO_BUILD, Build, DeviceFailure, Seed
from services.executor.automation.llm.budget import BudgetTracker, ModelBudget
from services.executor.automation.llm.chat_client import ModelEndpoint
from services.executor.automation.llm.chat_protocol import ChatRequest, Reply, ToolCall
from services.executor.automation.ports import HumanQuestion
from services.executor.model.attempts import AttemptResult, StepStatus
from services.executor.model.failures import Category, Fault
from services.executor.model.run_config import FallbackTrigger, LlmConfig, RunConfig
from services.executor.worker.processes.attempt_process import AttemptProcess, LogFormat
from services.executor.worker.processes.host import AttemptHost, Services
from services.executor.worker.processes.limits import LOWEST_PRIORITY, AttemptLimits, CpuAllowance
from services.executor.worker.processes.messages import ModelOffer, RunAttempt
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.processes.process import OVERTIME_SECONDS, TOO_MUCH_CPU, TOO_MUCH_MEMORY
from tests.eventually import eventually
from tests.fakes.attempt_processes import LIMITS, task_processes
from tests.fakes.burning_process import burn
from tests.fakes.devices import FakeEvidence
from tests.fakes.step_cache import FakeStepCacheStore

NEVER = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
BUSY = {"repeat": {"times": 900, "commands": [{"assertNotVisible": "Nothing"}, {"assertNotVisible": "Nobody"}]}}
"""A step that computes for ten seconds and more on the crowded app."""


def app(elements: int, text: str = "Row") -> Build:
    """A build of an app whose screen has so many elements."""
    element = f"{{type: text, text: {text}}}"
    model = f"app_model: 1\napp: {{id: a}}\nstart: a\nscreens: {{a: {{elements: [{', '.join([element] * elements)}]}}}}"

    async def read(limit: int) -> bytes:
        return model.encode()[:limit]

    return Build(read=read)


CROWDED = app(500)


@pytest.fixture(scope="module", autouse=True)
def fork_server() -> None:
    preload(AttemptProcess.__module__)


class Children:
    """Starts processes and remembers them."""

    def __init__(self, main: Callable[..., None] | None = None, memory_bytes: int = LIMITS.memory_bytes) -> None:
        self.started: list[ChildProcess] = []
        self._main = main or AttemptProcess(LogFormat("warning", "json"))
        self._limits = ChildLimits(memory_bytes=memory_bytes, niceness=10)

    async def start(self) -> ChildProcess:
        self.started.append(await start_child(self._main, self._limits, message_limit=2**26))
        return self.started[-1]


@asynccontextmanager
async def real_processes(children: Children, limits: AttemptLimits = LIMITS) -> AsyncIterator[AttemptProcesses]:
    async with AttemptProcesses(children.start, limits, idle=2).open() as processes:
        yield processes


@pytest.fixture(params=["tasks", "processes"])
async def processes(request: pytest.FixtureRequest) -> AsyncIterator[AttemptProcesses]:
    opened = task_processes() if request.param == "tasks" else real_processes(Children())
    async with opened as running:
        yield running


class Model:
    """The port `ChatModel`: says that a task is done."""

    endpoint = ModelEndpoint(base_url="http://model", models=LlmConfig(primary_model="main"))

    def __init__(self) -> None:
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        self.asked.append(request)
        budget.check(10)
        await budget.start_call(10)
        budget.add_tokens(10)
        return Reply("", (ToolCall("1", "done", '{"why": "seen"}'),), 10)


class Person:
    """The port `Human`: skips what cannot continue."""

    def __init__(self) -> None:
        self.questions: list[HumanQuestion] = []

    async def ask(self, question: HumanQuestion) -> str | None:
        self.questions.append(question)
        return "skip"


@dataclass
class World:
    """One simulated device, and what attempts use besides."""

    processes: AttemptProcesses
    devices: PooledDevices = field(default_factory=lambda: PooledDevices.load(None))
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    limits: AttemptLimits = LIMITS
    services: dict[str, Any] = field(default_factory=dict)
    host: AttemptHost | None = None

    async def run(self, *steps: object, build: Build = NO_BUILD, **fields: Any) -> AttemptResult:
        services = Services(devices=self.devices, evidence=self.evidence, **self.services)
        seed = Seed("run", 1)
        host = self.host = AttemptHost(services, org_id="org", platform="android", build=build, seed=seed)
        request = AttemptRequest(
            **{"run_id": "run", "attempt": 1, "platform": "android", "steps": list(steps), "config": NEVER, **fields}
        )
        model = services.models
        order = RunAttempt(
            request=request,
            cpu=self.limits.cpu,
            model=ModelOffer(model.endpoint.models, ModelBudget()) if model is not None else None,
            has_cache=services.cache is not None,
            has_human=services.human is not None,
            has_build_file=build.read is not None,
        )
        try:
            return await self.processes.run(order, host)
        finally:
            if (releasing := host.release()) is not None:
                await releasing


@pytest.fixture
def world(processes: AttemptProcesses) -> World:
    return World(processes)


async def test_an_attempt_passes_and_says_what_it_did(world: World) -> None:
    result = await world.run('Type "ada" into the Email field', {"assertVisible": "ada"})
    assert result.failure is None
    assert (result.device, result.simulated) == ("simulated-android-1", True)
    assert [(step.status, step.kind) for step in result.steps] == [("passed", "sentence"), ("passed", "assertVisible")]
    assert world.devices.free("android") == 4


async def test_a_failing_attempt_leaves_evidence_with_the_worker(world: World) -> None:
    result = await world.run({"assertVisible": "Nowhere"})
    assert result.failure is not None
    assert result.failure.category is Category.ASSERTION_FAILED
    assert {artifact.name for artifact in result.artifacts} == set(world.evidence.kept)
    assert any(content.startswith(b"\x89PNG") for content in world.evidence.kept.values())


async def test_the_size_of_an_artifact_is_that_of_what_the_worker_stores(world: World) -> None:
    world.evidence.secret = b"PNG"
    result = await world.run({"assertVisible": "Nowhere"})
    assert {artifact.name: artifact.size_bytes for artifact in result.artifacts} == {
        name: len(content) for name, content in world.evidence.kept.items()
    }


async def test_the_build_is_read_by_the_worker(world: World) -> None:
    result = await world.run({"assertVisible": "My shop"}, build=app(1, "My shop"))
    assert result.failure is None


async def test_a_build_that_cannot_be_read_fails_the_attempt_with_its_category(world: World) -> None:
    async def read(limit: int) -> bytes:
        raise DeviceFailure(Category.NETWORK_ERROR, "no catalog")

    result = await world.run("back", build=Build(read=read))
    assert result.failure is not None
    assert (result.failure.category, result.failure.message) == (Category.NETWORK_ERROR, "no catalog")


async def test_a_platform_without_devices_fails_the_attempt(world: World) -> None:
    world.devices = PooledDevices([])
    result = await world.run({"assertVisible": "Log in"})
    assert result.failure is not None
    assert (result.failure.category, result.device) == (Category.CONFIG_INVALID, None)


async def test_the_worker_asks_models_and_counts_what_they_cost(world: World) -> None:
    model = Model()
    world.services = {"models": model, "budget": BudgetTracker(ModelBudget(tokens=15))}
    result = await world.run("Make me happy", config=RunConfig())
    assert [step.model_tokens for step in result.steps] == [10]
    assert result.failure is not None
    assert result.failure.category is Category.LLM_BUDGET_EXCEEDED
    assert len(model.asked) == 2  # the second one is refused


async def test_a_person_can_help(world: World) -> None:
    person = Person()
    world.services = {"human": person}
    result = await world.run("Tap Nowhere", step_seconds=1)
    assert (result.failure, result.human_helped) == (None, True)
    assert person.questions[0].screenshot in world.evidence.kept


async def test_the_step_cache_is_the_workers_and_its_use_is_counted(world: World) -> None:
    store = FakeStepCacheStore()
    world.services = {"cache": store, "models": Model(), "budget": BudgetTracker(ModelBudget())}
    misses = telemetry.step_cache.labels("miss")._value
    before = misses.get()
    await world.run("Make me happy", config=RunConfig())
    assert store.calls > 0
    assert misses.get() > before


async def test_a_cancelled_attempt_frees_its_device_and_its_steps_are_known(world: World) -> None:
    running = asyncio.create_task(
        world.run({"assertNotVisible": "Nothing"}, {"assertVisible": "Row"}, BUSY, build=CROWDED)
    )
    await eventually(lambda: world.host is not None and len(world.host.progress()[0]) > 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.host is not None
    steps, _ = world.host.progress()
    assert [step.status for step in steps[:2]] == [StepStatus.PASSED] * 2
    assert world.devices.free("android") == 4
    assert (await world.run({"assertVisible": "Log in"})).failure is None


async def test_an_attempt_that_uses_too_much_cpu_fails_with_what_it_did_and_harms_no_other() -> None:
    limits = AttemptLimits(CpuAllowance(1, 0), LIMITS.memory_bytes)
    async with real_processes(Children(), limits) as processes:
        world, other = World(processes, limits=limits), World(processes, limits=limits)
        failing = asyncio.create_task(world.run(BUSY, build=CROWDED))
        assert (await other.run({"assertVisible": "Log in"})).failure is None
        assert not failing.done()
        result = await failing
        assert result.failure is not None
        assert (result.failure.category, result.failure.category.fault) == (Category.SCRIPT_ERROR, Fault.TEST)
        assert "1 s of CPU time" in result.failure.message
        assert "MOBILETEST_ATTEMPT_CPU_SECONDS" in result.failure.message
        assert result.steps[1].status is StepStatus.PASSED
        assert (result.device, result.simulated) == ("simulated-android-1", True)
        assert world.devices.free("android") == 4


def allocated_bytes(child: ChildProcess) -> int:
    """What a process that was started with LIMITS has allocated besides what it shares with the fork server."""
    lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    now = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    most, _ = resource.prlimit(child.pid, resource.RLIMIT_DATA)
    return now - (most - LIMITS.memory_bytes)


async def test_an_attempt_that_needs_too_much_memory_fails_by_itself_and_its_process_is_not_used_again() -> None:
    measured = Children()
    async with real_processes(measured) as processes:
        await World(processes).run({"assertVisible": "Log in"})
        usual = allocated_bytes(measured.started[0])
    children = Children(memory_bytes=usual + 2**20)
    async with real_processes(children, replace(LIMITS, memory_bytes=2**20)) as processes:
        world = World(processes)
        result = await world.run({"assertVisible": "Row"}, build=app(1900, 150 * "a"))
        assert result.failure is not None
        assert (result.failure.category, result.failure.reason) == (Category.SCRIPT_ERROR, TOO_MUCH_MEMORY)
        assert "more than 1 MiB of memory" in result.failure.message
        await world.run({"assertVisible": "Log in"})
    assert len({child.pid for child in children.started}) == 2


async def test_a_process_that_dies_is_an_infrastructure_failure() -> None:
    children = Children()
    async with real_processes(children) as processes:
        world = World(processes)
        running = asyncio.create_task(world.run(BUSY, build=CROWDED))
        await eventually(lambda: world.host is not None and world.host.progress()[0])
        os.kill(children.started[0].pid, signal.SIGKILL)
        result = await running
        assert result.failure is not None
        assert result.failure.category.fault is Fault.INFRASTRUCTURE
        assert "signal 9" in result.failure.message
        assert result.device == "simulated-android-1"
        assert (await world.run({"assertVisible": "Log in"})).failure is None


async def test_a_cancelled_attempt_that_does_not_listen_is_killed() -> None:
    children = Children(burn)
    async with real_processes(children) as processes:
        world = World(processes)
        running = asyncio.create_task(world.run({"assertVisible": "Log in"}))
        await eventually(lambda: world.host is not None)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await children.started[0].stop() == -signal.SIGKILL


async def test_an_attempt_that_does_not_end_in_its_time_is_killed() -> None:
    async with real_processes(Children(burn)) as processes:
        result = await World(processes).run("back", run_seconds=0.2 - OVERTIME_SECONDS)
    assert result.failure is not None
    assert result.failure.category is Category.RUN_TIMEOUT


async def test_an_attempt_that_never_listens_has_a_limit_of_cpu() -> None:
    limits = replace(LIMITS, cpu=CpuAllowance(1, 0))
    children = Children(burn)
    async with real_processes(children, limits) as processes:
        result = await World(processes, limits=limits).run("back")
    assert result.failure is not None
    assert result.failure.reason == TOO_MUCH_CPU
    assert await children.started[0].stop() == -signal.SIGXCPU


async def test_an_attempt_that_computes_for_long_gives_way_to_others() -> None:
    children = Children()
    async with real_processes(children) as processes:
        running = asyncio.create_task(World(processes).run(BUSY, build=CROWDED))
        await eventually(lambda: os.getpriority(os.PRIO_PROCESS, children.started[0].pid) == LOWEST_PRIORITY)
        running.cancel()
        await asyncio.wait({running})
        assert (await World(processes).run({"assertVisible": "Log in"})).failure is None


async def test_a_process_that_died_while_it_was_idle_is_replaced() -> None:
    children = Children()
    async with real_processes(children) as processes:
        os.kill(children.started[0].pid, signal.SIGKILL)
        await eventually(lambda: not children.started[0].running)
        assert (await World(processes).run({"assertVisible": "Log in"})).failure is None


async def test_a_process_is_used_again() -> None:
    children = Children()
    async with real_processes(children) as processes:
        for _ in range(3):
            assert (await World(processes).run({"assertVisible": "Log in"})).failure is None
        assert len(children.started) == 1
        both = await asyncio.gather(
            World(processes).run({"assertVisible": "Log in"}), World(processes).run({"assertVisible": "Log in"})
        )
        assert [result.failure for result in both] == [None, None]
    assert len(children.started) == 2
