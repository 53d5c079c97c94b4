"""How far a verify or rebuild job has come: values that outlive the process.

A job folds the history into a generation of its own (replaying), compares it with the serving one (comparing), then
drops it (verify) or lets it serve and drops the other one (rebuild; swapping).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum


class JobKind(StrEnum):
    """The two kinds of job."""

    VERIFY = "verify"
    REBUILD = "rebuild"


class Phase(StrEnum):
    """What a job is doing."""

    REPLAYING = "replaying"
    COMPARING = "comparing"
    SWAPPING = "swapping"
    DONE = "done"


class ReplaySource(StrEnum):
    """What is replayed, in this order: three lists of facts, then the runs that retention took out of the lists."""

    CATALOG = "catalog"
    EXECUTIONS = "executions"
    RUNS = "runs"
    EXPIRED = "expired"


REPLAY_SOURCES = tuple(ReplaySource)
# The first stage of a comparison: the serving generation has to fold what the replay has read already.
CATCHING_UP = "catching up"


@dataclass(frozen=True, slots=True)
class JobState:
    """A job. `stage` is the source being replayed or the collection being compared, `token` how far that has come.

    `done` counts the facts or documents of the phase, `totals` estimates them by stage. `differences` counts all
    differences, `unreadable` the facts that cannot be folded.
    """

    operation: JobKind
    generation: int
    began_at: datetime
    phase: Phase = Phase.REPLAYING
    stage: str = REPLAY_SOURCES[0]
    token: str = ""
    done: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    differences: int = 0
    unreadable: int = 0
    swapped_at: datetime | None = None

    @property
    def total(self) -> int:
        """The estimated facts or documents of the phase, never less than `done`."""
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
    """The state after a step, and the differences that it found.

    `behind` is the consumer lag when the comparison began although no consumer made progress.
    """

    state: JobState
    found: tuple[Difference, ...] = ()
    behind: int = 0


def after_replay(state: JobState, facts: int, *, token: str, total: int) -> JobState:
    """The state after `facts` more were folded; an empty token ends the source."""
    state = replace(state, done=state.done + facts, token=token, totals={**state.totals, state.stage: total})
    if token:
        return state
    remaining = REPLAY_SOURCES[REPLAY_SOURCES.index(ReplaySource(state.stage)) + 1 :]
    if remaining:
        return replace(state, stage=remaining[0])
    return replace(state, phase=Phase.COMPARING, stage=CATCHING_UP, done=0, totals={})


def begin_comparison(state: JobState, collections: Mapping[str, int]) -> JobState:
    """The serving generation has caught up: compare these collections, with about so many documents."""
    return replace(state, stage=next(iter(collections)), totals=dict(collections))


def after_comparison(state: JobState, documents: int, differences: int, *, token: str) -> JobState:
    """The state after a page; an empty token ends the collection, and the last collection ends the phase."""
    state = replace(state, done=state.done + documents, differences=state.differences + differences, token=token)
    if token:
        return state
    collections = list(state.totals)
    remaining = collections[collections.index(state.stage) + 1 :]
    if remaining:
        return replace(state, stage=remaining[0])
    return finished(state) if state.operation is JobKind.VERIFY else replace(state, phase=Phase.SWAPPING, stage="")


def finished(state: JobState) -> JobState:
    """Only generations that are no longer needed remain to be dropped."""
    return replace(state, phase=Phase.DONE, stage="")
