"""Runs steps that hold no other steps, each within its time limit."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from services.executor.automation.commands.executor import CommandExecutor
from services.executor.automation.devices.port import DeviceFailure
from services.executor.automation.evidence.recorder import StepRecorder, TranscriptRecorder
from services.executor.automation.outcome import ResolutionCost, StepFailed, StepOutcome
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Intent
from services.executor.automation.steps.sentence_runner import SentenceRunner
from services.executor.model.failures import Category
from services.flows.steps import Command, Sentence

HANG_SECONDS = 30.0
"""How much longer than its own limit a step may take in real time before its device counts as hanging."""


class LeafRunner:
    """Raises StepFailed and DeviceFailure."""

    def __init__(
        self,
        commands: CommandExecutor,
        sentences: SentenceRunner,
        recorder: StepRecorder,
        transcripts: TranscriptRecorder,
        *,
        seconds: float,
    ) -> None:
        self._commands = commands
        self._sentences = sentences
        self._recorder = recorder
        self._transcripts = transcripts
        self._seconds = seconds

    async def run(self, index: int, command: Command, goal: str | None = None) -> StepOutcome:
        """`goal` is what the author wrote, for a sentence that a model planned."""
        if not isinstance(command, Sentence):
            return await self._limit(command, self._commands.run(command))
        cost = ResolutionCost()
        try:
            return await self._limit(command, self._sentences.run(command.text, cost, goal))
        except (StepFailed, DeviceFailure):
            await self._transcripts.store(index)
            raise
        finally:
            self._recorder.add_cost(index, cost)

    async def _limit(self, command: Command, running: Coroutine[Any, Any, StepOutcome]) -> StepOutcome:
        """Limits in real time what is limited in the device's time already, because a device may hang."""
        model_seconds = self._sentences.model_seconds if isinstance(command, Sentence) else 0
        limit = max(self._seconds, _own_seconds(command)) + HANG_SECONDS + model_seconds
        try:
            async with asyncio.timeout(limit):
                return await running
        except TimeoutError as error:
            raise StepFailed(Category.STEP_TIMEOUT, f"the step did not end within {limit:g} s") from error


def _own_seconds(command: Command) -> float:
    """How long the step itself says that it may take; 0 if it does not say."""
    if not isinstance(command, Sentence):
        return command.declared_seconds
    meaning = parse_sentence(command.text)
    return meaning.seconds or 0.0 if isinstance(meaning, Intent) else 0.0
