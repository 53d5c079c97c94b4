"""The invariants of a run hold under any sequence of transitions (a hypothesis state machine)."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.executor.model import lifecycle
from services.executor.model.attempts import AttemptMode, AttemptResult
from services.executor.model.executions import Execution, apply_run_change
from services.executor.model.failures import Category, Failure
from services.executor.model.lifecycle import Fenced, NotClaimable, QuestionNotOpen
from services.executor.model.runs import QuestionPrompt, Run
from services.executor.model.states import NEXT, Status
from tests.examples import examples
from tests.unit.executor.model.builders import LIMITS, NOW, execution_of, new_run

RESULTS = st.one_of(
    st.just(AttemptResult()),
    st.builds(
        lambda category, cache_failed: AttemptResult(failure=Failure(category, "It broke."), cache_failed=cache_failed),
        st.sampled_from(Category),
        st.booleans(),
    ),
)
EXTRA = st.sampled_from([(), (AttemptMode.UNCACHED,), (AttemptMode.MODEL,), (AttemptMode.UNCACHED, AttemptMode.MODEL)])
ASKED = QuestionPrompt(id="q", text="Which one?", step_index=0)


class Life(RuleBasedStateMachine):
    """One run, its execution, the clock, and every token ever given to a worker."""

    run: Run
    execution: Execution

    def __init__(self) -> None:
        super().__init__()
        self.now: datetime = NOW
        self.tokens: list[int] = []
        self.revisions = 0

    @initialize(retries=st.integers(0, 5), extra=EXTRA)
    def start(self, retries: int, extra: tuple[AttemptMode, ...]) -> None:
        self.run = replace(new_run(retries=retries), extra_modes=extra)
        self.execution = execution_of(self.run)

    def become(self, after: Run) -> None:
        before = self.run
        assert after.status is before.status or after.status in NEXT[before.status]
        assert after.fencing_token >= before.fencing_token
        assert len(after.attempts) in (len(before.attempts), len(before.attempts) + 1)
        if before.status.terminal:
            assert after == before
        self.execution = apply_run_change(self.execution, before, after, self.now)
        self.run = after

    @rule(seconds=st.floats(0, 4000))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @precondition(lambda self: self.run.status is Status.INITIALIZED)
    @rule()
    def queue(self) -> None:
        self.become(lifecycle.queue(self.run, self.now))

    @rule()
    def claim(self) -> None:
        try:
            after = lifecycle.claim(self.run, "worker", self.now, LIMITS)
        except NotClaimable:
            assert not lifecycle.is_claimable(self.run, self.now)
            return
        assert after.fencing_token not in self.tokens
        self.tokens.append(after.fencing_token)
        self.become(after)

    @precondition(lambda self: self.tokens)
    @rule(result=RESULTS, back=st.booleans(), choice=st.data())
    def write(self, result: AttemptResult, back: bool, choice: st.DataObject) -> None:
        token = choice.draw(st.sampled_from(self.tokens))
        try:
            if back:
                after = lifecycle.hand_back(self.run, token, self.now)
            else:
                after = lifecycle.finish(self.run, token, result, self.now, LIMITS)
        except Fenced:
            assert self.run.lease is None or self.run.fencing_token != token
            return
        assert self.run.fencing_token == token
        self.become(after)

    @precondition(lambda self: self.run.lease is not None)
    @rule(seconds=st.floats(1, 900))
    def ask(self, seconds: float) -> None:
        self.become(
            lifecycle.ask_question(self.run, self.run.fencing_token, ASKED, timedelta(seconds=seconds), self.now)
        )

    @rule()
    def answer(self) -> None:
        try:
            after = lifecycle.answer_question(self.run, None, "retry", self.now)
        except QuestionNotOpen:
            question = self.run.open_question
            assert question is None or self.now >= question.expires_at
            return
        self.become(after)

    @rule()
    def reap(self) -> None:
        self.become(lifecycle.expire(self.run, self.now, LIMITS))

    @precondition(lambda self: not self.run.status.terminal)
    @rule(superseded_by=st.sampled_from([None, "newer", "newest"]))
    def cancel(self, superseded_by: str | None) -> None:
        before = self.run
        self.become(lifecycle.request_cancel(before, self.now, superseded_by))
        if before.cancel_requested_at is not None:
            assert self.run.superseded_by == before.superseded_by

    @invariant()
    def attempts_are_numbered_without_gaps_and_only_the_last_may_be_open(self) -> None:
        attempts = self.run.attempts
        assert [attempt.number for attempt in attempts] == list(range(1, len(attempts) + 1))
        assert all(attempt.status.terminal for attempt in attempts[:-1])

    @invariant()
    def somebody_owns_it_or_may_claim_it_or_it_is_over(self) -> None:
        run = self.run
        if run.status is Status.RUNNING:
            assert (run.lease is None) != (run.claimable_at is None)
            assert (run.lease is None) == run.attempts[-1].status.terminal
        if run.status.terminal:
            assert (run.lease, run.claimable_at) == (None, None)
            assert run.completed_at is not None

    @invariant()
    def whatever_is_released_ends_by_time(self) -> None:
        if self.run.status in (Status.QUEUED, Status.RUNNING):
            assert self.run.due_at(LIMITS) is not None

    @invariant()
    def a_verdict_has_a_success_and_nothing_else_has(self) -> None:
        assert (self.run.success is not None) == (self.run.status is Status.COMPLETED)
        assert (self.run.failure is None) == (self.run.success is True or not self.run.status.terminal)

    @invariant()
    def only_a_run_that_somebody_works_on_and_nobody_cancels_asks(self) -> None:
        if self.run.open_question is not None:
            assert self.run.lease is not None
            assert self.run.cancel_requested_at is None

    @invariant()
    def retries_stay_in_their_bounds(self) -> None:
        failed = sum(attempt.failed_verdict for attempt in self.run.attempts)
        broken = sum(attempt.failed_by_infrastructure for attempt in self.run.attempts)
        extra = [attempt.mode for attempt in self.run.attempts if attempt.failed_verdict]
        assert all(
            extra.count(mode) <= (mode in self.run.extra_modes) for mode in (AttemptMode.UNCACHED, AttemptMode.MODEL)
        )
        assert failed <= self.run.retries + 1 + len(self.run.extra_modes)
        assert broken <= LIMITS.infrastructure_retries + 1

    @invariant()
    def the_execution_adds_up_and_ends_with_its_run(self) -> None:
        counts = self.execution.counts
        parts = counts.queued, counts.running, counts.passed, counts.failed, counts.cancelled, counts.infra_failed
        assert counts.total == sum(parts) == 1
        assert min(parts) == 0
        assert self.execution.status.terminal == self.run.status.terminal


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
