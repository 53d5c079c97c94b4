"""Asking a person about a claimed run, and receiving the answer."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from services.chassis.context import bind
from services.chassis.errors import Unavailable
from services.executor.automation.ports import HumanQuestion
from services.executor.model.runs import Question, QuestionPrompt
from services.executor.ports.runs import Claim, RunKey
from services.executor.worker.human_channel import HumanChannel
from tests.eventually import eventually
from tests.fakes.executor import plan
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import CALLER, started

QUESTION = HumanQuestion("Which one?", 2, ("retry", "skip"), "attempt-1-x.png")
EVERY = 0.001


class Shaky(FakeExecutions):
    """Fails `failures` times before it answers; `asked` counts the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.asked = 0

    async def ask(self, key: RunKey, token: int, asked: QuestionPrompt, patience: timedelta) -> Question | None:
        self._fail()
        self.asked += 1
        return await super().ask(key, token, asked, patience)

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        self._fail()
        return await super().answer_to(key, token, question_id)

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("No database.")


async def claimed(store: FakeExecutions) -> Claim:
    [key] = await started(store)
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    return claim


async def answer(store: FakeExecutions, claim: Claim, text: str) -> None:
    await eventually(lambda: store.stored[claim.run.id].open_question)
    with bind(CALLER):
        await store.answer(claim.run.execution_id, claim.run.id, None, text)


async def test_a_question_is_stored_completely_and_its_answer_returned() -> None:
    store = Shaky()
    claim = await claimed(store)
    asking = asyncio.create_task(HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION))
    await eventually(lambda: store.stored[claim.run.id].open_question)
    question = store.stored[claim.run.id].open_question
    assert question is not None
    assert (question.prompt.text, question.prompt.step_index) == ("Which one?", 2)
    assert (question.prompt.options, question.prompt.screenshot) == (("retry", "skip"), "attempt-1-x.png")
    await answer(store, claim, "skip")
    assert await asking == "skip"


async def test_an_unanswered_question_is_withdrawn() -> None:
    store = Shaky()
    claim = await claimed(store)
    assert await HumanChannel(store, claim, 0.01, every=EVERY).ask(QUESTION) is None
    assert store.stored[claim.run.id].open_question is None


async def test_a_question_expires_with_its_run() -> None:
    store = Shaky()
    claim = await claimed(store)
    store.advance(store.limits.run_timeout.total_seconds())
    assert await HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION) is None


async def test_a_question_expires_with_the_timeout_of_its_test() -> None:
    store = Shaky()
    [key] = await started(store, replace(plan(), timeout_seconds=1))
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    assert await HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION) is None


async def test_a_lost_run_asks_nobody() -> None:
    store = Shaky()
    claim = await claimed(store)
    await store.hand_back(claim.key, claim.run.fencing_token)
    assert await HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION) is None


async def test_losing_the_run_ends_the_wait_for_an_answer() -> None:
    store = Shaky()
    claim = await claimed(store)
    asking = asyncio.create_task(HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION))
    await eventually(lambda: store.stored[claim.run.id].open_question)
    await store.hand_back(claim.key, claim.run.fencing_token)
    assert await asking is None


async def test_a_short_database_outage_only_delays_the_answer() -> None:
    store = Shaky()
    claim = await claimed(store)
    store.failures = 3
    asking = asyncio.create_task(HumanChannel(store, claim, 60, every=EVERY).ask(QUESTION))
    await eventually(lambda: store.asked)
    store.failures = 3
    await answer(store, claim, "retry")
    assert await asking == "retry"


async def test_a_long_database_outage_counts_as_no_answer() -> None:
    store = Shaky()
    claim = await claimed(store)
    store.failures = 10**9
    assert await HumanChannel(store, claim, 0.01, every=EVERY).ask(QUESTION) is None
