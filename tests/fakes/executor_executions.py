"""Executions in memory for use cases, with the rules of the model, and notifications of their changes."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from services.chassis.context import current
from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.events import Event
from services.executor.model import changes, lifecycle
from services.executor.model.changes import Change
from services.executor.model.claim_order import smoothed_duration
from services.executor.model.executions import CancelPrevious, Execution, bucket, lane_of
from services.executor.model.runs import (
    Platform,
    Run,
    RunPlan,
    RunTarget,
)
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.ports.runs import RunKey
from tests.fakes.executor_runs import FakeRuns


class FakeExecutions(FakeRuns):
    """Executions in memory: the ports `Executions` (of the caller's organisation) and `Supersessions`, with `Runs`."""

    async def now(self) -> datetime:
        return self.clock

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        if change.execution.id not in self.executions:
            self.plans.update(plans)
            self._commit(change)
            self.advance(0.001)
        return await self.get(change.execution.id)

    async def cancel(self, execution_id: str) -> Execution:
        execution = await self.get(execution_id)
        if execution.status.terminal:
            raise FailedPrecondition(f"The execution has ended: it is {execution.status}", reason="EXECUTION_ENDED")
        return self._cancel(execution, None)

    def _cancel(self, execution: Execution, superseded_by: str | None) -> Execution:
        open_runs = [run for run in self._of(execution.id) if not run.status.terminal]
        return self._commit(changes.cancel_execution(execution, open_runs, self.clock, superseded_by)).execution

    async def supersede(self, execution: Execution) -> None:
        same = [e for e in self.executions.values() if lane_of(execution) and lane_of(e) == lane_of(execution)]
        newest = max((e for e in same if e.cancel_previous), key=_age, default=execution)
        for earlier in same:
            if _age(earlier) < _age(newest) and not earlier.status.terminal and not earlier.cancel_requested_at:
                self._cancel(earlier, newest.id)
        now = self.executions[execution.id]
        self.executions[now.id] = replace(now, cancel_previous=CancelPrevious.DONE)

    async def pending(self, limit: int) -> list[Execution]:
        left = [e for e in self.executions.values() if e.cancel_previous is CancelPrevious.PENDING]
        return sorted(left, key=_age)[:limit]

    async def expected_seconds(self, targets: Sequence[RunTarget]) -> list[float | None]:
        return [self._seconds(target) for target in targets]

    def _seconds(self, target: RunTarget) -> float | None:
        seconds: float | None = None
        done = [run for run in self.stored.values() if run.status is Status.COMPLETED and run.completed_at]
        for run in sorted(done, key=lambda run: run.completed_at or self.clock):
            if _subject(run.target) == _subject(target) and run.org_id == current().org_id:
                seconds = smoothed_duration(run.busy_seconds, seconds)
        return seconds

    async def waiting_runs(self) -> int:
        return sum(bucket(run) == "queued" for run in self.stored.values() if run.org_id == current().org_id)

    async def running_runs(self) -> int:
        return sum(run.lease is not None for run in self.stored.values() if run.org_id == current().org_id)

    async def plans_of(self, execution_id: str) -> dict[str, RunPlan]:
        return {run.id: self.plans[run.id] for run in self._of(execution_id) if run.org_id == current().org_id}

    async def get(self, execution_id: str) -> Execution:
        found = self.executions.get(execution_id)
        if found is None or found.org_id != current().org_id:
            raise NotFound("Execution not found")
        return found

    async def batch(self, execution_ids: Sequence[str]) -> list[Execution]:
        own = {id_: e for id_, e in self.executions.items() if e.org_id == current().org_id}
        return [own[id_] for id_ in execution_ids if id_ in own]

    async def page(self, wanted: ExecutionFilter, page: PageRequest) -> tuple[list[Execution], int]:
        fitting = [e for e in self.executions.values() if e.org_id == current().org_id and _fits(e, wanted)]
        newest = sorted(fitting, key=lambda e: (e.created_at, e.id), reverse=True)
        return newest[(page.number - 1) * page.size :][: page.size], len(newest)

    async def runs(self, execution_id: str, page: PageRequest) -> tuple[list[Run], int]:
        found = [_without_steps(run) for run in self._of(execution_id) if run.org_id == current().org_id]
        return found[(page.number - 1) * page.size :][: page.size], len(found)

    async def all_runs(self, execution_id: str) -> list[Run]:
        return [run for run in self._of(execution_id) if run.org_id == current().org_id]

    async def run(self, execution_id: str, run_id: str) -> Run:
        found = self.stored.get(run_id)
        if found is None or found.execution_id != execution_id or found.org_id != current().org_id:
            raise NotFound("Run not found")
        return found

    async def log(self, execution_id: str, after: int, limit: int) -> list[Event]:
        facts = [e for e in self.events if e.subject == execution_id and e.sequence > after]
        return sorted(facts, key=lambda event: event.sequence)[:limit]

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> Run:
        run = await self.run(execution_id, run_id)
        try:
            answered = lifecycle.answer_question(run, question_id, text, self.clock)
        except lifecycle.QuestionNotOpen as error:
            raise FailedPrecondition(error.message, reason=error.reason) from error
        return self._move(RunKey(execution_id, run_id), answered)


def _age(execution: Execution) -> tuple[datetime, str]:
    return execution.created_at, execution.id


def _subject(target: RunTarget) -> tuple[str, Platform | None, str | None]:
    return target.test_id, target.platform, target.app_id


def _without_steps(run: Run) -> Run:
    return replace(run, attempts=tuple(replace(attempt, steps=()) for attempt in run.attempts))


def _fits(execution: Execution, wanted: ExecutionFilter) -> bool:
    pairs = [
        (wanted.status, execution.status),
        (wanted.workflow_id, execution.workflow_id),
        (wanted.source, execution.source),
        (wanted.branch, execution.ci.branch),
        (wanted.commit_sha, execution.ci.commit_sha),
        (wanted.pr_number, execution.ci.pr_number),
    ]
    in_app = wanted.app_id is None or wanted.app_id in execution.app_ids
    return in_app and all(wish is None or wish == value for wish, value in pairs)


class FakeChangeSubscription:
    """Notified when its execution changes."""

    def __init__(self, notifications: "FakeChangeNotifications") -> None:
        self._notifications = notifications
        self.changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        self._notifications.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await self.changed.wait()
        except TimeoutError:
            return
        self.changed.clear()


class FakeChangeNotifications:
    """The port `ChangeNotifications`, driven by `FakeExecutions.changed`; `waiting` counts the waits so far."""

    def __init__(self, executions: FakeExecutions) -> None:
        self._subscriptions: dict[str, list[FakeChangeSubscription]] = defaultdict(list)
        self.waiting = 0
        executions.changed = self._notify

    @contextmanager
    def subscribe(self, execution_id: str) -> Iterator[FakeChangeSubscription]:
        subscription = FakeChangeSubscription(self)
        self._subscriptions[execution_id].append(subscription)
        yield subscription

    def _notify(self, execution_id: str) -> None:
        for subscription in self._subscriptions[execution_id]:
            subscription.changed.set()
