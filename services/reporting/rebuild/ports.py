"""What operations on the read models need: the history, the generations, the broker's offsets, and a turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from services.reporting.model.batch import Batch
from services.reporting.rebuild.state import Difference, JobState, Operation, ReplaySource


@dataclass(frozen=True, slots=True)
class FactsPage:
    """Some of the history, `facts` in number, and the token that leads behind it; empty: there is no more.

    `unreadable` of them could never be folded. `total` is how many facts the source has, about.
    """

    batch: Batch
    facts: int
    token: str
    total: int
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """What a page of a collection came to: documents looked at, and those that differ. An empty token: no more."""

    documents: int
    differing: Sequence[str]
    token: str


class FactHistory(Protocol):
    """What executor and catalog know now, of all organisations: whatever was told before is in it."""

    async def page(self, source: ReplaySource, token: str) -> FactsPage:
        """The facts behind the token. Errors of the other service, and Unavailable, pass through."""


class RebuildStore(Protocol):
    """One operation at a time on the generations. Every write fails with Aborted once somebody else has taken over.

    All writes are durable when they return, and take effect wholly or not at all.
    """

    async def take_over(self) -> JobState | None:
        """From now on the operation is ours; where it stands, None when there is none that could go on."""

    async def begin(self, operation: Operation) -> JobState:
        """A new operation on a new generation; one that was under way is abandoned."""

    async def prepare(self, state: JobState) -> None:
        """Make the collections of its generation, and have every event folded into them from now on."""

    async def fold(self, state: JobState, batch: Batch) -> None:
        """Fold the batch into the generation, then remember that the operation stands there."""

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        """Of the next `limit` runs behind the token, take out of the generation's lists what retention took out of the
        serving one's; how many that were, and the token behind them all, empty when there are no more."""

    async def keep(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        """Remember where the operation stands, and differences to be told."""

    async def told(self) -> Sequence[Difference]:
        """The differences that were remembered."""

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        """The collections and how many documents each has, about."""

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        """Compare about `limit` documents behind the token with the serving ones, at one moment."""

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        """What differs now between these documents of the place and the serving ones."""

    async def discrepancies(self, state: JobState) -> Sequence[Difference]:
        """Sums of the generation that contradict each other; must be none, whatever is folded meanwhile."""

    async def swap(self, state: JobState) -> JobState:
        """Let the generation serve, all of it in one moment."""

    async def since_swap(self, state: JobState) -> timedelta:
        """How long ago that was, by the database's clock."""

    async def finish(self, state: JobState, found: Sequence[Difference] = ()) -> None:
        """Remember the end, with differences to be told, fold into the serving generation only, and drop all others."""


class ConsumerProgress(Protocol):
    """How far events were folded."""

    async def ends(self) -> Mapping[str, int]:
        """Where each partition of the topics ends."""

    async def behind(self, ends: Mapping[str, int]) -> int:
        """How many records before these ends the consumers have not dealt with."""
