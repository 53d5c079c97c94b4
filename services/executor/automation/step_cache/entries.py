"""What the step cache keeps, as values that can be stored, and the port of what stores them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.executor.automation.screen.fingerprint import ScreenFingerprint
from services.executor.automation.screen.locators import Locator
from services.executor.automation.sentences.intents import Action

SCREENS_LIMIT = 20
"""How many screens a sentence may have been carried out on; the oldest is forgotten first."""


@dataclass(frozen=True, slots=True)
class RelativePoint:
    """A point in shares of the screen, whose width over height was `aspect`."""

    x: float
    y: float
    aspect: float


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """Where in the sentence a value stands: what was typed is never stored."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """What carried out a sentence on a screen. `value` is a word of ours (up, enter), `span` one of the sentence's.

    `content` is a hash of all that the screen said, where the answer may have depended on it; `wording` one of its
    words in their order, without numbers, where it depended on what stands beside what. `ruled` says that the rules
    alone chose the target: it holds as long as they would again.
    """

    screen: ScreenFingerprint
    action: Action
    target: Locator | None = None
    spot: RelativePoint | None = None
    value: str | None = None
    span: SentenceSpan | None = None
    content: str | None = None
    wording: str | None = None
    ruled: bool = False


@dataclass(frozen=True, slots=True)
class CachedSentence:
    """All that is kept for a sentence: answers, the newest first, and the steps of a plan if it is a goal."""

    memories: tuple[CacheEntry, ...] = ()
    plan: tuple[str, ...] = ()


class StepCacheStore(Protocol):
    """Keeps pages by keys, at most SCREENS_LIMIT memories each, for a while. May raise anything when it is away."""

    async def page(self, key: str) -> CachedSentence | None: ...

    async def keep(self, key: str, org_id: str, memory: CacheEntry) -> None:
        """Put it first, in the place of one of the very same screen."""

    async def keep_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None: ...

    async def drop(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        """Forget the plan, and what is kept of these very screens."""
