"""Asks a person about a claimed run: the question is stored on the run, and the answer is polled from there."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from mobiletest_automation.ports import HumanQuestion
from services.chassis import logs
from services.chassis.retry import is_transient, retry_transient
from services.executor import telemetry
from services.executor.model.lifecycle import Fenced
from services.executor.model.runs import Question, QuestionPrompt
from services.executor.ports.runs import Claim, Runs

POLL_SECONDS = 0.5
# Answers are accepted until this long before the run's deadline, so that the step can still fail by itself.
MARGIN_SECONDS = 1.0

T = TypeVar("T")
log = logs.get(__name__)


class HumanChannel:
    """The port `Human` for one attempt. A lost run asks nobody; database outages are waited out."""

    def __init__(self, runs: Runs, claim: Claim, seconds: float, *, every: float = POLL_SECONDS) -> None:
        """`seconds`: how long a person has to answer, within the time left for the run, which starts now.
        `every`: the polling interval.
        """
        self._runs = runs
        self._key = claim.key
        self._token = claim.run.fencing_token
        self._seconds = seconds
        self._run_ends = monotonic() + claim.attempt_seconds
        self._every = every

    async def ask(self, question: HumanQuestion) -> str | None:
        prompt = QuestionPrompt(
            id=str(uuid4()),
            text=question.text,
            step_index=question.step_index,
            options=question.options,
            screenshot=question.screenshot,
        )
        answer = await self._ask(prompt)
        telemetry.questions.labels("unanswered" if answer is None else "answered").inc()
        return answer

    async def _ask(self, prompt: QuestionPrompt) -> str | None:
        seconds = min(self._seconds, self._run_ends - MARGIN_SECONDS - monotonic())
        if seconds <= 0:
            return None
        until, patience = monotonic() + seconds, timedelta(seconds=seconds)
        try:
            asked = await self._retry(lambda: self._runs.ask(self._key, self._token, prompt, patience), until)
            return await self._poll_answer(asked, until) if asked is not None else None
        except Fenced:
            log.warning("question_was_fenced", run_id=self._key.run_id)
            return None

    async def _poll_answer(self, question: Question, until: float) -> str | None:
        """The answer given before the question expires, or at the moment when it is withdrawn."""
        key, token, question_id = self._key, self._token, question.prompt.id
        until = min(until, monotonic() + (question.expires_at - question.asked_at).total_seconds())
        while monotonic() < until:
            answer = await self._retry(lambda: self._runs.answer_to(key, token, question_id), until)
            if answer is not None:
                return answer
            await asyncio.sleep(min(self._every, max(0.0, until - monotonic())))
        return await self._retry(lambda: self._runs.withdraw(key, token, question_id), until)

    async def _retry(self, call: Callable[[], Awaitable[T | None]], until: float) -> T | None:
        """The result of the call; None when the database is unavailable until then."""
        try:
            return await retry_transient(
                call,
                log=log,
                event="question_postponed",
                until=until,
                pause=lambda _: self._every,
                run_id=self._key.run_id,
            )
        except Exception as error:
            if not is_transient(error):
                raise
            return None
