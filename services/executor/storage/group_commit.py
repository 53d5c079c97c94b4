"""Group commit of new executions: those that arrive during a transaction share the next one.

A majority commit costs about the same for one execution as for thirty; without load an execution never waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pymongo.errors import BulkWriteError

from services.chassis.batcher import Batcher
from services.chassis.context import Caller
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
_ANYBODY = Caller(org_id="")


class ExecutionExists(Exception):
    """An execution with this id is already stored."""


@dataclass(frozen=True, slots=True, eq=False)
class NewExecution:
    """A new execution with its runs, plans and events."""

    change: Change
    plans: Mapping[str, RunPlan]
    events: Sequence[Event]


class GroupCommit:
    """Stores new executions of all organisations."""

    def __init__(self, transactions: ExecutionTransactions, outbox: Outbox) -> None:
        self._transactions = transactions
        self._outbox = outbox
        self._counts = MongoRunCounts(transactions.mongo)
        self._starts: Batcher[NewExecution, None] = Batcher(
            self._commit,
            max_in_flight=1,
            max_items=GROUP_LIMIT,
            turns=1,
            splits=lambda error: as_unavailable(error) is None,
            finishes=True,
        )

    async def store(self, change: Change, plans: Mapping[str, RunPlan]) -> None:
        """Returns when the execution is durable.

        Raises:
            ExecutionExists: its id is already stored.
        """
        start = NewExecution(change, plans, events_of(change, self._outbox.event))
        try:
            await self._starts.get(_ANYBODY, start)
        except BulkWriteError as error:
            if not _is_duplicate(error):
                raise
            raise ExecutionExists from error

    async def _commit(self, group: Sequence[NewExecution]) -> Mapping[NewExecution, None]:
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
        for start in group:
            self._outbox.publish_soon(start.events)
            telemetry.observe(start.change)
        return dict.fromkeys(group)


def _is_duplicate(error: BulkWriteError) -> bool:
    return any(each["code"] == DUPLICATE_KEY for each in error.details["writeErrors"])
