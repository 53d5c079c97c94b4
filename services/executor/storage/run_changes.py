"""Changes of runs: those that arrive during a transaction share the next one.

A majority commit costs about the same for one change as for thirty; without load a change never waits.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime

from pymongo.errors import PyMongoError

from services.chassis.batcher import Batcher
from services.chassis.context import Caller
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.mongo import TRANSACTION_SECONDS, Session
from services.chassis.mongo_errors import as_unavailable
from services.executor.model.changes import Change
from services.executor.model.runs import Run

GROUP_LIMIT = 64
# How long a group is retried after conflicts before it is split.
GROUP_SECONDS = 0.5

# A function of `model.lifecycle`: the run and the database's clock -> the changed run.
Transition = Callable[[Run, datetime], Run]

# Checks the unchanged run inside the transaction; raises when the transition is not allowed. The number is how many
# more runs of the organisation the same transaction has leased already.
Guard = Callable[[Session, Run, int], Awaitable[None]]

_ANYBODY = Caller(org_id="")


@dataclass(frozen=True, slots=True, eq=False)
class RunChange:
    """A change of one run to make. `context` is that of the caller."""

    execution_id: str
    run_id: str
    transition: Transition
    guard: Guard | None = None
    context: Context = field(default_factory=copy_context)


Outcomes = Mapping[RunChange, Change | Exception]

# Makes the changes in one transaction, which is retried for so many seconds: a change that is refused does not affect
# the others. Raises, with none of them made, when the transaction fails.
Commit = Callable[[Sequence[RunChange], float], Awaitable[Outcomes]]


class RunChangeGroups:
    """Commits changes in groups, one group at a time and one change of a run in each.

    A group that fails is split by execution. Each part goes on beside the next groups, which leave out its execution.
    So one whose document other processes change at the same time, or a change that cannot be stored, delays no others.
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._runs: KeyedLocks[str] = KeyedLocks()
        self._together: Batcher[RunChange, Change | None] = Batcher(
            self._commit_group, max_in_flight=1, max_items=GROUP_LIMIT, turns=1, finishes=True
        )
        # A queue for each execution.
        self._apart: Batcher[RunChange, Change] = Batcher(
            lambda changes: commit(changes, TRANSACTION_SECONDS),
            max_in_flight=1,
            max_items=GROUP_LIMIT,
            turns=1,
            splits=lambda error: as_unavailable(error) is None,
            finishes=True,
        )

    async def make(self, change: RunChange) -> Change:
        """Returns when the change is durable; raises why it was refused, or why it could not be stored."""
        async with self._runs[change.run_id]:
            made = await self._together.get(_ANYBODY, change)
            return made or await self._apart.get(_ANYBODY, change, queue=change.execution_id)

    async def _commit_group(self, group: Sequence[RunChange]) -> Mapping[RunChange, Change | Exception | None]:
        """None for a change to make apart."""
        changes = [change for change in group if not self._apart.is_busy(change.execution_id)]
        outcomes: Outcomes = {}
        if changes:
            try:
                outcomes = await self._commit(changes, GROUP_SECONDS)
            except Exception as error:
                # Of several changes it is unknown which one failed, and a conflict says nothing about a change: both go
                # on apart.
                if len(changes) == 1 and not _is_conflict(error):
                    outcomes = {changes[0]: error}
        return {**dict.fromkeys(group), **outcomes}


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, PyMongoError) and error.has_error_label("TransientTransactionError")
