"""Changes of runs: those that arrive during a transaction share the next one.

A majority commit costs about the same for one change as for thirty; without load a change never waits.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime

from pymongo.errors import PyMongoError

from services.chassis.errors import Unavailable
from services.chassis.mongo import TRANSACTION_SECONDS, Session
from services.executor.model.changes import Change
from services.executor.model.runs import Run

GROUP_LIMIT = 64
GROUP_SECONDS = 0.5
"""How long a group is retried after conflicts before each of its changes goes on alone."""

Transition = Callable[[Run, datetime], Run]
"""A function of `model.lifecycle`: the run and the database's clock -> the changed run."""

Guard = Callable[[Session, Run, int], Awaitable[None]]
"""Checks the unchanged run inside the transaction; raises when the transition is not allowed. The number is how many
more runs of the organisation the same transaction has leased already."""


def _future() -> asyncio.Future[Change]:
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True, eq=False)
class RunChange:
    """A change of one run to make; `done` completes after the commit. `context` is that of the caller."""

    execution_id: str
    run_id: str
    transition: Transition
    guard: Guard | None = None
    done: asyncio.Future[Change] = field(default_factory=_future)
    context: Context = field(default_factory=copy_context)


Commit = Callable[[Sequence[RunChange], float], Awaitable[None]]
"""Makes the changes in one transaction, which is retried for so many seconds, and completes each one's `done`: a change
that is refused does not affect the others. Raises, with none of them done, when the transaction fails."""


class RunChangeGroups:
    """Commits changes in groups, one group at a time and one change of a run in each."""

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._waiting: list[RunChange] = []
        self._committing: asyncio.Task[None] | None = None
        self._alone: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def make(self, change: RunChange) -> Change:
        """Returns when the change is durable; raises why it was refused, or why it could not be stored."""
        if self._alone[change.execution_id]:
            self._commit_alone(change)
        else:
            self._waiting.append(change)
            if self._committing is None:
                self._committing = asyncio.create_task(self._commit_all())
        return await change.done

    async def _commit_all(self) -> None:
        try:
            while group := self._next_group():
                await self._commit_group(group)
        finally:
            self._committing = None
            fail(self._waiting, _stopped())

    def _next_group(self) -> list[RunChange]:
        """Changes of different runs in the order of their arrival, without those that nobody waits for any more."""
        group: dict[str, RunChange] = {}
        left: list[RunChange] = []
        for change in self._waiting:
            if change.done.done():
                continue
            if change.run_id in group or len(group) == GROUP_LIMIT:
                left.append(change)
            else:
                group[change.run_id] = change
        self._waiting = left
        return list(group.values())

    async def _commit_group(self, group: Sequence[RunChange]) -> None:
        """If the group fails, each change is made alone, so that each gets its own result and delays no others."""
        try:
            await self._commit(group, GROUP_SECONDS)
        except Exception as error:
            if len(group) == 1 and not _is_conflict(error):
                fail(group, error)
            else:
                for change in group:
                    self._commit_alone(change)
        except BaseException:
            fail(group, _stopped())
            raise

    def _commit_alone(self, change: RunChange) -> None:
        self._alone[change.execution_id] += 1
        task = asyncio.create_task(self._finish_alone(change))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _finish_alone(self, change: RunChange) -> None:
        try:
            await self._commit([change], TRANSACTION_SECONDS)
        except BaseException as error:
            fail([change], error if isinstance(error, Exception) else _stopped())
            if not isinstance(error, Exception):
                raise
        finally:
            self._alone -= Counter([change.execution_id])


def fail(changes: Sequence[RunChange], error: Exception) -> None:
    """Raise the error in the calls that still wait."""
    for change in changes:
        if not change.done.done():
            change.done.set_exception(error)


def _stopped() -> Unavailable:
    return Unavailable("The service is shutting down, try again")


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, PyMongoError) and error.has_error_label("TransientTransactionError")
