"""How a run asks a person, and when it does not ask any more."""

from datetime import timedelta

import pytest

from services.executor.model import asking, changes, lifecycle
from services.executor.model.asking import NotAsked
from services.executor.model.lifecycle import Fenced
from services.executor.model.questions import Asked
from services.executor.model.runs import Run
from tests.unit.executor.model.making import LIMITS, NOW, claimed_run, execution_of, failing, later

ASKED = Asked(id="q1", text="Which one?", step_index=2, options=("retry", "skip"), screenshot="attempt-1-x.png")
PATIENCE = timedelta(seconds=60)


def asking_run(seconds: float = 1) -> Run:
    run = claimed_run()
    return asking.ask(run, run.fencing_token, ASKED, PATIENCE, later(seconds))


def test_a_question_stands_until_it_is_answered() -> None:
    run = asking_run()
    assert run.open_question is not None
    assert (run.open_question.asked_at, run.open_question.expires_at) == (later(1), later(61))
    answered = asking.answer(run, None, "retry", later(2))
    assert answered.open_question is None
    assert answered.question is not None
    assert answered.question.answer == "retry"


def test_a_question_does_not_outlast_the_run() -> None:
    run = claimed_run()
    late = LIMITS.run_timeout.total_seconds() - 5
    asked = asking.ask(run, run.fencing_token, ASKED, PATIENCE, later(late))
    assert asked.open_question is not None
    assert asked.open_question.expires_at == run.deadline_at == NOW + LIMITS.run_timeout


def test_only_the_owner_asks_and_withdraws() -> None:
    run = asking_run()
    with pytest.raises(Fenced):
        asking.ask(run, run.fencing_token - 1, ASKED, PATIENCE, later(2))
    with pytest.raises(Fenced):
        asking.withdraw(run, run.fencing_token + 1, "q1")


@pytest.mark.parametrize(
    ("question_id", "seconds", "reason"),
    [("q0", 2, "OTHER_QUESTION"), (None, 61, "QUESTION_EXPIRED"), ("q1", 61, "QUESTION_EXPIRED")],
)
def test_what_is_not_asked_is_not_answered(question_id: str | None, seconds: float, reason: str) -> None:
    with pytest.raises(NotAsked) as caught:
        asking.answer(asking_run(), question_id, "retry", later(seconds))
    assert caught.value.reason == reason


def test_nothing_is_answered_twice_or_after_the_question_is_gone() -> None:
    run = asking_run()
    cancelled = lifecycle.request_cancel(run, later(2))
    withdrawn = asking.withdraw(run, run.fencing_token, "q1")
    handed_back = lifecycle.hand_back(run, run.fencing_token, later(2))
    ended = lifecycle.finish(run, run.fencing_token, failing(), later(2), LIMITS)
    assert run.lease is not None
    lost = lifecycle.overdue(run, run.lease.expires_at, LIMITS)
    answered = asking.answer(run, "q1", "retry", later(2))
    for after in (claimed_run(), cancelled, withdrawn, handed_back, ended, lost, answered):
        assert after.open_question is None
        with pytest.raises(NotAsked):
            asking.answer(after, None, "retry", later(3))
    for after in (handed_back, ended, lost):
        assert after.question is None


def test_an_answer_that_came_before_the_withdrawal_stays() -> None:
    run = asking.answer(asking_run(), "q1", "retry", later(2))
    assert asking.withdraw(run, run.fencing_token, "q1") == run
    open_one = asking_run()
    assert asking.withdraw(open_one, open_one.fencing_token, "another") == open_one


def test_a_run_that_is_to_be_cancelled_asks_nothing() -> None:
    run = lifecycle.request_cancel(claimed_run(), later(1))
    assert asking.ask(run, run.fencing_token, ASKED, PATIENCE, later(2)) == run


def test_watchers_are_told_of_a_question_and_of_its_end() -> None:
    before = claimed_run()
    after = asking.ask(before, before.fencing_token, ASKED, PATIENCE, later(1))
    execution = execution_of(before)
    told = changes.apply(execution, [(before, after)], later(1))
    assert [fact.run.open_question for fact in told.facts] == [after.open_question]
    answered = asking.answer(told.runs[0], None, "skip", later(2))
    assert len(changes.apply(told.execution, [(told.runs[0], answered)], later(2)).facts) == 1
