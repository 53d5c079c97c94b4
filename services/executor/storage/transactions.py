"""The transactions that change executions and runs, together with the outbox. Across organisations."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

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
from services.executor.model.states import NEXT, Status
from services.executor.storage.durations import RunDurations
from services.executor.storage.records import (
    execution_document,
    execution_of,
    run_document,
    run_of,
    steps_document,
)
from services.executor.storage.schema import EXECUTIONS, RUNS, STEPS

_OPEN = [status.value for status in NEXT if not status.terminal]

Transition = Callable[[Run, datetime], Run]
"""One of the functions of `model.lifecycle`: the run and the database's clock -> the run that it becomes."""

Guard = Callable[[Session, Run], Awaitable[None]]
"""Looks at the run as it was, in the transaction, and raises when it may not take the step."""

Decision = Callable[[Session], Awaitable[Change]]
"""Reads, and says what is to change."""


class ExecutionTransactions:
    """Runs changes: each is one transaction, stored, put into the outbox, counted, and published after the commit.

    Transactions on one execution meet in its document; those of this process wait for each other, so that only
    those of other processes can run into write conflicts (which are tried again).
    """

    def __init__(self, mongo: Mongo, outbox: Outbox, limits: RunLimits) -> None:
        self.mongo = mongo
        self.limits = limits
        self.durations = RunDurations(mongo)
        self._outbox = outbox
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def now(self) -> datetime:
        """The database's clock, by which leases and time limits are judged."""
        moment: datetime = (await self.mongo.database.command("hello"))["localTime"]
        return moment.replace(tzinfo=UTC)

    async def commit(self, execution_id: str, decide: Decision) -> Change:
        """Decide on a change and store it with its events, in one transaction.

        What others want to write too is written last: a process that is killed leaves its transaction to the
        database, which keeps the documents locked until it gives up on it.
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
        self.durations.note(change)
        return change

    async def change_run(self, execution_id: str, run_id: str, step: Transition, guard: Guard | None = None) -> Change:
        """Let one run take a step. NotFound when there is no such run, and whatever `step` and `guard` raise."""

        async def decide(session: Session) -> Change:
            execution, run, now = await self._load(session, run_id)
            after = step(run, now)
            if guard is not None:
                await guard(session, run)
            moves = [(run, after)]
            if run.status is not after.status and after.status.terminal:
                moves += await self._released(session, execution, now)
            return apply_moves(execution, moves, now)

        return await self.commit(execution_id, decide)

    async def cancel(self, execution_id: str, superseded_by: str | None = None) -> Execution:
        """Ask for the end of an execution, for a newer one if one is named. NotFound; FailedPrecondition: it ended."""

        async def decide(session: Session) -> Change:
            found = await self.mongo.collection(EXECUTIONS).find_one({"_id": execution_id}, session=session)
            if found is None:
                raise NotFound("Execution not found", reason="EXECUTION_NOT_FOUND")
            execution = execution_of(found)
            if execution.status.terminal:
                raise FailedPrecondition(f"The execution has ended: it is {execution.status}", reason="EXECUTION_ENDED")
            query = {"execution_id": execution_id, "status": {"$in": _OPEN}}
            runs = await self.mongo.collection(RUNS).find(query, session=session).sort("position", 1).to_list(None)
            return cancel_execution(execution, [run_of(document) for document in runs], now, superseded_by)

        now = await self.now()
        return (await self.commit(execution_id, decide)).execution

    async def _replace(self, session: Session, change: Change) -> None:
        """Store what a change made of documents that exist."""
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
            raise Aborted("The run was changed by somebody else at the same time, try again")
        execution = execution_document(change.execution)
        await self.mongo.collection(EXECUTIONS).replace_one({"_id": execution["_id"]}, execution, session=session)

    async def _load(self, session: Session, run_id: str) -> tuple[Execution, Run, datetime]:
        lookup = {"from": EXECUTIONS, "localField": "execution_id", "foreignField": "_id", "as": "execution"}
        pipeline = [{"$match": {"_id": run_id}}, {"$lookup": lookup}, {"$set": {"now": "$$NOW"}}]
        found = await self.mongo.aggregate(RUNS, pipeline, session=session)
        if not found:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return execution_of(found[0]["execution"][0]), run_of(found[0]), found[0]["now"]

    async def _released(self, session: Session, execution: Execution, now: datetime) -> list[tuple[Run, Run]]:
        """The next run of an execution with `max_parallel`: one that ended makes room for one."""
        if execution.max_parallel is None or execution.cancel_requested_at is not None:
            return []
        query = {"execution_id": execution.id, "status": Status.INITIALIZED.value}
        in_turn = [("turn", 1), ("position", 1)]
        found = await self.mongo.collection(RUNS).find_one(query, sort=in_turn, session=session)
        if found is None:
            return []
        run = run_of(found)
        return [(run, lifecycle.queue(run, now))]
