"""The person who may be asked about a claimed run: the question lies on the run, its answer is fetched from there."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from time import monotonic
from typing import TypeVar
from uuid import uuid4

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor import telemetry
from services.executor.automation.ports import HumanQuestion
from services.executor.model.lifecycle import Fenced
from services.executor.model.questions import Question, QuestionPrompt
from services.executor.ports.runs import Claim, Runs

POLL_SECONDS = 0.5
MARGIN_SECONDS = 1.0
"""So long before the end of the run's time it is too late for an answer: the step has to fail by itself yet."""

T = TypeVar("T")
log = logs.get(__name__)


class HumanChannel:
    """The port `Human` for one attempt. Somebody else's run asks nobody; a database that is away is asked again."""

    def __init__(self, runs: Runs, claim: Claim, seconds: float, *, every: float = POLL_SECONDS) -> None:
        """`seconds` is how long a person has for an answer, within the time of the run, which begins now; `every` how
        often one is looked for.
        """
        self._runs = runs
        self._key = claim.key
        self._token = claim.run.fencing_token
        self._seconds = seconds
        self._run_ends = monotonic() + min(claim.seconds_left, claim.plan.timeout_seconds or float("inf"))
        self._every = every

    async def ask(self, question: HumanQuestion) -> str | None:
        answer = await self._asked(
            QuestionPrompt(
                id=str(uuid4()),
                text=question.text,
                step_index=question.step_index,
                options=question.options,
                screenshot=question.screenshot,
            )
        )
        telemetry.questions.labels("unanswered" if answer is None else "answered").inc()
        return answer

    async def _asked(self, asked: QuestionPrompt) -> str | None:
        seconds = min(self._seconds, self._run_ends - MARGIN_SECONDS - monotonic())
        if seconds <= 0:
            return None
        until, patience = monotonic() + seconds, timedelta(seconds=seconds)
        try:
            put = await self._insisting(lambda: self._runs.ask(self._key, self._token, asked, patience), until)
            return await self._answered(put, until) if put is not None else None
        except Fenced:
            log.warning("question_was_fenced", run_id=self._key.run_id)
            return None

    async def _answered(self, question: Question, until: float) -> str | None:
        """What is answered before the question expires, or in the moment in which it is withdrawn."""
        key, token, question_id = self._key, self._token, question.asked.id
        until = min(until, monotonic() + (question.expires_at - question.asked_at).total_seconds())
        while monotonic() < until:
            answer = await self._insisting(lambda: self._runs.answer_to(key, token, question_id), until)
            if answer is not None:
                return answer
            await asyncio.sleep(min(self._every, max(0.0, until - monotonic())))
        return await self._insisting(lambda: self._runs.withdraw(key, token, question_id), until)

    async def _insisting(self, call: Callable[[], Awaitable[T | None]], until: float) -> T | None:
        """What the call says; None when the database is away until then."""
        while True:
            try:
                return await call()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("question_postponed", run_id=self._key.run_id, error=repr(error))
                if monotonic() >= until:
                    return None
                await asyncio.sleep(self._every)
