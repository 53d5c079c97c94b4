"""The executor's ports in memory: executions and runs with the model's rules, a catalog, scripted attempts."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from services.chassis.context import current
from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.events import Event
from services.executor.events import events_of
from services.executor.model import changes, lifecycle
from services.executor.model.attempts import AttemptResult
from services.executor.model.changes import Change
from services.executor.model.claim_order import OrgQueue, rank, share_slots, smoothed_duration
from services.executor.model.executions import BuildConfig, CancelPrevious, Execution, ExecutionKind, lane_of
from services.executor.model.lifecycle import Fenced, NotClaimable
from services.executor.model.runs import (
    Platform,
    Question,
    QuestionPrompt,
    ResolvedRuns,
    Run,
    RunLimits,
    RunPlan,
    RunTarget,
    Session,
)
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.ports.runs import Backlog, Claim, OrphanedSession, Progress, RunKey, StopReason


def plan(name: str = "Log in", *, platform: Platform | None = Platform.ANDROID, config_error: str = "") -> RunPlan:
    """A plan with one step, and its own test, app and build."""
    target = RunTarget(
        test_id=str(uuid4()),
        test_name=name,
        test_version_number=1,
        platform=platform,
        app_id=str(uuid4()),
        app_name="Shop",
        build_id=str(uuid4()),
        resolved_build_version="1.0",
        build_uploaded_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    return RunPlan(target=target, steps=('Tap "Log in"', {"tapOn": {"id": "ok"}}), config_error=config_error)


class FakeCatalog:
    """Resolves what was added with `add`; anything else is NotFound. `files` are build files by build id."""

    def __init__(self) -> None:
        self._known: dict[tuple[ExecutionKind, str], ResolvedRuns] = {}
        self.files: dict[str, bytes] = {}
        self.reads = 0

    def add(self, resolved: ResolvedRuns) -> str:
        """The id of a workflow, or of a test when the answer names no workflow."""
        kind = ExecutionKind.WORKFLOW if resolved.workflow_id else ExecutionKind.TEST
        subject_id = resolved.workflow_id or resolved.plans[0].target.test_id
        self._known[kind, subject_id] = resolved
        return subject_id

    def workflow(self, *plans: RunPlan, max_parallel: int | None = None) -> str:
        """The id of a new workflow with these runs."""
        return self.add(
            ResolvedRuns(workflow_id=str(uuid4()), workflow_name="Nightly", max_parallel=max_parallel, plans=plans)
        )

    async def resolve(
        self, kind: ExecutionKind, subject_id: str, build_config: BuildConfig, *, override_build_config: bool
    ) -> ResolvedRuns:
        if (kind, subject_id) not in self._known:
            raise NotFound(f"{kind.capitalize()} not found")
        return self._known[kind, subject_id]

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        self.reads += 1
        if build_id not in self.files:
            raise NotFound("Build not found")
        return self.files[build_id][:limit]

    async def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        self.reads += 1
        if build_id not in self.files:
            raise NotFound("Build not found")
        content = self.files[build_id]
        for start in range(0, len(content), 1000):
            yield content[start : start + 1000]


class FakeExecutions:
    """Executions and runs in memory: the ports `Executions` (of the caller's organisation) and `Runs` (of all)."""

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

    async def now(self) -> datetime:
        return self.clock

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        if change.execution.id not in self.executions:
            self.plans.update(plans)
            self._commit(change)
            self.advance(0.001)
        return await self.get(change.execution.id)

    def _commit(self, change: Change) -> Change:
        self.executions[change.execution.id] = change.execution
        self.stored.update({run.id: run for run in change.runs})
        self.events += events_of(change, self._event)
        self.changed(change.execution.id)
        return change

    def _event(self, topic: str, key: str, message: object, *, subject: str | None = None, sequence: int = 0) -> Event:
        payload = message.SerializeToString()  # type: ignore[attr-defined]
        kind = message.DESCRIPTOR.full_name  # type: ignore[attr-defined]
        return Event(topic, key, kind, "fake", str(uuid4()), self.clock, payload, subject=subject, sequence=sequence)

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

    def _of(self, execution_id: str) -> list[Run]:
        runs = [run for run in self.stored.values() if run.execution_id == execution_id]
        return sorted(runs, key=lambda run: run.position)

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

    def _move(self, key: RunKey, after: Run) -> Run:
        before, execution = self.stored[key.run_id], self.executions[key.execution_id]
        moves = [(before, after)]
        if after.status.terminal and execution.max_parallel and execution.cancel_requested_at is None:
            waiting = [run for run in self._of(key.execution_id) if run.status is Status.INITIALIZED]
            in_turn = sorted(waiting, key=lambda run: run.turn)
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

    async def claimable(self, platform: Platform, limit: int) -> list[RunKey]:
        runs = [run for run in self.stored.values() if run.target.platform is platform]
        ready = [run for run in runs if lifecycle.is_claimable(run, self.clock)]
        queues: dict[OrgQueue, list[Run]] = defaultdict(list)
        for run in sorted(ready, key=lambda run: (run.claimable_at, run.turn)):
            same = [q for q in queues if (q.rank, q.org_id) == (rank(run), run.org_id)]
            queues[same[0] if same else OrgQueue(rank(run), run.org_id, run.claimable_at or self.clock)].append(run)
        running = Counter(run.org_id for run in runs if run.lease is not None)
        left = {queue.org_id: self._left(queue.org_id) for queue in queues}
        chosen = [queues[q] for q in share_slots(queues, limit, running=running, served=self.served, left=left)]
        found = [waiting.pop(0) for waiting in chosen if waiting]
        return [RunKey(run.execution_id, run.id) for run in found]

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

    async def ask(self, key: RunKey, token: int, asked: QuestionPrompt, patience: timedelta) -> Question | None:
        return self._move(
            key, lifecycle.ask_question(self.stored[key.run_id], token, asked, patience, self.clock)
        ).open_question

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        run = self.stored[key.run_id]
        lifecycle.check_token(run, token)
        return run.question.answer if run.question is not None and run.question.asked.id == question_id else None

    async def withdraw(self, key: RunKey, token: int, question_id: str) -> str | None:
        question = self._move(key, lifecycle.withdraw_question(self.stored[key.run_id], token, question_id)).question
        return question.answer if question is not None and question.asked.id == question_id else None

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> Run:
        run = await self.run(execution_id, run_id)
        try:
            answered = lifecycle.answer_question(run, question_id, text, self.clock)
        except lifecycle.QuestionNotOpen as error:
            raise FailedPrecondition(error.message, reason=error.reason) from error
        return self._move(RunKey(execution_id, run_id), answered)

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


class FakeArtifacts:
    """Artifacts in memory; every write raises `down` if set."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, int, str], bytes] = {}
        self.down: Exception | None = None

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        if self.down:
            raise self.down
        self.kept[run_id, attempt, name] = content

    async def read(self, run_id: str, attempt: int, name: str) -> AsyncIterator[bytes]:
        if (run_id, attempt, name) not in self.kept:
            raise NotFound("Object not found")
        yield self.kept[run_id, attempt, name]


class FakeAttempts:
    """Attempts with the given `results`, one after the other (then passing), that block until `release` is set."""

    def __init__(self, *results: AttemptResult | Exception, devices: int = 100, blocking: bool = False) -> None:
        self.results = list(results)
        self.devices = devices
        self.release = asyncio.Event()
        if not blocking:
            self.release.set()
        self.begun: list[Claim] = []
        self.cancelled: list[Claim] = []

    @property
    def platforms(self) -> Sequence[Platform]:
        return tuple(Platform)

    def places(self, platform: Platform) -> int:
        return self.devices

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        self.begun.append(claim)
        try:
            await self.release.wait()
            result = self.results.pop(0) if self.results else AttemptResult(device="phone-1", simulated=True)
        except asyncio.CancelledError:
            self.cancelled.append(claim)
            raise
        if isinstance(result, Exception):
            raise result
        return result
