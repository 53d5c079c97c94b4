"""The invariants of runs, their execution and its events hold under any sequence of transitions.

A hypothesis state machine.
"""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mobiletest_automation.model.attempts import AttemptMode
from mobiletest_automation.model.failures import CANCELLATIONS, Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import NEXT, RunCounts, Status, bucket
from services.executor.model import changes, lifecycle
from services.executor.model.changes import Change
from services.executor.model.executions import Execution
from services.executor.model.lifecycle import Fenced, NotClaimable, QuestionNotOpen
from services.executor.model.runs import QuestionPrompt, Run
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
MOST_RUNS = 4
INDEX = st.integers(0, MOST_RUNS - 1)
ASKED = QuestionPrompt(id="q", text="Which one?", step_index=0)


class Story(RuleBasedStateMachine):
    """An execution with its runs, its events so far, the clock, and every token ever given to a worker."""

    execution: Execution

    def __init__(self) -> None:
        super().__init__()
        self.now: datetime = NOW
        self.runs: list[Run] = []
        self.tokens: list[tuple[int, int]] = []
        self.told: list[tuple[int, str, Status]] = []

    @initialize(
        count=st.integers(1, MOST_RUNS),
        max_parallel=st.none() | st.integers(1, 3),
        retries=st.sampled_from([0, 1, 5]),
        extra=EXTRA,
    )
    def start(self, count: int, max_parallel: int | None, retries: int, extra: tuple[AttemptMode, ...]) -> None:
        made = [replace(new_run(retries=retries, position=n), extra_modes=extra) for n in range(count)]
        released = [lifecycle.queue(run, NOW) for run in made[:max_parallel]]
        begun = replace(execution_of(), max_parallel=max_parallel)
        self.runs = [*released, *made[len(released) :]]
        self.take(changes.start_execution(begun, self.runs, NOW))

    def take(self, change: Change) -> None:
        self.execution = change.execution
        changed = {run.id: run for run in change.runs}
        for before in self.runs:
            check_transition(before, changed.get(before.id, before))
        self.runs = [changed.get(run.id, run) for run in self.runs]
        self.told += [(fact.sequence, fact.run.id, fact.run.status) for fact in change.facts]
        if change.publishes_execution:
            self.told.append((change.execution.revision, "execution", change.execution.status))

    def move(self, index: int, after: Run) -> None:
        """As ExecutionTransactions does: a run that ends releases the next one."""
        before = self.runs[index]
        check_transition(before, after)
        moves = [(before, after)]
        ends = before.status is not after.status and after.status.terminal
        if ends and self.execution.max_parallel is not None and self.execution.cancel_requested_at is None:
            waiting = [run for run in self.runs if run.status is Status.INITIALIZED]
            moves += [(run, lifecycle.queue(run, self.now)) for run in waiting[:1]]
        self.take(changes.apply_moves(self.execution, moves, self.now))

    @rule(seconds=st.floats(0, 4000))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(index=INDEX)
    def claim(self, index: int) -> None:
        if index < len(self.runs):
            try:
                after = lifecycle.claim(self.runs[index], "worker", self.now, LIMITS)
            except NotClaimable:
                assert not lifecycle.is_claimable(self.runs[index], self.now)
                return
            assert (index, after.fencing_token) not in self.tokens
            self.tokens.append((index, after.fencing_token))
            self.move(index, after)

    @precondition(lambda self: self.tokens)
    @rule(result=RESULTS, back=st.booleans(), choice=st.data())
    def write(self, result: AttemptResult, back: bool, choice: st.DataObject) -> None:
        index, token = choice.draw(st.sampled_from(self.tokens))
        run = self.runs[index]
        try:
            if back:
                after = lifecycle.hand_back(run, token, self.now)
            else:
                after = lifecycle.finish(run, token, result, self.now, LIMITS)
        except Fenced:
            assert run.lease is None or run.fencing_token != token
            return
        assert (run.lease is not None, run.fencing_token) == (True, token)
        self.move(index, after)

    @rule(index=INDEX, seconds=st.floats(1, 900))
    def ask(self, index: int, seconds: float) -> None:
        if index < len(self.runs) and self.runs[index].lease is not None:
            run = self.runs[index]
            patience = timedelta(seconds=seconds)
            self.move(index, lifecycle.ask_question(run, run.fencing_token, ASKED, patience, self.now))

    @rule(index=INDEX)
    def answer(self, index: int) -> None:
        if index < len(self.runs):
            try:
                after = lifecycle.answer_question(self.runs[index], None, "retry", self.now)
            except QuestionNotOpen:
                question = self.runs[index].open_question
                assert question is None or self.now >= question.expires_at
                return
            self.move(index, after)

    @rule(index=INDEX)
    def reap(self, index: int) -> None:
        if index < len(self.runs):
            self.move(index, lifecycle.expire(self.runs[index], self.now, LIMITS))

    @precondition(lambda self: not self.execution.status.terminal)
    @rule(superseded_by=st.sampled_from([None, "newer", "newest"]))
    def cancel(self, superseded_by: str | None) -> None:
        asked = {run.id: run.superseded_by for run in self.runs if run.cancel_requested_at is not None}
        open_runs = [run for run in self.runs if not run.status.terminal]
        self.take(changes.cancel_execution(self.execution, open_runs, self.now, superseded_by))
        assert [run for run in self.runs if not run.status.terminal and run.lease is None] == []
        assert all(run.superseded_by == asked[run.id] for run in self.runs if run.id in asked)

    @invariant()
    def counts_are_those_of_the_runs(self) -> None:
        counted = Counter(bucket(run.status, run.success) for run in self.runs)
        assert self.execution.counts == RunCounts(total=len(self.runs), **counted)

    @invariant()
    def facts_are_numbered_without_gaps(self) -> None:
        assert [sequence for sequence, _, _ in self.told] == list(range(1, len(self.told) + 1))
        assert self.execution.revision == len(self.told)

    @invariant()
    def everybody_ends_once_and_the_execution_last(self) -> None:
        ends = Counter(who for _, who, status in self.told if status.terminal)
        assert all(number == 1 for number in ends.values())
        assert {who for who in ends if who != "execution"} == {run.id for run in self.runs if run.status.terminal}
        assert self.execution.status.terminal == ("execution" in ends) == (self.execution.counts.open == 0)
        if self.execution.status.terminal:
            assert self.told[-1][1] == "execution"

    @invariant()
    def nobody_waits_for_a_release_that_does_not_come(self) -> None:
        if any(run.status is Status.INITIALIZED for run in self.runs):
            assert any(run.status in (Status.QUEUED, Status.RUNNING) for run in self.runs)

    @invariant()
    def each_run_is_consistent(self) -> None:
        for run in self.runs:
            check_attempts(run)
            check_owner(run)
            check_end(run)


def check_transition(before: Run, after: Run) -> None:
    assert after.status is before.status or after.status in NEXT[before.status]
    assert after.fencing_token >= before.fencing_token
    assert len(after.attempts) in (len(before.attempts), len(before.attempts) + 1)
    if before.status.terminal:
        assert after == before


def check_attempts(run: Run) -> None:
    """They are numbered without gaps, only the last one may be open, and their number is bounded."""
    assert [attempt.number for attempt in run.attempts] == list(range(1, len(run.attempts) + 1))
    assert all(attempt.status.terminal for attempt in run.attempts[:-1])
    extra = [attempt.mode for attempt in run.attempts if attempt.failed_verdict]
    for mode in (AttemptMode.UNCACHED, AttemptMode.MODEL):
        assert extra.count(mode) <= (mode in run.extra_modes)
    assert len(extra) <= run.retries + 1 + len(run.extra_modes)
    assert sum(attempt.failed_by_infrastructure for attempt in run.attempts) <= LIMITS.infrastructure_retries + 1


def check_owner(run: Run) -> None:
    """A run that is not over has a worker or may be claimed, and ends by a time once it is released."""
    if run.status is Status.RUNNING:
        assert (run.lease is None) != (run.claimable_at is None)
        assert (run.lease is None) == run.attempts[-1].status.terminal
    if run.status in (Status.QUEUED, Status.RUNNING):
        assert run.due_at(LIMITS) is not None
    if run.open_question is not None:
        assert run.lease is not None
        assert run.cancel_requested_at is None


def check_end(run: Run) -> None:
    """A verdict has a success and nothing else has; what was cancelled says for what."""
    if run.status.terminal:
        assert (run.lease, run.claimable_at) == (None, None)
        assert run.completed_at is not None
    assert (run.success is not None) == (run.status is Status.COMPLETED)
    assert (run.failure is None) == (run.success is True or not run.status.terminal)
    if run.status is Status.CANCELLED and run.cancel_requested_at is not None:
        assert run.failure is not None
        assert run.failure.category in CANCELLATIONS
        superseded = run.failure.category is Category.CANCELLED_SUPERSEDED
        assert superseded == (run.superseded_by is not None) or run.failure.message == "It broke."


TestStory = Story.TestCase
TestStory.settings = settings(max_examples=examples(400), stateful_step_count=50, deadline=None)
