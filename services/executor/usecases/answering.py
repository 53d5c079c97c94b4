"""Answering what a run that cannot go on asks a person."""

from services.executor.model.executions import Execution
from services.executor.model.runs import Run
from services.executor.ports import Executions


class Answering:
    """Answers runs of the caller's organisation."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> tuple[Execution, Run]:
        """The execution and the run, which goes on within a second.

        `text` is one of the options or a step; `question_id` None means the question that is open. NotFound;
        FailedPrecondition: the run asks nothing, or not this question any more.
        """
        execution = await self._executions.get(execution_id)
        return execution, await self._executions.answer(execution_id, run_id, question_id, text.strip())
