"""What verify and rebuild need: the history, the generations, and the progress of the consumers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from services.chassis.consumer_lag import Ends
from services.reporting.model.batch import Batch
from services.reporting.rebuild.state import Difference, JobKind, JobState, ReplaySource


class TakenOver(Exception):
    """Another process has taken the job over."""


@dataclass(frozen=True, slots=True)
class FactsPage:
    """A page of `facts` facts, `unreadable` of which can never be folded, and the token of the next page (empty: none).

    `total` estimates the facts of the source.
    """

    batch: Batch
    facts: int
    token: str
    total: int
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """How many documents of a page were compared, how they differ, and the token of the next page (empty: none)."""

    documents: int
    found: Sequence[Difference]
    token: str


class FactHistory(Protocol):
    """What executor and catalog know now, of all organisations: it includes everything that events said."""

    async def page(self, source: ReplaySource, token: str) -> FactsPage:
        """The facts after the token.

        Raises:
            DomainError: the other service refuses, or is not available.
        """


class RebuildStore(Protocol):
    """The state of the one job that runs at a time, and its generation.

    Every write is durable and atomic.

    Raises:
        TakenOver: by every write, once another process has taken the job over.
    """

    async def take_over(self) -> JobState | None:
        """Own the job from now on; its state, None when there is none to resume."""

    async def begin(self, operation: JobKind) -> JobState:
        """Start a job on a new generation, into which every event is folded from now on.

        An unfinished job is abandoned.
        """

    async def fold(self, state: JobState, batch: Batch) -> None:
        """Fold the batch into the generation, then save the state."""

    async def expire(self, state: JobState, limit: int) -> tuple[int, str]:
        """Of the next `limit` runs, take those that expired in the serving generation out of the lists of the new one.

        Gives how many these are, and the token of the next page (empty: none).
        """

    async def save(self, state: JobState, differences: Sequence[Difference] = ()) -> None:
        """Save the state, and differences to report."""

    async def finish(self, state: JobState, differences: Sequence[Difference] = ()) -> None:
        """Save the final state, fold into the serving generation only, and drop all others."""

    async def reported(self) -> Sequence[Difference]:
        """The differences that were saved."""

    async def sizes(self, state: JobState) -> Mapping[str, int]:
        """The collections, with the estimated number of their documents."""

    async def compare(self, state: JobState, limit: int) -> ComparisonPage:
        """Compare about `limit` documents after the token with the serving ones, in one snapshot."""

    async def differences(self, state: JobState, ids: Sequence[str]) -> Sequence[Difference]:
        """How these documents of the stage differ from the serving ones now."""

    async def inconsistencies(self, state: JobState) -> Sequence[Difference]:
        """Totals of the generation that contradict each other; there must be none, whatever is folded meanwhile."""

    async def swap(self, state: JobState) -> JobState:
        """Let the generation serve, atomically."""

    async def since_swap(self, state: JobState) -> timedelta:
        """The time since the swap, by the database's clock."""


class ConsumerProgress(Protocol):
    """How far the consumers of the events are."""

    async def ends(self) -> Ends:
        """The end offset of each partition of the topics."""

    async def behind(self, ends: Ends) -> int:
        """How many records before these ends are not processed yet."""
