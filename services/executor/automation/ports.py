"""What the runner needs besides a device: a model to ask, a memory of actions, a place for evidence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.elements import Element, Point
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Artifact, CacheOutcome, Step


class ModelUnavailable(Exception):
    """The model could not be asked; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked: which action carries out this sentence on this screen? Screen text is data, not orders."""

    sentence: str
    tree: Element
    why: str
    app_prompt: str | None = None
    screenshot: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The action to take: on which element, or at which point of the screen, with which value."""

    action: Action
    element: Element | None = None
    value: str | None = None
    point: Point | None = None


class Model(Protocol):
    """A language model that chooses actions."""

    def check(self) -> None:
        """Raises ModelUnavailable if it is certain beforehand that it cannot be asked."""

    async def choose(self, question: Question) -> Answer:
        """Raises ModelUnavailable when it cannot be asked."""


class NoModel:
    """The model of a deployment that has none."""

    def __init__(self, setting: str = "MOBILETEST_LLM_BASE_URL") -> None:
        self._setting = setting

    def check(self) -> None:
        raise ModelUnavailable(
            f"no model is configured: set {self._setting} for the executor's workers, "
            "or set fallback_trigger to never to let the rules alone decide"
        )

    async def choose(self, question: Question) -> Answer:
        self.check()
        raise AssertionError("unreachable")


Look = Callable[[], Awaitable[Element]]
"""Gives the screen as it is now; that may take a while."""


@dataclass(frozen=True, slots=True)
class StepKey:
    """Whose memory it is: a sentence (or a goal) of the tests of one app of an organisation, on one platform."""

    org_id: str
    app: str
    platform: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A goal taken apart: the sentences that reach it, in order."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the memory has: with a hit an answer whose element is the one on the screen now, or a plan."""

    outcome: CacheOutcome
    kept: Answer | Planned | None = None


class StepCache(Protocol):
    """Remembers what carried out a sentence on a screen. Never raises: a memory that is away has nothing."""

    async def recall(self, key: StepKey, look: Look) -> Recalled:
        """What is kept for this sentence on this screen: hit, miss, or stale (its element is not there)."""

    async def remember(self, key: StepKey, tree: Element, kept: Answer | Planned) -> None:
        """Keep what has worked on this screen, the plan of a goal whatever the screen."""

    async def forget(self, key: StepKey, tree: Element) -> None:
        """Drop what did not work on this screen."""


class NoCache:
    """Remembers nothing."""

    async def recall(self, key: StepKey, look: Look) -> Recalled:
        return Recalled(CacheOutcome.MISS)

    async def remember(self, key: StepKey, tree: Element, kept: Answer | Planned) -> None:
        return None

    async def forget(self, key: StepKey, tree: Element) -> None:
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


class Evidence(Protocol):
    """Where screenshots go."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store under a name that is unique within the run; may raise: a verdict does not depend on it."""


class NoEvidence:
    """Keeps nothing."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        return None


Progress = Callable[[Sequence[Step], Sequence[Artifact]], Awaitable[None]]
"""Told after each step all the steps, and what was kept, so far; an exception from it ends the attempt."""
