"""Answering what a run asks, and looking at the picture that comes with the question."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from services.chassis.context import bind
from services.chassis.errors import FailedPrecondition, NotFound
from services.executor.messages.runs import run_proto
from services.executor.model.questions import QuestionPrompt
from services.executor.ports.runs import Claim
from services.executor.usecases.executions import ExecutionAnswers, ExecutionControl
from tests.fakes.executor import FakeArtifacts, FakeChangeNotifications, FakeExecutions
from tests.unit.executor.worker.builders import CALLER, started

PICTURE = "attempt-1-step-002-question-1.png"
ASKED = QuestionPrompt(id="q1", text="Which one?", step_index=2, options=("retry", "skip"), screenshot=PICTURE)


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    with bind(CALLER):
        yield


async def asking(store: FakeExecutions, asked: QuestionPrompt = ASKED) -> Claim:
    [key] = await started(store)
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    await store.ask(key, claim.run.fencing_token, asked, timedelta(seconds=60))
    return claim


async def test_an_answer_closes_the_question() -> None:
    store = FakeExecutions()
    claim = await asking(store)
    execution, run = await ExecutionAnswers(store).answer(claim.key.execution_id, claim.key.run_id, "q1", "  skip ")
    assert (execution.id, run.open_question) == (claim.key.execution_id, None)
    assert await store.answer_to(claim.key, claim.run.fencing_token, "q1") == "skip"
    with pytest.raises(FailedPrecondition):
        await ExecutionAnswers(store).answer(claim.key.execution_id, claim.key.run_id, None, "skip")


async def test_what_does_not_exist_is_not_answered() -> None:
    store = FakeExecutions()
    claim = await asking(store)
    for ids in (("x", claim.key.run_id), (claim.key.execution_id, "x")):
        with pytest.raises(NotFound):
            await ExecutionAnswers(store).answer(*ids, None, "skip")


async def test_the_question_is_shown_with_its_picture_while_the_attempt_goes_on() -> None:
    store, artifacts = FakeExecutions(), FakeArtifacts()
    claim = await asking(store)
    artifacts.kept[claim.key.run_id, 1, PICTURE] = b"png"
    following = ExecutionControl(store, FakeChangeNotifications(store), artifacts)
    shown = run_proto(*await following.run(claim.key.execution_id, claim.key.run_id)).question
    assert (shown.id, shown.text, shown.step_index, list(shown.options)) == ("q1", "Which one?", 2, ["retry", "skip"])
    assert shown.screenshot_url.endswith(f"/runs/{claim.key.run_id}/artifacts/{PICTURE}")
    assert (shown.expires_at.ToDatetime() - shown.asked_at.ToDatetime()).total_seconds() == 60
    artifact, chunks = await following.artifact(claim.key.execution_id, claim.key.run_id, PICTURE)
    assert (artifact.content_type, [chunk async for chunk in chunks]) == ("image/png", [b"png"])
    await ExecutionAnswers(store).answer(claim.key.execution_id, claim.key.run_id, None, "skip")
    answered = run_proto(*await following.run(claim.key.execution_id, claim.key.run_id))
    assert not answered.HasField("question")
    _, chunks = await following.artifact(claim.key.execution_id, claim.key.run_id, PICTURE)
    assert [chunk async for chunk in chunks] == [b"png"]


async def test_a_question_without_a_picture_has_no_link() -> None:
    store = FakeExecutions()
    claim = await asking(store, QuestionPrompt(id="q1", text="Which one?", step_index=0))
    following = ExecutionControl(store, FakeChangeNotifications(store), FakeArtifacts())
    assert run_proto(*await following.run(claim.key.execution_id, claim.key.run_id)).question.screenshot_url == ""
    with pytest.raises(NotFound):
        await following.artifact(claim.key.execution_id, claim.key.run_id, "")
