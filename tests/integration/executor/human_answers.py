"""Runs that ask a person: an app with two equal buttons, and helpers to wait for the question."""

from typing import Any

from mobiletest.executor.v1 import executions_pb2 as pb
from mobiletest.executor.v1 import runs_pb2
from mobiletest.types.v1 import execution_pb2, run_config_pb2

from tests.eventually import eventually

TWO_BUTTONS = b"""app_model: 1
app: {id: com.example.two, name: Two, version: "1.0"}
state: {added: 0}
start: first
screens:
  first:
    title: First
    elements:
      - {type: button, text: Add, tap: {add: {added: 1}}}
      - {type: button, text: Add, tap: {add: {added: 2}}}
      - {type: text, id: count, text: "Count {added}"}
"""
AMBIGUOUS = "Tap Add"


def asking(retries: int = 0) -> Any:
    """A run configuration with human_in_the_loop and no model."""
    mode = run_config_pb2.ExecutionMode(human_in_the_loop=True, retries=retries)
    return run_config_pb2.RunConfig(execution_mode=mode, fallback_trigger=run_config_pb2.FALLBACK_TRIGGER_NEVER)


async def question(client: Any, execution_id: str, *, attempt: int = 1) -> tuple[runs_pb2.Run, runs_pb2.Question]:
    """Wait until the one run of the execution asks, in this attempt or a later one."""

    async def probe() -> runs_pb2.Run | None:
        [run] = await client.runs(execution_id)
        assert run.status != execution_pb2.EXECUTION_STATUS_COMPLETED, run
        return run if run.HasField("question") and run.attempt_number >= attempt else None

    run: runs_pb2.Run = await eventually(probe)
    return run, run.question


async def answer(client: Any, run: runs_pb2.Run, text: str, question_id: str | None = None) -> runs_pb2.Run:
    answered: runs_pb2.Run = await client.stub.AnswerRun(
        pb.AnswerRunRequest(execution_id=run.execution_id, run_id=run.id, question_id=question_id, answer=text)
    )
    return answered
