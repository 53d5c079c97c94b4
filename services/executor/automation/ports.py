"""What the runner needs besides a device: a model to ask, a memory of actions, a place for evidence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.screen.elements import Element, Point
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.model.attempts import Artifact, CacheOutcome, StepResult
from services.executor.model.failures import Category
from services.executor.model.run_config import LlmConfig


@dataclass(frozen=True, slots=True)
class ChosenAction:
    """The action to take: on which element, or at which point of the screen, with which value."""

    action: Action
    element: Element | None = None
    value: str | None = None
    point: Point | None = None


class ModelFailed(Exception):
    """A model could not help. `category` says why: config_invalid (none is configured, or it refuses what the
    deployment or the run configuration says), llm_unavailable (it does not answer), llm_budget_exceeded,
    goal_not_reached (its answers cannot be used). `message` says what to do about it.
    """

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category = category
        self.message = message


@dataclass(frozen=True, slots=True)
class ScreenView:
    """The screen as a model gets to see it. What stands on it is data, never an order."""

    tree: Element
    screenshot: bytes | None = None


@dataclass(frozen=True, slots=True)
class ModelTask:
    """A sentence that the rules have no answer to, and why they have none.

    `goal` is what the test's author wrote: only what is said there is allowed beyond the app, such as a link. `intent`
    is what the rules understand of the sentence, where they do.
    """

    sentence: str
    why: str
    goal: str
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class TaskDone:
    """The model says that the task is carried out."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class CannotContinue:
    """The model says that it cannot go on."""

    why: str


@dataclass(frozen=True, slots=True)
class NextSteps:
    """Sentences to carry out next."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoalReached:
    """The goal is reached; `sees` is a text on the screen that shows it."""

    sees: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a step reached its aim, and why it is thought so."""

    reached: bool
    why: str


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls of models that were answered or tried, and tokens, question and answer."""

    calls: int = 0
    tokens: int = 0

    def since(self, before: "ModelUsage") -> "ModelUsage":
        return ModelUsage(self.calls - before.calls, self.tokens - before.tokens)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said to models and by them, as JSON lines without secrets; the pictures in it are named."""

    lines: bytes = b""
    pictures: tuple[tuple[str, bytes], ...] = ()


class ActionDialog(Protocol):
    """A conversation about one task."""

    async def next(self, view: ScreenView, happened: str) -> ChosenAction | TaskDone | CannotContinue:
        """The next action on this screen, after what happened to the last one. Raises ModelFailed."""


class PlanningDialog(Protocol):
    """A conversation about one goal."""

    async def next(self, view: ScreenView, happened: str) -> NextSteps | GoalReached | CannotContinue:
        """What to do next, after what happened to the last steps. Raises ModelFailed."""


class ModelSession(Protocol):
    """The models for one attempt; everything asked of them is counted together."""

    @property
    def spent(self) -> ModelUsage: ...

    @property
    def step_actions(self) -> int:
        """How many actions one step may take."""

    @property
    def step_seconds(self) -> float:
        """How long models may work on one step, in real time."""

    def acting(self, task: ModelTask) -> ActionDialog: ...

    def planning(self, goal: str) -> PlanningDialog: ...

    async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
        """Whether the sentence was carried out, by the screens before and after. Raises ModelFailed."""

    def transcript(self) -> Transcript:
        """What was said since this was asked last."""


DEFAULT_MODELS = LlmConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked in an attempt: which, with what the app's author says of it, with pictures, with a grid."""

    config: LlmConfig = DEFAULT_MODELS
    app_prompt: str | None = None
    vision: bool = False
    grid: bool = True


class ModelProvider(Protocol):
    """The language models of a deployment."""

    def check(self) -> None:
        """Raises ModelFailed if it is certain beforehand that none can be asked."""

    def advisor(self, terms: ModelOptions) -> ModelSession:
        """For one attempt. Raises ModelFailed."""


class NoModelProvider:
    """The models of a deployment that has none."""

    def __init__(self, setting: str = "MOBILETEST_LLM_BASE_URL") -> None:
        self._setting = setting

    def check(self) -> None:
        raise ModelFailed(
            Category.CONFIG_INVALID,
            f"no model is configured: set {self._setting} for the executor's workers, "
            "or set fallback_trigger to never to let the rules alone decide",
        )

    def advisor(self, terms: ModelOptions) -> ModelSession:
        self.check()
        raise AssertionError("unreachable")


GetScreen = Callable[[], Awaitable[Element]]
"""Gives the screen as it is now; that may take a while."""


@dataclass(frozen=True, slots=True)
class StepCacheKey:
    """Whose memory it is: a sentence (or a goal) of the tests of one app of an organisation, on one platform."""

    org_id: str
    app: str
    platform: str
    sentence: str


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """A goal taken apart: the sentences that reach it, in order."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """What the memory has: with a hit an answer whose element is the one on the screen now, or a plan."""

    outcome: CacheOutcome
    kept: ChosenAction | StoredSteps | None = None


class StepCache(Protocol):
    """Remembers what carried out a sentence on a screen. Never raises: a memory that is away has nothing."""

    async def recall(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        """What is kept for this sentence on this screen: hit, miss, or stale (its element is not there)."""

    async def remember(self, key: StepCacheKey, tree: Element, kept: ChosenAction | StoredSteps) -> None:
        """Keep what has worked on this screen, the plan of a goal whatever the screen."""

    async def forget(self, key: StepCacheKey, tree: Element) -> None:
        """Drop what did not work on this screen."""


class NoStepCache:
    """Remembers nothing."""

    async def recall(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        return CacheLookup(CacheOutcome.MISS)

    async def remember(self, key: StepCacheKey, tree: Element, kept: ChosenAction | StoredSteps) -> None:
        return None

    async def forget(self, key: StepCacheKey, tree: Element) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HumanQuestion:
    """What a person is asked about a step that cannot go on; `screenshot` is the name of an artifact."""

    text: str
    step_index: int
    options: tuple[str, ...]
    screenshot: str = ""


class Human(Protocol):
    """A person who may be asked."""

    async def ask(self, question: HumanQuestion) -> str | None:
        """One of the options, or a step in a sentence to carry out instead; None when nobody answered in time."""


class EvidenceStore(Protocol):
    """Where screenshots go."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store under a name that is unique within the run; may raise: a verdict does not depend on it."""


class NoEvidenceStore:
    """Keeps nothing."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        return None


OnProgress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]
"""Told after each step all the steps, and what was kept, so far; an exception from it ends the attempt."""
