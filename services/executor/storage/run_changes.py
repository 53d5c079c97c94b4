"""Changes of runs: those that arrive during a transaction share the next one.

A majority commit costs about the same for one change as for thirty; without load a change never waits.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime

from pymongo.errors import PyMongoError

from services.chassis.errors import Unavailable
from services.chassis.mongo import TRANSACTION_SECONDS, Session
from services.chassis.mongo_errors import as_unavailable
from services.executor.model.changes import Change
from services.executor.model.runs import Run

GROUP_LIMIT = 64
GROUP_SECONDS = 0.5
"""How long a group is retried after conflicts before it is split."""

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
    """Commits changes in groups, one group at a time and one change of a run in each.

    A group that fails is split by execution. Each part goes on beside the next groups, which leave out its execution.
    So one whose document other processes change at the same time, or a change that cannot be stored, delays no others.
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._waiting: list[RunChange] = []
        self._committing: asyncio.Task[None] | None = None
        self._parts: dict[str, asyncio.Task[None]] = {}

    async def make(self, change: RunChange) -> Change:
        """Returns when the change is durable; raises why it was refused, or why it could not be stored."""
        self._waiting.append(change)
        self._start()
        return await change.done

    def _start(self) -> None:
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())

    async def _commit_all(self) -> None:
        try:
            while group := self._next_group():
                await self._commit_group(group)
        except BaseException:
            fail(self._waiting, _stopped())
            raise
        finally:
            self._committing = None

    def _next_group(self) -> list[RunChange]:
        """Changes of different runs in the order of their arrival, without those that nobody waits for any more."""
        group: dict[str, RunChange] = {}
        left: list[RunChange] = []
        for change in self._waiting:
            if change.done.done():
                continue
            if change.run_id in group or change.execution_id in self._parts or len(group) == GROUP_LIMIT:
                left.append(change)
            else:
                group[change.run_id] = change
        self._waiting = left
        return list(group.values())

    async def _commit_group(self, group: Sequence[RunChange]) -> None:
        try:
            await self._commit(group, GROUP_SECONDS)
        except Exception as error:
            if len(group) == 1 and not _is_conflict(error):
                fail(group, error)
            else:
                self._split(group)
        except BaseException:
            fail(group, _stopped())
            raise

    def _split(self, group: Sequence[RunChange]) -> None:
        for execution_id in dict.fromkeys(change.execution_id for change in group):
            part = [change for change in group if change.execution_id == execution_id]
            self._parts[execution_id] = asyncio.create_task(self._commit_part(execution_id, part))

    async def _commit_part(self, execution_id: str, part: Sequence[RunChange]) -> None:
        try:
            await self._commit_apart(part)
        except BaseException:
            fail(part, _stopped())
            raise
        finally:
            del self._parts[execution_id]
            self._start()

    async def _commit_apart(self, changes: Sequence[RunChange]) -> None:
        """Together, or else one by one, so that each gets its own result."""
        try:
            await self._commit(changes, TRANSACTION_SECONDS)
        except Exception as error:
            if len(changes) == 1 or as_unavailable(error) is not None:
                fail(changes, error)
            else:
                for change in changes:
                    await self._commit_apart([change])


def fail(changes: Sequence[RunChange], error: Exception) -> None:
    """Raise the error in the calls that still wait."""
    for change in changes:
        if not change.done.done():
            change.done.set_exception(error)


def _stopped() -> Unavailable:
    return Unavailable("The service is shutting down, try again")


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, PyMongoError) and error.has_error_label("TransientTransactionError")
