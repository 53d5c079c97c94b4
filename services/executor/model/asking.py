"""How a run asks a person, and is answered: functions from a run to the run that it becomes, as in lifecycle."""

from dataclasses import replace
from datetime import datetime, timedelta

from services.executor.model.lifecycle import check_token
from services.executor.model.questions import Asked, Question, closed
from services.executor.model.runs import Run


class NotAsked(Exception):
    """There is no such question to answer; `reason` is NOTHING_ASKED, OTHER_QUESTION or QUESTION_EXPIRED."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def ask(run: Run, token: int, asked: Asked, patience: timedelta, now: datetime) -> Run:
    """Ask, for as long as `patience` and the run's time limit allow; a run that is to be cancelled asks nothing."""
    check_token(run, token)
    if run.cancel_requested_at is not None:
        return run
    expires_at = now + patience if run.deadline_at is None else min(now + patience, run.deadline_at)
    return replace(run, question=Question(asked=asked, asked_at=now, expires_at=expires_at))


def answer(run: Run, question_id: str | None, text: str, now: datetime) -> Run:
    """Answer the question of this id, or the open one where none is named. NotAsked when there is none."""
    question = run.question
    if question is not None and question_id is not None and question.asked.id != question_id:
        raise NotAsked("OTHER_QUESTION", "The run does not ask this question: it may have been answered already")
    if question is None or not question.open:
        raise NotAsked("NOTHING_ASKED", "The run asks nothing now")
    if now >= question.expires_at:
        raise NotAsked("QUESTION_EXPIRED", "The time to answer this question is over")
    return replace(run, question=replace(question, answer=text, open=False))


def withdraw(run: Run, token: int, question_id: str) -> Run:
    """Nobody need answer any more; an answer that has come stays."""
    check_token(run, token)
    if run.question is None or run.question.asked.id != question_id:
        return run
    return replace(run, question=closed(run.question))
