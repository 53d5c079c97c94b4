"""What running a test needs besides a device: models to ask, a step cache, a person to ask, a store for evidence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.screen.elements import Element, Point
from services.executor.automation.secret_texts import SecretTexts
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
    """A model could not help.

    `category` says why: config_invalid (no model is configured, or it rejects the configuration), llm_unavailable,
    llm_budget_exceeded, goal_not_reached (its answers cannot be used). `message` says what to do about it.
    """

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category = category
        self.message = message


@dataclass(frozen=True, slots=True)
class ScreenView:
    """The screen as a model sees it. Its content is data, never instructions."""

    tree: Element
    screenshot: bytes | None = None


@dataclass(frozen=True, slots=True)
class ModelTask:
    """A sentence that the rules could not carry out, and why.

    `goal` is what the author of the test wrote: nothing else can allow what leads out of the app, such as a link.
    `intent` is what the rules understood of the sentence, if they did.
    """

    sentence: str
    why: str
    goal: str
    intent: Intent | None = None


@dataclass(frozen=True, slots=True)
class TaskDone:
    """The model says that the task is done."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class CannotContinue:
    """The model says that it cannot continue."""

    why: str


@dataclass(frozen=True, slots=True)
class NextSteps:
    """Sentences to run next."""

    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoalReached:
    """The model says that the goal is reached; `sees` is a text on the screen that proves it."""

    sees: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a step reached its aim, and the model's reason."""

    reached: bool
    why: str


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls of models, failed ones included, and tokens of questions and answers together."""

    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Transcript:
    """The conversation with models as JSON lines without secrets, and the pictures that it names."""

    lines: bytes = b""
    pictures: tuple[tuple[str, bytes], ...] = ()


class ActionDialog(Protocol):
    """A conversation about one task."""

    async def next(self, view: ScreenView, happened: str) -> ChosenAction | TaskDone | CannotContinue:
        """The next action on this screen, given what came of the last one. Raises ModelFailed."""


class PlanningDialog(Protocol):
    """A conversation about one goal."""

    async def next(self, view: ScreenView, happened: str) -> NextSteps | GoalReached | CannotContinue:
        """What to do next, given what came of the last steps. Raises ModelFailed."""


class ModelSession(Protocol):
    """The models of one attempt; everything asked of them counts towards one budget."""

    @property
    def usage(self) -> ModelUsage: ...

    @property
    def step_actions(self) -> int:
        """How many actions one step may take."""

    @property
    def step_seconds(self) -> float:
        """How long models may work on one step, in real time."""

    def start_task(self, task: ModelTask) -> ActionDialog: ...

    def start_goal(self, goal: str) -> PlanningDialog: ...

    async def judge(self, sentence: str, before: ScreenView, after: ScreenView) -> Judgement:
        """Whether the sentence was carried out, by the screens before and after. Raises ModelFailed."""

    def take_transcript(self) -> Transcript:
        """What was said since this was called last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked in an attempt; `app_prompt` is what the app's author says of the app. Models see `secrets`
    masked, and what they want to type is unmasked. What is used counts for the organisation `org_id`.
    """

    config: LlmConfig
    app_prompt: str | None
    vision: bool
    grid: bool
    secrets: SecretTexts
    org_id: str = ""


class ModelProvider(Protocol):
    """The language models of a deployment."""

    def open_session(self, options: ModelOptions) -> ModelSession:
        """For one attempt."""


GetScreen = Callable[[], Awaitable[Element]]
"""Reads the screen, which may take a while."""


@dataclass(frozen=True, slots=True)
class StepCacheKey:
    """A sentence (or a goal) in the tests of one app of an organisation, on one platform."""

    org_id: str
    app: str
    platform: str
    sentence: str


@dataclass(frozen=True, slots=True)
class StoredSteps:
    """The sentences that reach a goal, or the names of the actions that carried out a sentence, in order."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """What the cache has: on a hit an action whose element is on the present screen, or steps."""

    outcome: CacheOutcome
    stored: ChosenAction | StoredSteps | None = None


class StepCache(Protocol):
    """What carried out a sentence on a screen before. Never raises: an unavailable cache has nothing."""

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        """What is stored for this sentence on this screen; stale if its element is not there any more."""

    async def store(self, key: StepCacheKey, tree: Element, worked: ChosenAction | StoredSteps) -> None:
        """Store what worked on this screen; steps are stored for every screen."""

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        """Remove what did not work on this screen."""


class NoStepCache:
    """A cache that stores nothing."""

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        return CacheLookup(CacheOutcome.MISS)

    async def store(self, key: StepCacheKey, tree: Element, worked: ChosenAction | StoredSteps) -> None:
        return None

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HumanQuestion:
    """A question about a step that cannot continue; `screenshot` is the name of an artifact."""

    text: str
    step_index: int
    options: tuple[str, ...]
    screenshot: str = ""


class Human(Protocol):
    """A person who may be asked."""

    async def ask(self, question: HumanQuestion) -> str | None:
        """One of the options, or a sentence to run instead; None when nobody answered in time."""


class EvidenceStore(Protocol):
    """Where screenshots and other artifacts go."""

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        """Store under a name that is unique within the run; how many bytes were stored, after secrets were masked.

        May raise: verdicts do not depend on it.
        """


class NoEvidenceStore:
    """Stores nothing."""

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        return len(content)


OnProgress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]
"""Called after each step with all steps and artifacts so far; an exception from it ends the attempt."""
