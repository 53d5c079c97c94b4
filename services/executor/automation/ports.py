"""What the runner needs besides a device: a model to ask, a memory of actions, a place for evidence."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.elements import Element
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Step


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
    """The action to take: on which element, with which value."""

    action: Action
    element: Element | None = None
    value: str | None = None


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


class StepCache(Protocol):
    """Remembers which action carried out a sentence on a screen."""

    async def recall(self, app: str, sentence: str, look: Look) -> Answer | None:
        """The action for this screen, with the element as it is there now."""

    async def remember(self, app: str, sentence: str, tree: Element, answer: Answer) -> None: ...


class NoCache:
    """Remembers nothing."""

    async def recall(self, app: str, sentence: str, look: Look) -> Answer | None:
        return None

    async def remember(self, app: str, sentence: str, tree: Element, answer: Answer) -> None:
        return None


class Evidence(Protocol):
    """Where screenshots go."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store under a name that is unique within the run; may raise: a verdict does not depend on it."""


class NoEvidence:
    """Keeps nothing."""

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        return None


Progress = Callable[[Sequence[Step]], Awaitable[None]]
"""Told after each step all the steps so far; an exception from it ends the attempt."""
