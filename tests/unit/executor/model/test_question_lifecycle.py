"""How a question of a run is opened, answered and closed."""

from datetime import timedelta

import pytest

from services.executor.model import changes, lifecycle
from services.executor.model.lifecycle import Fenced, QuestionNotOpen
from services.executor.model.runs import QuestionPrompt, Run
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, execution_of, failing, later

ASKED = QuestionPrompt(
    id="q1", text="Which one?", step_index=2, options=("retry", "skip"), screenshot="attempt-1-x.png"
)
PATIENCE = timedelta(seconds=60)


def asking_run(seconds: float = 1) -> Run:
    run = claimed_run()
    return lifecycle.ask_question(run, run.fencing_token, ASKED, PATIENCE, later(seconds))


def test_a_question_is_open_until_it_is_answered() -> None:
    run = asking_run()
    assert run.open_question is not None
    assert (run.open_question.asked_at, run.open_question.expires_at) == (later(1), later(61))
    answered = lifecycle.answer_question(run, None, "retry", later(2))
    assert answered.open_question is None
    assert answered.question is not None
    assert answered.question.answer == "retry"


def test_a_question_expires_with_the_run() -> None:
    run = claimed_run()
    late = LIMITS.run_timeout.total_seconds() - 5
    asked = lifecycle.ask_question(run, run.fencing_token, ASKED, PATIENCE, later(late))
    assert asked.open_question is not None
    assert asked.open_question.expires_at == run.deadline_at == NOW + LIMITS.run_timeout


def test_only_the_lease_owner_asks_and_withdraws() -> None:
    run = asking_run()
    with pytest.raises(Fenced):
        lifecycle.ask_question(run, run.fencing_token - 1, ASKED, PATIENCE, later(2))
    with pytest.raises(Fenced):
        lifecycle.withdraw_question(run, run.fencing_token + 1, "q1")


@pytest.mark.parametrize(
    ("question_id", "seconds", "reason"),
    [("q0", 2, "OTHER_QUESTION"), (None, 61, "QUESTION_EXPIRED"), ("q1", 61, "QUESTION_EXPIRED")],
)
def test_only_the_open_question_can_be_answered(question_id: str | None, seconds: float, reason: str) -> None:
    with pytest.raises(QuestionNotOpen) as caught:
        lifecycle.answer_question(asking_run(), question_id, "retry", later(seconds))
    assert caught.value.reason == reason


def test_a_closed_question_cannot_be_answered() -> None:
    run = asking_run()
    cancelled = lifecycle.request_cancel(run, later(2))
    withdrawn = lifecycle.withdraw_question(run, run.fencing_token, "q1")
    handed_back = lifecycle.hand_back(run, run.fencing_token, later(2))
    ended = lifecycle.finish(run, run.fencing_token, failing(), later(2), LIMITS)
    assert run.lease is not None
    lost = lifecycle.expire(run, run.lease.expires_at, LIMITS)
    answered = lifecycle.answer_question(run, "q1", "retry", later(2))
    for after in (claimed_run(), cancelled, withdrawn, handed_back, ended, lost, answered):
        assert after.open_question is None
        with pytest.raises(QuestionNotOpen):
            lifecycle.answer_question(after, None, "retry", later(3))
    for after in (handed_back, ended, lost):
        assert after.question is None


def test_an_answer_before_the_withdrawal_stays() -> None:
    run = lifecycle.answer_question(asking_run(), "q1", "retry", later(2))
    assert lifecycle.withdraw_question(run, run.fencing_token, "q1") == run
    open_one = asking_run()
    assert lifecycle.withdraw_question(open_one, open_one.fencing_token, "another") == open_one


def test_a_run_being_cancelled_asks_nothing() -> None:
    run = lifecycle.request_cancel(claimed_run(), later(1))
    assert lifecycle.ask_question(run, run.fencing_token, ASKED, PATIENCE, later(2)) == run


def test_questions_are_published_when_asked_and_closed() -> None:
    before = claimed_run()
    after = lifecycle.ask_question(before, before.fencing_token, ASKED, PATIENCE, later(1))
    execution = execution_of(before)
    told = changes.apply_moves(execution, [(before, after)], later(1))
    assert [fact.run.open_question for fact in told.facts] == [after.open_question]
    answered = lifecycle.answer_question(told.runs[0], None, "skip", later(2))
    assert len(changes.apply_moves(told.execution, [(told.runs[0], answered)], later(2)).facts) == 1
