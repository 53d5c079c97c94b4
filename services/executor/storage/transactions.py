"""Transactions that change executions and runs together with the outbox, across organisations."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from pymongo import ReplaceOne

from services.chassis.errors import Aborted, FailedPrecondition, NotFound
from services.chassis.events import Event
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.mongo import Mongo, Session
from services.chassis.outbox import Outbox
from services.executor import telemetry
from services.executor.events import events_of
from services.executor.model import lifecycle
from services.executor.model.changes import Change, apply_moves, cancel_execution
from services.executor.model.executions import Execution
from services.executor.model.runs import Run, RunLimits
from services.executor.model.states import Status
from services.executor.storage.durations import RunDurations
from services.executor.storage.records import (
    OPEN_STATUSES,
    execution_document,
    execution_of,
    run_document,
    run_of,
    steps_document,
)
from services.executor.storage.schema import EXECUTIONS, RUNS, STEPS

Transition = Callable[[Run, datetime], Run]
"""A function of `model.lifecycle`: the run and the database's clock -> the changed run."""

Guard = Callable[[Session, Run], Awaitable[None]]
"""Checks the unchanged run inside the transaction; raises when the transition is not allowed."""

Decision = Callable[[Session], Awaitable[Change]]
"""Reads inside the transaction and decides what changes."""


class ExecutionTransactions:
    """Each change is one transaction: documents and outbox are written, then metrics are updated and events published.

    Transactions on one execution conflict in its document. Those of this process are serialised, so that only those
    of other processes conflict and are retried.
    """

    def __init__(self, mongo: Mongo, outbox: Outbox, limits: RunLimits) -> None:
        self.mongo = mongo
        self.limits = limits
        self.durations = RunDurations(mongo)
        self._outbox = outbox
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def now(self) -> datetime:
        """The database's clock, which leases and time limits refer to."""
        moment: datetime = (await self.mongo.database.command("hello"))["localTime"]
        return moment.replace(tzinfo=UTC)

    async def commit(self, execution_id: str, decide: Decision) -> Change:
        """Decide on a change and store it with its events, in one transaction.

        Contended documents are written last: if the process is killed, the database keeps them locked until the
        transaction expires.
        """

        async def work(session: Session) -> tuple[Change, list[Event]]:
            change = await decide(session)
            events = events_of(change, self._outbox.event)
            await self._outbox.add(session, events)
            await self._replace(session, change)
            return change, events

        async with self._locks[execution_id]:
            change, events = await self.mongo.transaction(work)
        self._outbox.publish_soon(events)
        telemetry.observe(change)
        self.durations.record(change)
        return change

    async def change_run(
        self, execution_id: str, run_id: str, transition: Transition, guard: Guard | None = None
    ) -> Change:
        """Change one run. Raises NotFound for an unknown run, and what `transition` and `guard` raise."""

        async def decide(session: Session) -> Change:
            execution, run, now = await self._load(session, run_id)
            after = transition(run, now)
            if guard is not None:
                await guard(session, run)
            moves = [(run, after)]
            if run.status is not after.status and after.status.terminal:
                moves += await self._release_next(session, execution, now)
            return apply_moves(execution, moves, now)

        return await self.commit(execution_id, decide)

    async def cancel(self, execution_id: str, superseded_by: str | None = None) -> Execution:
        """Request cancellation, for a newer execution if one is named. NotFound; FailedPrecondition: it has ended."""

        async def decide(session: Session) -> Change:
            found = await self.mongo.collection(EXECUTIONS).find_one({"_id": execution_id}, session=session)
            if found is None:
                raise NotFound("Execution not found", reason="EXECUTION_NOT_FOUND")
            execution = execution_of(found)
            if execution.status.terminal:
                raise FailedPrecondition(f"The execution has ended: it is {execution.status}", reason="EXECUTION_ENDED")
            query = {"execution_id": execution_id, "status": {"$in": OPEN_STATUSES}}
            runs = await self.mongo.collection(RUNS).find(query, session=session).sort("position", 1).to_list(None)
            return cancel_execution(execution, [run_of(document) for document in runs], now, superseded_by)

        now = await self.now()
        return (await self.commit(execution_id, decide)).execution

    async def _replace(self, session: Session, change: Change) -> None:
        """Replace the changed documents."""
        if not change.runs:
            return
        steps = [steps_document(run, attempt) for run in change.runs for attempt in run.attempts if attempt.steps]
        if steps:
            await self.mongo.collection(STEPS).insert_many(steps, session=session)
        runs = [
            ReplaceOne({"_id": run.id, "revision": run.revision - 1}, run_document(run, self.limits))
            for run in change.runs
        ]
        written = await self.mongo.collection(RUNS).bulk_write(runs, session=session)
        if written.matched_count != len(runs):
            raise Aborted("The run was changed by another request at the same time, try again")
        execution = execution_document(change.execution)
        replacement: Any = [{"$replaceWith": {"$literal": execution}}]  # unlike replace_one, replicated as a difference
        await self.mongo.collection(EXECUTIONS).update_one({"_id": execution["_id"]}, replacement, session=session)

    async def _load(self, session: Session, run_id: str) -> tuple[Execution, Run, datetime]:
        lookup = {"from": EXECUTIONS, "localField": "execution_id", "foreignField": "_id", "as": "execution"}
        pipeline = [{"$match": {"_id": run_id}}, {"$lookup": lookup}, {"$set": {"now": "$$NOW"}}]
        found = await self.mongo.aggregate(RUNS, pipeline, session=session)
        if not found:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return execution_of(found[0]["execution"][0]), run_of(found[0]), found[0]["now"]

    async def _release_next(self, session: Session, execution: Execution, now: datetime) -> list[tuple[Run, Run]]:
        """With `max_parallel`, a run that ended releases the next one of the execution."""
        if execution.max_parallel is None or execution.cancel_requested_at is not None:
            return []
        query = {"execution_id": execution.id, "status": Status.INITIALIZED.value}
        in_turn = [("turn", 1), ("position", 1)]
        found = await self.mongo.collection(RUNS).find_one(query, sort=in_turn, session=session)
        if found is None:
            return []
        run = run_of(found)
        return [(run, lifecycle.queue(run, now))]
