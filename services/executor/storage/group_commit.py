"""Group commit of new executions: those that arrive during a transaction share the next one.

A majority commit costs about the same for one execution as for thirty; without load an execution never waits.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pymongo.errors import BulkWriteError

from services.chassis.errors import Unavailable
from services.chassis.events import Event
from services.chassis.mongo import Session
from services.chassis.mongo_errors import as_unavailable
from services.chassis.outbox import Outbox
from services.executor import telemetry
from services.executor.events import events_of
from services.executor.model.changes import Change
from services.executor.model.runs import RunPlan
from services.executor.storage.records import execution_document, plan_document, run_document
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.schema import EXECUTIONS, PLANS, RUNS
from services.executor.storage.transactions import ExecutionTransactions

GROUP_LIMIT = 64
DUPLICATE_KEY = 11000


class ExecutionExists(Exception):
    """An execution with this id is already stored."""


def _future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True, eq=False)
class NewExecution:
    """A new execution with its runs, plans and events; `stored` completes after the commit."""

    change: Change
    plans: Mapping[str, RunPlan]
    events: Sequence[Event]
    stored: asyncio.Future[None] = field(default_factory=_future)


class GroupCommit:
    """Stores new executions of all organisations."""

    def __init__(self, transactions: ExecutionTransactions, outbox: Outbox) -> None:
        self._transactions = transactions
        self._outbox = outbox
        self._counts = MongoRunCounts(transactions.mongo)
        self._waiting: list[NewExecution] = []
        self._committing: asyncio.Task[None] | None = None

    async def store(self, change: Change, plans: Mapping[str, RunPlan]) -> None:
        """Returns when the execution is durable. ExecutionExists when its id is already stored."""
        start = NewExecution(change, plans, events_of(change, self._outbox.event))
        self._waiting.append(start)
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all())
        await start.stored

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[:GROUP_LIMIT], self._waiting[GROUP_LIMIT:]
                await self._settle(group)
        finally:
            self._committing = None

    async def _settle(self, group: Sequence[NewExecution]) -> None:
        """Commit the group; if that fails, commit each execution alone, so that each gets its own result."""
        try:
            await self._commit(group)
        except Exception as error:
            if len(group) == 1 or as_unavailable(error) is not None:
                _fail(group, ExecutionExists() if _is_duplicate(error) else error)
            else:
                for start in group:
                    await self._settle([start])
        except BaseException:
            _fail([*group, *self._waiting], Unavailable("The service is shutting down, try again"))
            raise
        else:
            self._publish(group)

    async def _commit(self, group: Sequence[NewExecution]) -> None:
        async def work(session: Session) -> None:
            mongo = self._transactions.mongo
            await self._outbox.add(session, [event for start in group for event in start.events])
            executions = [execution_document(start.change.execution) for start in group]
            await mongo.collection(EXECUTIONS).insert_many(executions, session=session)
            await self._counts.add([start.change.execution for start in group], session)
            runs = [run for start in group for run in start.change.runs]
            if runs:
                documents = [run_document(run, self._transactions.limits) for run in runs]
                await mongo.collection(RUNS).insert_many(documents, session=session)
                plans = [plan_document(run, start.plans[run.id]) for start in group for run in start.change.runs]
                await mongo.collection(PLANS).insert_many(plans, session=session)

        await self._transactions.mongo.transaction(work)

    def _publish(self, group: Sequence[NewExecution]) -> None:
        for start in group:
            self._outbox.publish_soon(start.events)
            telemetry.observe(start.change)
            if not start.stored.done():
                start.stored.set_result(None)


def _is_duplicate(error: Exception) -> bool:
    return isinstance(error, BulkWriteError) and any(e["code"] == DUPLICATE_KEY for e in error.details["writeErrors"])


def _fail(starts: Sequence[NewExecution], error: Exception) -> None:
    """Raise the error in the calls that still wait."""
    for start in starts:
        if not start.stored.done():
            start.stored.set_exception(error)
