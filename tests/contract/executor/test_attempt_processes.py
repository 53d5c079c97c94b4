"""Attempts in processes, and the same messages without processes."""

import asyncio
from dataclasses import replace

import pytest

from mobiletest_automation import telemetry
from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure
from mobiletest_automation.llm.budget import BudgetTracker, ModelBudget
from mobiletest_automation.llm.chat_client import ModelEndpoint
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply, ToolCall
from mobiletest_automation.model.baseline_keys import key_of_artifact
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.model.results import StepStatus
from mobiletest_automation.model.run_config import RunConfig
from mobiletest_automation.ports import HumanQuestion
from services.chassis.child_process import preload
from services.chassis.errors import Unavailable
from services.chassis.mongo import Mongo
from services.executor.storage.step_cache import MongoStepCache
from services.executor.worker.processes.attempt_process import AttemptProcess
from services.executor.worker.processes.host import AttemptModels, ReadsFile
from services.executor.worker.processes.pool import AttemptProcesses
from tests.contract.executor.attempt_worlds import BUSY, CROWDED, IN_BOTH, MODELS, AttemptWorld, app
from tests.eventually import eventually


@pytest.fixture(scope="module", autouse=True)
def fork_server() -> None:
    preload(AttemptProcess.__module__)


class Model:
    """The port `ChatModel`: says that a task is done."""

    endpoint = ModelEndpoint(base_url="http://model", models=MODELS)

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


@pytest.fixture
def world(processes: AttemptProcesses) -> AttemptWorld:
    return AttemptWorld(processes)


async def test_an_attempt_passes_and_says_what_it_did(world: AttemptWorld) -> None:
    result = await world.run('Type "ada" into the Email field', {"assertVisible": "ada"})
    assert result.failure is None
    assert (result.device, result.simulated) == ("simulated-android-1", True)
    assert [(step.status, step.kind) for step in result.steps] == [("passed", "sentence"), ("passed", "assertVisible")]
    assert world.devices.free("android") == 4


@IN_BOTH
async def test_a_failing_attempt_leaves_evidence_with_the_worker(world: AttemptWorld) -> None:
    world.evidence.secret = b"IEND"
    result = await world.run({"assertVisible": "Nowhere"})
    assert result.failure is not None
    assert result.failure.category is Category.ASSERTION_FAILED
    sizes = {name: len(content) for name, content in world.evidence.kept.items()}  # after secrets were masked
    assert {artifact.name: artifact.size_bytes for artifact in result.artifacts} == sizes
    assert any(content.startswith(b"\x89PNG") for content in world.evidence.kept.values())


async def test_a_baseline_is_loaded_by_the_worker(world: AttemptWorld) -> None:
    baselines: dict[str, bytes] = {}

    async def load(key: str) -> bytes | None:
        return baselines.get(key)

    world.services["baselines"] = load
    missing = await world.run({"assertScreenshot": "home"})
    assert missing.failure is not None
    assert missing.failure.message.startswith('there is no baseline "home.png" for android-')
    [kept] = [name for name in world.evidence.kept if name.endswith("-actual.png")]
    key = key_of_artifact(kept)
    assert key is not None
    baselines[key] = world.evidence.kept[kept]
    assert (await world.run({"assertScreenshot": {"path": "home", "thresholdPercentage": 100}})).failure is None


async def test_a_baseline_that_cannot_be_loaded_is_an_infrastructure_failure(world: AttemptWorld) -> None:
    async def load(key: str) -> bytes | None:
        raise Unavailable("the store is down")

    world.services["baselines"] = load
    result = await world.run({"assertScreenshot": {"path": "home", "optional": True}})
    assert result.failure is not None
    assert (result.failure.category, result.failure.category.fault) == (Category.NETWORK_ERROR, Fault.INFRASTRUCTURE)


async def test_files_of_the_test_are_read_by_the_worker(world: AttemptWorld) -> None:
    pictures = {"media/cat.png": b"cat"}

    async def load(key: str) -> None:
        return None

    def reader(path: str) -> ReadsFile:
        async def read() -> bytes:
            return pictures[path]

        return read

    world.services |= {"baselines": load, "files": {path: reader(path) for path in ("media/cat.png", "home.png")}}
    first = await world.run({"addMedia": ["media/cat.png"]}, {"takeScreenshot": "taken"})
    assert first.failure is None
    pictures["home.png"] = next(content for name, content in world.evidence.kept.items() if name.endswith("taken.png"))
    step = {"path": "home", "file": "home.png", "thresholdPercentage": 100}
    assert (await world.run({"assertScreenshot": step})).failure is None
    other = await world.run('Type "ada" into the Email field', {"assertScreenshot": step})
    assert other.failure is not None
    assert other.failure.reason == 'the screen differs from the baseline "home.png"'


async def test_an_unreadable_file_of_the_test_is_an_infrastructure_failure(world: AttemptWorld) -> None:
    async def read() -> bytes:
        raise DeviceFailure(Category.NETWORK_ERROR, "no catalog")

    world.services["files"] = {"cat.png": read}
    result = await world.run({"addMedia": {"files": ["cat.png"], "optional": True}})
    assert result.failure is not None
    assert (result.failure.category, result.failure.message) == (Category.NETWORK_ERROR, "no catalog")


@IN_BOTH
async def test_the_build_is_read_by_the_worker(world: AttemptWorld) -> None:
    result = await world.run("launchApp", {"assertVisible": "My shop"}, build=app(1, "My shop"))
    assert result.failure is None


@IN_BOTH
async def test_a_build_that_cannot_be_read_fails_the_attempt_with_its_category(world: AttemptWorld) -> None:
    async def read(limit: int) -> bytes:
        raise DeviceFailure(Category.NETWORK_ERROR, "no catalog")

    result = await world.run("back", build=AppUnderTest(read=read))
    assert result.failure is not None
    assert (result.failure.category, result.failure.message) == (Category.NETWORK_ERROR, "no catalog")


@IN_BOTH
async def test_the_worker_asks_models_and_counts_what_they_cost(world: AttemptWorld) -> None:
    model = Model()
    world.services = {"models": AttemptModels(model, BudgetTracker(ModelBudget(tokens=15)))}
    result = await world.run("Make me happy", config=RunConfig())
    assert [step.model_tokens for step in result.steps] == [10]
    assert result.failure is not None
    assert result.failure.category is Category.LLM_BUDGET_EXCEEDED
    assert len(model.asked) == 2  # the second one is refused


class Judge(Model):
    """Says that assertions are true."""

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        reply = await super().ask(request, budget)
        return replace(reply, calls=(ToolCall("1", "verdict", '{"outcome": "true", "why": "seen"}'),))


async def test_the_worker_asks_models_about_screens(world: AttemptWorld) -> None:
    model = Judge()
    world.services = {"models": AttemptModels(model, BudgetTracker(ModelBudget()))}
    result = await world.run({"assertWithAI": {"assertion": "It can be paid", "optional": False}})
    assert result.failure is None
    assert [(step.message, step.model_calls, step.model_tokens) for step in result.steps] == [("seen", 1, 10)]
    assert "data:image/png;base64," in str(model.asked[0].messages)
    assert {artifact.kind for artifact in result.artifacts} == {"screenshot", "transcript"}


async def test_a_recording_comes_from_the_attempts_process(world: AttemptWorld) -> None:
    result = await world.run({"startRecording": "all"}, "back", "inputRandomEmail")
    assert [artifact.kind for artifact in result.artifacts].count("recording") == 1
    assert world.evidence.kept["attempt-1-end-all.webp"].startswith(b"RIFF")


async def test_a_person_can_help(world: AttemptWorld) -> None:
    person = Person()
    world.services = {"human": person}
    result = await world.run("Tap Nowhere", step_seconds=1)
    assert (result.failure, result.human_helped) == (None, True)
    assert person.questions[0].screenshot in world.evidence.kept


@IN_BOTH
async def test_the_step_cache_is_the_workers_and_its_use_is_counted(world: AttemptWorld, mongo: Mongo) -> None:
    models = AttemptModels(Model(), BudgetTracker(ModelBudget()))
    world.services = {"cache": MongoStepCache(mongo, 30), "models": models}
    misses = telemetry.step_cache.labels("miss")._value
    before = misses.get()
    await world.run("Make me happy", config=RunConfig())
    assert misses.get() > before


@IN_BOTH
async def test_a_cancelled_attempt_frees_its_device_and_its_steps_are_known(world: AttemptWorld) -> None:
    running = asyncio.create_task(
        world.run("launchApp", {"assertNotVisible": "Nothing"}, {"assertVisible": "Row"}, BUSY, build=CROWDED)
    )
    await eventually(lambda: world.host is not None and len(world.host.progress()[0]) > 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert world.host is not None
    steps, _ = world.host.progress()
    assert [step.status for step in steps[:2]] == [StepStatus.PASSED] * 2
    assert world.devices.free("android") == 4
    assert (await world.run("launchApp", {"assertVisible": "Log in"})).failure is None
