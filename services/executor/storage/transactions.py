"""Transactions that change executions and runs together with the outbox, across organisations."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pymongo import ReplaceOne, UpdateOne
from pymongo.errors import PyMongoError

from mobiletest_automation.model.states import Status
from services.chassis.errors import Aborted, FailedPrecondition, NotFound
from services.chassis.events import Event
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.outbox import Outbox
from services.executor import telemetry
from services.executor.events import events_of
from services.executor.model import lifecycle
from services.executor.model.changes import Change, apply_moves, cancel_execution
from services.executor.model.claim_order import stage_moves
from services.executor.model.executions import Execution
from services.executor.model.runs import Run, RunLimits
from services.executor.storage.durations import RunDurations
from services.executor.storage.records import (
    OPEN_STATUSES,
    execution_document,
    execution_of,
    run_document,
    run_of,
    steps_document,
)
from services.executor.storage.run_changes import Guard, Outcomes, RunChange, RunChangeGroups, Transition
from services.executor.storage.schema import EXECUTIONS, RUNS, RUNS_OF_EXECUTION, STEPS

# Reads inside the transaction and decides what changes.
Decision = Callable[[Session], Awaitable[Change]]


@dataclass(slots=True)
class Snapshot:
    """What a transaction has read, with what it has decided to change so far."""

    now: datetime
    executions: dict[str, Execution]
    runs: dict[str, Run]
    changed: set[str] = field(default_factory=set)
    # How many more runs each organisation has in progress.
    leased: Counter[str] = field(default_factory=Counter)

    def get(self, execution_id: str, run_id: str) -> tuple[Execution, Run]:
        run = self.runs.get(run_id)
        if run is None or run.execution_id != execution_id:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return self.executions[execution_id], run

    def apply(self, change: Change) -> None:
        self.executions[change.execution.id] = change.execution
        for run in change.runs:
            before = self.runs.get(run.id)
            was_leased = before is not None and before.lease is not None
            self.leased[run.org_id] += (run.lease is not None) - was_leased
            self.runs[run.id] = run
            self.changed.add(run.id)


@dataclass(frozen=True, slots=True)
class Decided:
    """A change and its events, to be stored together."""

    change: Change
    events: Sequence[Event]


class ExecutionTransactions:
    """Changes are stored in transactions together with their events; then metrics are updated and events published.

    Transactions on one execution conflict in its document. Those of this process are serialised, so that only those
    of other processes conflict and are retried. Changes of runs that arrive together share a transaction.
    """

    def __init__(self, mongo: Mongo, outbox: Outbox, limits: RunLimits) -> None:
        self.mongo = mongo
        self.limits = limits
        self.durations = RunDurations(mongo)
        self._outbox = outbox
        self._locks: KeyedLocks[str] = KeyedLocks()
        self._groups = RunChangeGroups(self._commit_group)

    async def now(self) -> datetime:
        """The database's clock, which leases and time limits refer to."""
        moment: datetime = (await self.mongo.database.command("hello"))["localTime"]
        return moment.replace(tzinfo=UTC)

    async def change_run(
        self, execution_id: str, run_id: str, transition: Transition, guard: Guard | None = None
    ) -> Change:
        """Change one run.

        Raises:
            NotFound: there is no such run. And the errors of `transition` and `guard`.
        """
        return await self._groups.make(RunChange(execution_id, run_id, transition, guard))

    async def _commit_group(self, group: Sequence[RunChange], seconds: float) -> Outcomes:
        async def work(session: Session) -> list[Decided | Exception]:
            snapshot = await self._load(session, group)
            outcomes = [await self._decide(session, snapshot, change) for change in group]
            await self._store(session, [outcome for outcome in outcomes if isinstance(outcome, Decided)])
            return outcomes

        async with AsyncExitStack() as locks:
            # Sorted, so that no two groups ever wait for locks of each other.
            for execution_id in sorted({change.execution_id for change in group}):
                await locks.enter_async_context(self._locks[execution_id])
            outcomes = await self.mongo.transaction(work, seconds=seconds)
        for outcome in outcomes:
            if isinstance(outcome, Decided):
                self._publish(outcome)
        made = (outcome.change if isinstance(outcome, Decided) else outcome for outcome in outcomes)
        return dict(zip(group, made, strict=True))

    async def _decide(self, session: Session, snapshot: Snapshot, wanted: RunChange) -> Decided | Exception:
        """What the change is and publishes, or why it is refused, which leaves the snapshot as it was."""
        try:
            execution, run = snapshot.get(wanted.execution_id, wanted.run_id)
            after = wanted.transition(run, snapshot.now)
            if wanted.guard is not None:
                await wanted.guard(session, run, snapshot.leased[run.org_id])
            moves = [(run, after)]
            if run.status is not after.status and after.status.terminal:
                moves += await self._release_next(session, execution, snapshot, after)
            change = apply_moves(execution, moves, snapshot.now)
            # With the trace of this change's caller: the group runs in a task of its own.
            events = wanted.context.run(events_of, change, self._outbox.event)
        # It aborts the transaction, and with it the changes of the whole group; any other error refuses this change
        # only.
        except PyMongoError:
            raise
        except Exception as error:
            return error
        snapshot.apply(change)
        return Decided(change, events)

    async def cancel(self, execution_id: str, superseded_by: str | None = None) -> Execution:
        """Request cancellation, for a newer execution if one is named.

        Raises:
            NotFound: it does not exist.
            FailedPrecondition: it has ended.
        """

        async def decide(session: Session) -> Change:
            stored = await self.mongo.collection(EXECUTIONS).find_one({"_id": execution_id}, session=session)
            if stored is None:
                raise NotFound("Execution not found", reason="EXECUTION_NOT_FOUND")
            execution = execution_of(stored)
            if execution.status.terminal:
                raise FailedPrecondition(f"The execution has ended: it is {execution.status}", reason="EXECUTION_ENDED")
            query = {"execution_id": execution_id, "status": {"$in": OPEN_STATUSES}}
            runs = await self.mongo.collection(RUNS).find(query, session=session).sort("position", 1).to_list(None)
            return cancel_execution(execution, [run_of(document) for document in runs], now, superseded_by)

        now = await self.now()
        return (await self._commit(execution_id, decide)).execution

    async def _commit(self, execution_id: str, decide: Decision) -> Change:
        """Decide on a change and store it with its events, in one transaction."""

        async def work(session: Session) -> Decided:
            change = await decide(session)
            decided = Decided(change, events_of(change, self._outbox.event))
            await self._store(session, [decided])
            return decided

        async with self._locks[execution_id]:
            decided = await self.mongo.transaction(work)
        self._publish(decided)
        return decided.change

    def _publish(self, committed: Decided) -> None:
        self._outbox.publish_soon(committed.events)
        telemetry.observe(committed.change)
        self.durations.record(committed.change)

    async def _store(self, session: Session, decided: Sequence[Decided]) -> None:
        """Add the events and replace the changed documents.

        Contended documents are written last: if the process is killed, the database keeps them locked until the
        transaction expires.
        """
        await self._outbox.add(session, [event for each in decided for event in each.events])
        changes = [each.change for each in decided if each.change.runs]
        if not changes:
            return
        runs = [run for change in changes for run in change.runs]
        steps = [steps_document(run, attempt) for run in runs for attempt in run.attempts if attempt.steps]
        if steps:
            # An attempt that took longer has a document with what it had reached.
            final = [ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in steps]
            await self.mongo.collection(STEPS).bulk_write(final, ordered=False, session=session)
        replaced = [
            ReplaceOne({"_id": run.id, "revision": run.revision - 1}, run_document(run, self.limits)) for run in runs
        ]
        written = await self.mongo.collection(RUNS).bulk_write(replaced, session=session)
        if written.matched_count != len(runs):
            raise Aborted("The run was changed by another request at the same time, try again")
        latest = {change.execution.id: change.execution for change in changes}
        await self.mongo.collection(EXECUTIONS).bulk_write(list(map(_replacement, latest.values())), session=session)

    async def _load(self, session: Session, group: Sequence[RunChange]) -> Snapshot:
        """The runs and their executions, in one query."""
        of_runs = {"from": EXECUTIONS, "localField": "execution_id", "foreignField": "_id", "as": "execution"}
        ids = {"_id": {"$in": [change.run_id for change in group]}}
        pipeline: list[Document] = [{"$match": ids}, {"$lookup": of_runs}, {"$set": {"now": "$$NOW"}}]
        documents = await self.mongo.aggregate(RUNS, pipeline, session=session)
        executions = {document["execution_id"]: document["execution"][0] for document in documents}
        return Snapshot(
            # Without documents every change is refused, so that this process's clock decides nothing.
            now=documents[0]["now"] if documents else datetime.now(UTC),
            executions={id_: execution_of(document) for id_, document in executions.items()},
            runs={document["_id"]: run_of(document) for document in documents},
        )

    async def _release_next(
        self, session: Session, execution: Execution, snapshot: Snapshot, ended: Run
    ) -> list[tuple[Run, Run]]:
        """What the end of a run releases: with `max_parallel` the next run, in a sequence the next stage."""
        if execution.cancel_requested_at is None and ended.stage < execution.sequence:
            return await self._advance_stages(session, execution, snapshot, ended)
        if execution.max_parallel is None or execution.cancel_requested_at is not None:
            return []
        query = {"execution_id": execution.id, "status": Status.INITIALIZED.value}
        not_yet = {"_id": {"$nin": list(snapshot.changed)}}
        in_turn = [("claim_order", 1), ("position", 1)]
        runs = self.mongo.collection(RUNS)  # which the planner would rather read in the order of all ids
        document = await runs.find_one({**query, **not_yet}, sort=in_turn, hint=RUNS_OF_EXECUTION, session=session)
        if document is None:
            return []
        run = run_of(document)
        return [(run, lifecycle.queue(run, snapshot.now))]

    async def _advance_stages(
        self, session: Session, execution: Execution, snapshot: Snapshot, ended: Run
    ) -> list[tuple[Run, Run]]:
        """What follows the end of a run, whose execution has all of its runs in the database or in the snapshot."""
        stored = await self.mongo.collection(RUNS).find({"execution_id": execution.id}, session=session).to_list(None)
        runs = {document["_id"]: run_of(document) for document in stored}
        runs |= {run_id: snapshot.runs[run_id] for run_id in snapshot.changed if run_id in runs} | {ended.id: ended}
        return stage_moves(
            list(runs.values()), execution.sequence, snapshot.now, continue_on_failure=execution.continue_on_failure
        )


def _replacement(execution: Execution) -> UpdateOne:
    document = execution_document(execution)
    replacement: Any = [{"$replaceWith": {"$literal": document}}]  # unlike ReplaceOne, replicated as a difference
    return UpdateOne({"_id": document["_id"]}, replacement)
