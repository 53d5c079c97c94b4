"""Where an operation on the read models stands, and what becomes of that: values that survive the process.

An operation folds the history into a generation of its own (replaying), compares that with the one that serves
(comparing), and drops it (verify) or lets it serve and drops the other one (rebuild; swapping).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum


class Operation(StrEnum):
    """What operators ask for."""

    VERIFY = "verify"
    REBUILD = "rebuild"


class Phase(StrEnum):
    """What an operation is doing."""

    REPLAYING = "replaying"
    COMPARING = "comparing"
    SWAPPING = "swapping"
    DONE = "done"


class ReplaySource(StrEnum):
    """Where the history is read, in this order; the last is what retention has taken out of the lists."""

    CATALOG = "catalog"
    EXECUTIONS = "executions"
    RUNS = "runs"
    EXPIRED = "expired"


REPLAY_SOURCES = tuple(ReplaySource)
CATCHING_UP = "catching up"
"""The first place of a comparison: what serves has to fold what the replay has read before it was told."""


@dataclass(frozen=True, slots=True)
class JobState:
    """An operation. `place` is a source or a collection, `token` what was dealt with of it.

    `done` counts facts or documents of the phase, `totals` how many there are about, by place. `differences` counts
    all, `unreadable` facts that no event could have told.
    """

    operation: Operation
    generation: int
    began_at: datetime
    phase: Phase = Phase.REPLAYING
    place: str = REPLAY_SOURCES[0]
    token: str = ""
    done: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    differences: int = 0
    unreadable: int = 0
    swapped_at: datetime | None = None

    @property
    def total(self) -> int:
        """Of how many, about; never less than what is done."""
        return max(self.done, sum(self.totals.values()))


@dataclass(frozen=True, slots=True)
class Difference:
    """A document that is not what the history says; values as JSON, empty when missing. No field: all of it."""

    collection: str
    id: str
    field: str
    serving: str
    recounted: str


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Where an operation stands, and the differences found since the last time. `behind` are events that were told
    and not folded when the comparison began, though nobody folded anything any more."""

    state: JobState
    found: tuple[Difference, ...] = ()
    behind: int = 0


def after_replay(state: JobState, facts: int, *, token: str, total: int) -> JobState:
    """`facts` more were folded; an empty token ends the source."""
    state = replace(state, done=state.done + facts, token=token, totals={**state.totals, state.place: total})
    if token:
        return state
    following = REPLAY_SOURCES[REPLAY_SOURCES.index(ReplaySource(state.place)) + 1 :]
    if following:
        return replace(state, place=following[0])
    return replace(state, phase=Phase.COMPARING, place=CATCHING_UP, done=0, totals={})


def begin_comparison(state: JobState, collections: Mapping[str, int]) -> JobState:
    """The serving generation has caught up: compare these, with about so many documents."""
    return replace(state, place=next(iter(collections)), totals=dict(collections))


def after_comparison(state: JobState, documents: int, differences: int, *, token: str) -> JobState:
    """So many more were compared; an empty token ends the collection, and the last collection the phase."""
    state = replace(state, done=state.done + documents, differences=state.differences + differences, token=token)
    if token:
        return state
    places = list(state.totals)
    following = places[places.index(state.place) + 1 :]
    if following:
        return replace(state, place=following[0])
    return finished(state) if state.operation is Operation.VERIFY else replace(state, phase=Phase.SWAPPING, place="")


def finished(state: JobState) -> JobState:
    """Nothing is left to do but to drop what is no longer needed."""
    return replace(state, phase=Phase.DONE, place="")
