"""Questions of runs and their answers."""

from datetime import timedelta
from uuid import uuid4

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import FailedPrecondition, NotFound
from services.executor.events import to_execution_event
from services.executor.model.executions import Execution
from services.executor.model.lifecycle import Fenced
from services.executor.model.runs import QuestionPrompt
from services.executor.ports.executions import Page
from services.executor.storage.executions import MongoWaitingRuns
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import running

ASKED = QuestionPrompt(
    id="q1", text="Which one?", step_index=2, options=("retry", "skip"), screenshot="attempt-1-x.png"
)
PATIENCE = timedelta(seconds=60)


async def questions_published(world: World, execution: Execution) -> list[str]:
    """The open question of the run in each of its events, "" for none."""
    events = [to_execution_event(event) for event in await world.executions.log(execution.id, 0, 100)]
    return [event.run.question.id for event in events if event is not None and event.WhichOneof("event") == "run"]


async def test_a_worker_receives_the_answer_to_its_question(world: World) -> None:
    claim = await running(world)
    key, token = claim.key, claim.run.fencing_token
    question = await world.runs.ask(key, token, ASKED, PATIENCE)
    assert question is not None
    assert question.expires_at - question.asked_at == PATIENCE
    shown = (await world.executions.run(key.execution_id, key.run_id)).open_question
    assert shown is not None
    assert shown.prompt == ASKED
    assert await world.runs.answer_to(key, token, "q1") is None
    answered = await world.executions.answer(key.execution_id, key.run_id, "q1", "skip")
    assert answered.open_question is None
    assert await world.runs.answer_to(key, token, "q1") == "skip"
    assert await world.runs.answer_to(key, token, "q2") is None
    assert await questions_published(world, claim.execution) == ["", "", "q1", ""]


async def test_the_runs_that_wait_for_an_answer_are_listed_the_oldest_question_first(world: World) -> None:
    claims = [await running(world) for _ in range(3)]
    waiting = MongoWaitingRuns(world.mongo)
    for claim in reversed(claims):
        await world.runs.ask(claim.key, claim.run.fencing_token, ASKED, PATIENCE)
    other = await running(world, org_id=str(uuid4()))
    await world.runs.ask(other.key, other.run.fencing_token, ASKED, PATIENCE)
    await world.executions.answer(claims[1].execution.id, claims[1].run.id, None, "skip")
    pages = {Page(1, 1): claims[2:], Page(2, 1): claims[:1], Page(3, 1): [], Page(1, 9): claims[::-2]}
    for page, expected in pages.items():
        runs, total = await waiting.asking(page)
        assert ([run.id for run in runs], total) == ([claim.run.id for claim in expected], 2)
    with bind(Caller(org_id=str(uuid4()))):
        assert await waiting.asking(Page(1, 9)) == ([], 0)


async def test_only_the_open_question_of_an_own_run_can_be_answered(world: World) -> None:
    claim = await running(world)
    key, token = claim.key, claim.run.fencing_token
    with pytest.raises(FailedPrecondition):
        await world.executions.answer(key.execution_id, key.run_id, None, "skip")
    await world.runs.ask(key, token, ASKED, PATIENCE)
    with pytest.raises(FailedPrecondition):
        await world.executions.answer(key.execution_id, key.run_id, "q0", "skip")
    with pytest.raises(NotFound):
        await world.executions.answer(key.execution_id, str(uuid4()), "q1", "skip")
    with bind(Caller(org_id=str(uuid4()))), pytest.raises(NotFound):
        await world.executions.answer(key.execution_id, key.run_id, "q1", "skip")
    await world.executions.answer(key.execution_id, key.run_id, None, "skip")
    with pytest.raises(FailedPrecondition):
        await world.executions.answer(key.execution_id, key.run_id, "q1", "retry")


async def test_withdrawing_a_question_returns_an_earlier_answer(world: World) -> None:
    claim = await running(world)
    key, token = claim.key, claim.run.fencing_token
    await world.runs.ask(key, token, ASKED, PATIENCE)
    assert await world.runs.withdraw(key, token, "q1") is None
    with pytest.raises(FailedPrecondition):
        await world.executions.answer(key.execution_id, key.run_id, "q1", "skip")
    await world.runs.ask(key, token, QuestionPrompt(id="q2", text="And now?", step_index=2), PATIENCE)
    await world.executions.answer(key.execution_id, key.run_id, "q2", "skip")
    assert await world.runs.withdraw(key, token, "q2") == "skip"


async def test_a_worker_with_an_old_token_cannot_ask(world: World) -> None:
    claim = await running(world)
    key, token = claim.key, claim.run.fencing_token
    await world.runs.ask(key, token, ASKED, PATIENCE)
    await world.runs.hand_back(key, token)
    for asking in (
        world.runs.ask(key, token, ASKED, PATIENCE),
        world.runs.answer_to(key, token, "q1"),
        world.runs.withdraw(key, token, "q1"),
    ):
        with pytest.raises(Fenced):
            await asking
    assert (await world.executions.run(key.execution_id, key.run_id)).question is None


async def test_a_cancelled_run_asks_nothing(world: World) -> None:
    claim = await running(world)
    key, token = claim.key, claim.run.fencing_token
    await world.runs.ask(key, token, ASKED, PATIENCE)
    await world.executions.cancel(key.execution_id)
    assert (await world.executions.run(key.execution_id, key.run_id)).open_question is None
    assert await world.runs.ask(key, token, ASKED, PATIENCE) is None
