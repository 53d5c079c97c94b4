"""Answering a question of a run, and downloading its screenshot."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from services.chassis.context import bind
from services.chassis.errors import FailedPrecondition, NotFound
from services.executor.messages import run_proto
from services.executor.model.runs import QuestionPrompt
from services.executor.ports.runs import Claim
from services.executor.usecases.executions import ExecutionControl
from tests.fakes.executor import FakeArtifacts
from tests.fakes.executor_executions import FakeChangeNotifications, FakeExecutions
from tests.unit.executor.worker.builders import CALLER, started

SCREENSHOT = "attempt-1-step-002-question-1.png"
ASKED = QuestionPrompt(id="q1", text="Which one?", step_index=2, options=("retry", "skip"), screenshot=SCREENSHOT)


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    with bind(CALLER):
        yield


def control_of(store: FakeExecutions, artifacts: FakeArtifacts | None = None) -> ExecutionControl:
    return ExecutionControl(store, FakeChangeNotifications(store), artifacts or FakeArtifacts())


async def asking(store: FakeExecutions, asked: QuestionPrompt = ASKED) -> Claim:
    [key] = await started(store)
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    await store.ask(key, claim.run.fencing_token, asked, timedelta(seconds=60))
    return claim


async def test_an_answer_closes_the_question() -> None:
    store = FakeExecutions()
    claim = await asking(store)
    execution, run = await control_of(store).answer(claim.key.execution_id, claim.key.run_id, "q1", "  skip ")
    assert (execution.id, run.open_question) == (claim.key.execution_id, None)
    assert await store.answer_to(claim.key, claim.run.fencing_token, "q1") == "skip"
    with pytest.raises(FailedPrecondition):
        await control_of(store).answer(claim.key.execution_id, claim.key.run_id, None, "skip")


async def test_an_unknown_run_cannot_be_answered() -> None:
    store = FakeExecutions()
    claim = await asking(store)
    for ids in (("x", claim.key.run_id), (claim.key.execution_id, "x")):
        with pytest.raises(NotFound):
            await control_of(store).answer(*ids, None, "skip")


async def test_a_question_is_shown_with_its_screenshot_while_the_attempt_is_running() -> None:
    store, artifacts = FakeExecutions(), FakeArtifacts()
    claim = await asking(store)
    artifacts.kept[claim.key.run_id, 1, SCREENSHOT] = b"png"
    control = control_of(store, artifacts)
    shown = run_proto(*await control.run(claim.key.execution_id, claim.key.run_id)).question
    assert (shown.id, shown.text, shown.step_index, list(shown.options)) == ("q1", "Which one?", 2, ["retry", "skip"])
    assert shown.screenshot_url.endswith(f"/runs/{claim.key.run_id}/artifacts/{SCREENSHOT}")
    assert (shown.expires_at.ToDatetime() - shown.asked_at.ToDatetime()).total_seconds() == 60
    found = await control.artifact(claim.key.execution_id, claim.key.run_id, SCREENSHOT)
    assert (found.artifact.content_type, [chunk async for chunk in found.chunks]) == ("image/png", [b"png"])
    assert found.part is None  # its size is not known before the end of the attempt
    await control_of(store).answer(claim.key.execution_id, claim.key.run_id, None, "skip")
    answered = run_proto(*await control.run(claim.key.execution_id, claim.key.run_id))
    assert not answered.HasField("question")
    found = await control.artifact(claim.key.execution_id, claim.key.run_id, SCREENSHOT)
    assert [chunk async for chunk in found.chunks] == [b"png"]


async def test_a_question_without_a_screenshot_has_no_link() -> None:
    store = FakeExecutions()
    claim = await asking(store, QuestionPrompt(id="q1", text="Which one?", step_index=0))
    control = ExecutionControl(store, FakeChangeNotifications(store), FakeArtifacts())
    assert run_proto(*await control.run(claim.key.execution_id, claim.key.run_id)).question.screenshot_url == ""
    with pytest.raises(NotFound):
        await control.artifact(claim.key.execution_id, claim.key.run_id, "")
