"""Runs in memory for workers and background jobs, with the rules of the model."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from services.chassis.events import Event
from services.executor.events import events_of
from services.executor.model import changes, lifecycle
from services.executor.model.attempts import AttemptResult
from services.executor.model.changes import Change
from services.executor.model.claim_order import OrgQueue, rank, share_slots
from services.executor.model.executions import Execution
from services.executor.model.lifecycle import Fenced, NotClaimable
from services.executor.model.runs import (
    Platform,
    Question,
    QuestionPrompt,
    Run,
    RunLimits,
    RunPlan,
    Session,
)
from services.executor.model.states import Status
from services.executor.ports.runs import AcceptsOrg, Backlog, Claim, OrphanedSession, RunKey, StopReason, accept_all


class FakeRuns:
    """Runs in memory: the port `Runs`."""

    def __init__(self, limits: RunLimits | None = None) -> None:
        self.limits = limits or RunLimits()
        self.clock = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
        self.executions: dict[str, Execution] = {}
        self.stored: dict[str, Run] = {}
        self.plans: dict[str, RunPlan] = {}
        self.events: list[Event] = []
        self.served: dict[str, int] = {}
        self.changed: Callable[[str], None] = lambda _: None

    def advance(self, seconds: float) -> None:
        """Advance the database's clock."""
        self.clock += timedelta(seconds=seconds)

    def _commit(self, change: Change) -> Change:
        self.executions[change.execution.id] = change.execution
        self.stored.update({run.id: run for run in change.runs})
        self.events += events_of(change, self._event)
        self.changed(change.execution.id)
        return change

    def _event(
        self,
        topic: str,
        key: str,
        message: object,
        *,
        subject: str | None = None,
        sequence: int = 0,
        checked: bool = False,
    ) -> Event:
        payload = message.SerializeToString()  # type: ignore[attr-defined]
        kind = message.DESCRIPTOR.full_name  # type: ignore[attr-defined]
        return Event(topic, key, kind, "fake", str(uuid4()), self.clock, payload, subject=subject, sequence=sequence)

    def _of(self, execution_id: str) -> list[Run]:
        runs = [run for run in self.stored.values() if run.execution_id == execution_id]
        return sorted(runs, key=lambda run: run.position)

    def _move(self, key: RunKey, after: Run) -> Run:
        before, execution = self.stored[key.run_id], self.executions[key.execution_id]
        moves = [(before, after)]
        if after.status.terminal and execution.max_parallel and execution.cancel_requested_at is None:
            waiting = [run for run in self._of(key.execution_id) if run.status is Status.INITIALIZED]
            in_turn = sorted(waiting, key=lambda run: run.claim_order)
            moves += [(run, lifecycle.queue(run, self.clock)) for run in in_turn[:1]]
        self._commit(changes.apply_moves(execution, moves, self.clock))
        return self.stored[key.run_id]

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        if key.run_id not in self.stored:
            return None
        if self._left(self.stored[key.run_id].org_id) <= 0:
            return None
        try:
            run = self._move(key, lifecycle.claim(self.stored[key.run_id], worker, self.clock, self.limits))
        except NotClaimable:
            return None
        self.served[run.org_id] = max(self.served.values(), default=0) + 1
        return Claim(self.executions[key.execution_id], run, self.plans[run.id])

    def _left(self, org_id: str) -> int:
        most = self.limits.organisation_runs
        leased = sum(run.lease is not None and run.org_id == org_id for run in self.stored.values())
        return 1_000_000 if most is None else most - leased

    async def claimable(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        runs = [run for run in self.stored.values() if run.target.platform is platform and accepts(run.org_id)]
        ready = [run for run in runs if lifecycle.is_claimable(run, self.clock)]
        queues: dict[OrgQueue, list[Run]] = defaultdict(list)
        for run in sorted(ready, key=lambda run: (run.claimable_at, run.claim_order)):
            same = [q for q in queues if (q.rank, q.org_id) == (rank(run), run.org_id)]
            queues[same[0] if same else OrgQueue(rank(run), run.org_id, run.claimable_at or self.clock)].append(run)
        running = Counter(run.org_id for run in runs if run.lease is not None)
        left = {queue.org_id: self._left(queue.org_id) for queue in queues}
        chosen = [queues[q] for q in share_slots(queues, limit, running=running, served=self.served, left=left)]
        found = [waiting.pop(0) for waiting in chosen if waiting]
        return [RunKey(run.execution_id, run.id) for run in found]

    async def is_any_waiting(self) -> bool:
        return any(run.claimable_at is not None and run.lease is None for run in self.stored.values())

    async def still_claimable(self, keys: Sequence[RunKey]) -> list[RunKey]:
        return [key for key in keys if key.run_id in self.stored and self.stored[key.run_id].claimable_at]

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        return self._move(key, lifecycle.finish(self.stored[key.run_id], token, result, self.clock, self.limits))

    async def hand_back(self, key: RunKey, token: int) -> Run:
        return self._move(key, lifecycle.hand_back(self.stored[key.run_id], token, self.clock))

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        run = self.stored[key.run_id]
        if run.lease is None or run.fencing_token != token:
            raise Fenced(run.id)
        self.stored[run.id] = replace(run, lease=replace(run.lease, session=session))

    async def orphans(self, limit: int) -> list[OrphanedSession]:
        return [
            OrphanedSession(
                RunKey(run.execution_id, run.id), orphan.session, (self.clock - orphan.since).total_seconds()
            )
            for run in self.stored.values()
            for orphan in run.orphans
        ][:limit]

    async def forget_orphan(self, key: RunKey, session: Session) -> None:
        run = self.stored[key.run_id]
        left = tuple(orphan for orphan in run.orphans if orphan.session != session)
        self.stored[run.id] = replace(run, orphans=left)

    async def ask(self, key: RunKey, token: int, prompt: QuestionPrompt, patience: timedelta) -> Question | None:
        return self._move(
            key, lifecycle.ask_question(self.stored[key.run_id], token, prompt, patience, self.clock)
        ).open_question

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        run = self.stored[key.run_id]
        lifecycle.check_token(run, token)
        return run.question.answer if run.question is not None and run.question.prompt.id == question_id else None

    async def withdraw(self, key: RunKey, token: int, question_id: str) -> str | None:
        question = self._move(key, lifecycle.withdraw_question(self.stored[key.run_id], token, question_id)).question
        return question.answer if question is not None and question.prompt.id == question_id else None

    async def renew(self, tokens: Mapping[str, int]) -> None:
        for run_id, token in tokens.items():
            run = self.stored[run_id]
            if run.lease is not None and run.fencing_token == token and run.deadline_at is not None:
                until = min(self.clock, run.deadline_at) + self.limits.lease_ttl
                self.stored[run_id] = replace(run, lease=replace(run.lease, expires_at=until))

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        noticed = {run_id: self._notice(run_id, token) for run_id, token in tokens.items()}
        return {run_id: notice for run_id, notice in noticed.items() if notice is not None}

    def _notice(self, run_id: str, token: int) -> StopReason | None:
        run = self.stored.get(run_id)
        if run is None or run.lease is None or run.fencing_token != token:
            return StopReason.LOST
        return StopReason.CANCEL if run.cancel_requested_at else None

    async def due(self, limit: int) -> list[RunKey]:
        due = [r for r in self.stored.values() if (at := r.due_at(self.limits)) is not None and at <= self.clock]
        return [RunKey(run.execution_id, run.id) for run in due[:limit]]

    async def backlog(self) -> Backlog:
        waiting = [run.claimable_at for run in self.stored.values() if run.claimable_at]
        overdue = [at for run in self.stored.values() if (at := run.due_at(self.limits)) is not None]
        stuck = sum(at < self.clock - timedelta(seconds=60) for at in overdue)
        return Backlog(max(0.0, (self.clock - min(waiting, default=self.clock)).total_seconds()), stuck)

    async def expire(self, key: RunKey) -> None:
        self._move(key, lifecycle.expire(self.stored[key.run_id], self.clock, self.limits))
