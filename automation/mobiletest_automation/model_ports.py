"""What running a test needs of language models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.intents import Intent


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
        """The next action on this screen, given what came of the last one.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """


class PlanningDialog(Protocol):
    """A conversation about one goal."""

    async def next(self, view: ScreenView, happened: str) -> NextSteps | GoalReached | CannotContinue:
        """What to do next, given what came of the last steps.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """


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
        """Whether the sentence was carried out, by the screens before and after.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """

    async def check_assertion(self, assertion: str, view: ScreenView) -> Judgement:
        """Whether the assertion is true of the screen.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """

    async def find_defects(self, view: ScreenView) -> Sequence[str]:
        """The defects of the screen, each in a sentence."""

    async def extract_text(self, query: str, view: ScreenView) -> str | None:
        """What the query asks for, as it is on the screen; None if it is not there."""

    def take_transcript(self) -> Transcript:
        """What was said since this was called last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How models are asked in an attempt; `app_prompt` is what the app's author says of the app. Models see `secrets`
    masked, and what they want to type is unmasked.
    """

    config: LlmConfig
    app_prompt: str | None
    vision: bool
    grid: bool
    secrets: SecretTexts


class ModelQuota(Protocol):
    """What organisations may ask of models each day."""

    async def start_call(self, org_id: str, estimate: int) -> None:
        """Count a call of about `estimate` tokens.

        Raises:
            ModelFailed: beyond a daily limit (llm_budget_exceeded).
        """

    def add_tokens(self, org_id: str, tokens: int) -> None:
        """Count the tokens of a call at its end."""


class ModelProvider(Protocol):
    """The language models of a deployment."""

    def open_session(self, options: ModelOptions) -> ModelSession:
        """For one attempt."""
