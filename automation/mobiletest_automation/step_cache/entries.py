"""What the step cache stores: entries as plain values, and the port of their store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.screen.locators import Locator
from mobiletest_automation.sentences.intents import Action

# For how many screens a sentence has entries; the oldest is dropped first.
SCREENS_LIMIT = 20


@dataclass(frozen=True, slots=True)
class RelativePoint:
    """A point in shares of the screen, whose width over height was `aspect`."""

    x: float
    y: float
    aspect: float


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """Where in the sentence a value stands: typed texts are never stored."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEntry:
    """What carried out a sentence on a screen. The names of the fields are stored.

    `value` is one of our keywords (up, enter), `span` is where the author's value stands in the sentence. `content` is
    a hash of all texts of the screen, where the choice may have depended on them; `wording` one of their words in
    order, without numbers, where it depended on the order. `ruled` says that the rules choose the same target: the
    entry is valid as long as they do.
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
    """The entries for a sentence, the newest first; of a goal, the sentences that reach it."""

    entries: tuple[CacheEntry, ...] = ()
    plan: tuple[str, ...] = ()


class StepCacheStore(Protocol):
    """Stores cached sentences by keys for a limited time. May raise anything when it is unavailable."""

    async def load(self, key: str) -> CachedSentence | None: ...

    async def add(self, key: str, org_id: str, entry: CacheEntry) -> None:
        """Put the entry first and remove one with an equal screen; at most SCREENS_LIMIT stay."""

    async def set_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None: ...

    async def remove(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        """Remove the plan, and the entries with these very screens."""


def recording_names(sentence: str, count: int) -> tuple[str, ...]:
    """The names under which the actions of a sentence are stored, when it took several."""
    return tuple(f"{sentence} (action {number} of {count})" for number in range(1, count + 1))
