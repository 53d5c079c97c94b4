"""Asking a person about a claimed run, and receiving the answer."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from mobiletest_automation.ports import HumanQuestion
from services.chassis.errors import Unavailable
from services.executor.model.runs import Question, QuestionPrompt
from services.executor.ports.runs import Claim, RunKey
from services.executor.storage.runs import MongoRuns
from services.executor.worker.human_channel import HumanChannel
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, run_of, running, started
from tests.eventually import eventually
from tests.fakes.executor import plan

QUESTION = HumanQuestion("Which one?", 2, ("retry", "skip"), "attempt-1-x.png")
FOREVER = 3600.0


class Shaky(MongoRuns):
    """Fails `failures` times before it answers; `asked` counts the questions."""

    failures = asked = 0

    async def ask(self, key: RunKey, token: int, prompt: QuestionPrompt, patience: timedelta) -> Question | None:
        self._fail()
        question = await super().ask(key, token, prompt, patience)
        self.asked += 1
        return question

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        self._fail()
        return await super().answer_to(key, token, question_id)

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("No database.")


@pytest.fixture
def runs(world: World) -> Shaky:
    return Shaky(world.transactions)


@pytest.fixture
async def claim(world: World) -> Claim:
    return await running(world)


def ask(runs: Shaky, claim: Claim, seconds: float = FOREVER) -> "asyncio.Task[str | None]":
    return asyncio.create_task(HumanChannel(runs, claim, seconds, every=0.001).ask(QUESTION))


async def answer(world: World, claim: Claim, text: str) -> None:
    await world.executions.answer(claim.key.execution_id, claim.key.run_id, None, text)


async def test_a_question_is_stored_completely_and_its_answer_returned(world: World, runs: Shaky, claim: Claim) -> None:
    """Outages of the database only delay them."""
    runs.failures = 3
    asking = ask(runs, claim)
    await eventually(lambda: runs.asked)
    question = (await run_of(world, claim.key)).open_question
    assert question is not None
    assert (question.prompt.text, question.prompt.step_index) == ("Which one?", 2)
    assert (question.prompt.options, question.prompt.screenshot) == (("retry", "skip"), "attempt-1-x.png")
    runs.failures = 3
    await answer(world, claim, "skip")
    assert await asking == "skip"


async def test_an_unanswered_question_is_withdrawn(world: World, runs: Shaky, claim: Claim) -> None:
    assert await ask(runs, claim, 0.01) is None
    assert (await run_of(world, claim.key)).open_question is None


async def test_a_question_expires_with_its_run(world: World, runs: Shaky, claim: Claim) -> None:
    await world.advance(world.limits.run_timeout.total_seconds())
    assert await ask(runs, claim) is None


async def test_a_question_expires_with_the_timeout_of_its_test(world: World, runs: Shaky) -> None:
    [key] = await started(world, replace(plan(), timeout_seconds=1))
    assert await ask(runs, await claimed(world, key)) is None


async def test_a_lost_run_asks_nobody(world: World, runs: Shaky, claim: Claim) -> None:
    await world.runs.hand_back(claim.key, claim.run.fencing_token)
    assert await ask(runs, claim) is None


async def test_losing_the_run_ends_the_wait_for_an_answer(world: World, runs: Shaky, claim: Claim) -> None:
    asking = ask(runs, claim)
    await eventually(lambda: runs.asked)
    await world.runs.hand_back(claim.key, claim.run.fencing_token)
    assert await asking is None


async def test_a_long_database_outage_counts_as_no_answer(runs: Shaky, claim: Claim) -> None:
    runs.failures = 10**9
    assert await ask(runs, claim, 0.01) is None
