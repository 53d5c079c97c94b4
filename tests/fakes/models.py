"""A scripted model and a step cache in memory, for tests of the automation."""

from collections.abc import Iterable, Sequence

from pydantic import SecretStr

from mobiletest_automation.llm.budget import BudgetTracker
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply, ToolCall
from mobiletest_automation.llm.settings import ModelEndpoint
from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.model_ports import (
    ActionDialog,
    CannotContinue,
    GoalReached,
    Judgement,
    ModelFailed,
    ModelOptions,
    ModelSession,
    ModelTask,
    ModelUsage,
    NextSteps,
    PlanningDialog,
    ScreenView,
    TaskDone,
    Transcript,
)
from mobiletest_automation.ports import CacheLookup, ChosenAction, GetScreen, StepCacheKey, StoredSteps
from mobiletest_automation.screen.elements import Element


class FakeModel:
    """Gives the answers in turn and then says that it is done; records what it was asked.

    It plans by `plans`, judges by `verdicts`, sees the defects and texts in `seen`, and takes a call of ten tokens for
    each answer.
    """

    def __init__(
        self,
        answers: Iterable[ChosenAction | TaskDone | CannotContinue | ModelFailed] = (),
        *,
        plans: Iterable[NextSteps | GoalReached | CannotContinue] = (),
        verdicts: Iterable[Judgement] = (),
        seen: Iterable[Sequence[str]] = (),
    ) -> None:
        self.answers = list(answers)
        self.plans = list(plans)
        self.verdicts = list(verdicts)
        self.seen = list(seen)
        self.tasks: list[ModelTask] = []
        self.reported: list[str] = []
        self.judged: list[str] = []
        self.options: list[ModelOptions] = []
        self.usage = ModelUsage()
        self.step_actions = 5
        self.step_seconds = 60.0

    def open_session(self, options: ModelOptions) -> ModelSession:
        self.options.append(options)
        return self

    def start_task(self, task: ModelTask) -> ActionDialog:
        self.tasks.append(task)
        return _FakeActing(self)

    def start_goal(self, goal: str) -> PlanningDialog:
        return _FakePlanning(self)

    async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
        self.call()
        self.judged.append(sentence)
        return self.verdicts.pop(0)

    async def check_assertion(self, assertion: str, view: ScreenView) -> Judgement:
        return await self.judge(assertion, view, view)

    async def find_defects(self, view: ScreenView) -> Sequence[str]:
        self.call()
        return self.seen.pop(0)

    async def extract_text(self, query: str, view: ScreenView) -> str | None:
        self.call()
        return next(iter(self.seen.pop(0)), None)

    def take_transcript(self) -> Transcript:
        return Transcript()

    def call(self) -> None:
        self.usage = ModelUsage(self.usage.calls + 1, self.usage.tokens + 10)


class _FakeActing:
    def __init__(self, model: FakeModel) -> None:
        self._model = model

    async def next(self, view: ScreenView, happened: str) -> ChosenAction | TaskDone | CannotContinue:
        self._model.call()
        self._model.reported.append(happened)
        answer = self._model.answers.pop(0) if self._model.answers else TaskDone()
        if isinstance(answer, ModelFailed):
            raise answer
        return answer


class _FakePlanning:
    def __init__(self, model: FakeModel) -> None:
        self._model = model

    async def next(self, view: ScreenView, happened: str) -> NextSteps | GoalReached | CannotContinue:
        self._model.call()
        self._model.reported.append(happened)
        return self._model.plans.pop(0)


class FakeCache:
    """Caches by sentence, with the element itself."""

    def __init__(self, kept: dict[str, ChosenAction | StoredSteps] | None = None) -> None:
        self.kept = kept or {}

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        kept = self.kept.get(key.sentence)
        return CacheLookup(CacheOutcome.MISS) if kept is None else CacheLookup(CacheOutcome.HIT, kept)

    async def store(self, key: StepCacheKey, tree: Element, kept: ChosenAction | StoredSteps) -> None:
        self.kept[key.sentence] = kept

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        self.kept.pop(key.sentence, None)


class ScriptedModel:
    """The client of a model that calls the tools in turn; `asked` are the requests."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.endpoint = ModelEndpoint(
            base_url="http://model", key=SecretStr("k"), models=LlmConfig(primary_model="sees")
        )
        self.calls = list(calls)
        self.asked: list[ChatRequest] = []

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        self.asked.append(request)
        name, arguments = self.calls.pop(0)
        return Reply("", (ToolCall("1", name, arguments),), 10)
