"""Runs the steps of a test on a device: in order, with conditions, repetitions and retries."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NoReturn

from services.executor.automation.commands.executor import CommandExecutor
from services.executor.automation.devices.port import Device, DeviceFailure
from services.executor.automation.evidence.failure_capture import FailureCapture
from services.executor.automation.evidence.model_transcripts import TranscriptRecorder
from services.executor.automation.evidence.recorder import STEPS_LIMIT, StepRecorder
from services.executor.automation.outcome import RECOVERABLE, StepFailed, StepOutcome
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Intent
from services.executor.automation.steps.goal_runner import GoalRunner, RunSentences, StepsResult
from services.executor.automation.steps.human_help import HumanHelp
from services.executor.automation.steps.sentence_runner import SentenceRunner
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category, Failure
from services.flows.loader import parse_flow
from services.flows.nodes import DocumentError
from services.flows.parser import fill_step
from services.flows.steps import Command, Flow, Repeat, Retry, RunFlow, Sentence, Step
from services.flows.variables import Scope

REPEAT_LIMIT = 1_000
HANG_SECONDS = 30.0
"""How much longer than its own limit a step may take in real time before its device counts as hanging."""


class StepRunner:
    """One attempt's steps. What happens is in the journal."""

    def __init__(
        self,
        device: Device,
        journal: StepRecorder,
        commander: CommandExecutor,
        interpreter: SentenceRunner,
        *,
        witness: FailureCapture,
        transcripts: TranscriptRecorder,
        scope: Scope,
        seconds: float,
        asking: HumanHelp | None = None,
    ) -> None:
        """`asking` is None where no person may be asked."""
        self._scope = scope
        self._device = device
        self._journal = journal
        self._witness = witness
        self._transcripts = transcripts
        self._commander = commander
        self._interpreter = interpreter
        self._goals = GoalRunner(interpreter)
        self._seconds = seconds
        self._asking = asking
        self._hushed = 0

    async def run(self, flow: Flow) -> Failure | None:
        """None if all went well; else why not, with the index of the step in the journal.

        What the flow does at its end it does after a failure too, and then its own failure counts for nothing.
        """
        failure = await self._all((*flow.on_start, *flow.steps))
        later = await self._all(flow.on_complete)
        return failure or later

    async def _all(self, steps: Sequence[Step]) -> Failure | None:
        try:
            await self._run(steps, depth=0)
        except _Failed as failed:
            return failed.failure
        return None

    async def _run(self, steps: Sequence[Step], depth: int) -> None:
        for step in steps:
            first = len(self._journal.steps)
            try:
                with self._hush(hushed=step.optional):
                    await self._step(step, depth)
            except _Failed as failed:
                if not step.optional or failed.failure.category not in RECOVERABLE:
                    raise
                self._journal.forgive(first)

    async def _step(self, written: Step, depth: int) -> None:
        step, fault = self._filled(written)
        index = self._journal.begin(step, depth)
        if fault is not None:
            await self._fail(index, step, fault)
        elif isinstance(step.command, RunFlow | Repeat | Retry):
            await self._holder(index, step, depth)
        else:
            await self._leaf(index, step, step.command)

    def _filled(self, step: Step) -> tuple[Step, StepFailed | None]:
        """The step with the values of its variables; as it was written where one has none."""
        try:
            return fill_step(step, self._scope), None
        except DocumentError as error:
            return step, StepFailed(Category.SCRIPT_ERROR, f"{error.message} ({error.path})", reason=error.message)

    async def _leaf(self, index: int, step: Step, command: Command) -> None:
        async with self._recording_failure(index, step):
            if index >= STEPS_LIMIT:
                raise StepFailed(Category.SCRIPT_ERROR, f"the test runs more than {STEPS_LIMIT} steps")
            await self._device.begin_step(step.title)
            deed = await self._with_help(index, step, command)
        await self._transcripts.keep(index)
        if deed is None:
            await self._journal.skipped(index, "skipped by a person's answer")
            return
        if deed.picture is not None:
            self._journal.note_picture(index, await self._journal.picture(index, deed.picture, deed.name))
        await self._journal.passed(index, deed)

    @asynccontextmanager
    async def _recording_failure(self, index: int, step: Step) -> AsyncIterator[None]:
        """What fails inside ends the step and comes out as _Failed; a step that failed within this one ends it too."""
        try:
            yield
        except _Failed as failed:
            await self._journal.failed_within(index, failed.failure)
            raise
        except StepFailed as failed:
            await self._fail(index, step, failed)
        except DeviceFailure as failed:
            await self._fail(index, step, StepFailed(failed.category, failed.message))

    async def _with_help(self, index: int, step: Step, command: Command) -> StepOutcome | None:
        """What carried the step out, where it may be asked with a person's help; None when it is to be skipped."""

        async def carry_out() -> StepOutcome:
            return await self._in_time(index, command)

        async def instead(text: str) -> StepOutcome:
            return await self._in_time(index, self._written(text))

        if self._asking is None or self._hushed:
            return await carry_out()
        return await self._asking.helped(index, step, carry_out, instead)

    def _written(self, text: str) -> Command:
        """A step that a person wrote, in one line."""
        try:
            command = fill_step(parse_flow([text]).steps[0], self._scope).command
        except DocumentError as error:
            raise StepFailed(Category.SCRIPT_ERROR, f"{text!r} is no step: {error.message}") from error
        if isinstance(command, RunFlow | Repeat | Retry):
            raise StepFailed(Category.SCRIPT_ERROR, f"{text!r} is no single step")
        return command

    @contextmanager
    def _hush(self, *, hushed: bool) -> Iterator[None]:
        """Nobody is asked about steps whose failure something else knows to handle."""
        self._hushed += hushed
        try:
            yield
        finally:
            self._hushed -= hushed

    async def _in_time(self, index: int, command: Command) -> StepOutcome:
        if not isinstance(command, Sentence):
            return await self._bounded(command, self._commander.do(command), 0)
        try:
            if self._goals.wants(command.text):
                return await self._goals.reach(command.text, self._carrying_out(index))
            return await self._bounded(command, self._interpreter.do(command.text), self._interpreter.seconds)
        except (StepFailed, DeviceFailure):
            await self._transcripts.keep(index)
            raise
        finally:
            self._journal.account(index, self._interpreter.account)

    async def _bounded(self, command: Command, doing: Awaitable[StepOutcome], more: float) -> StepOutcome:
        """Bounds in real time what is bounded in the device's time already: a device may hang."""
        limit = max(self._seconds, _own_seconds(command)) + HANG_SECONDS + more
        try:
            async with asyncio.timeout(limit):
                return await doing
        except TimeoutError as error:
            raise StepFailed(Category.STEP_TIMEOUT, f"the step did not end within {limit:g} s") from error

    def _carrying_out(self, index: int) -> RunSentences:
        """Carries out sentences as steps inside this one."""
        depth = self._journal.steps[index].depth + 1

        async def carry_out(sentences: Sequence[str]) -> StepsResult:
            self._transcripts.note(index)
            first = len(self._journal.steps)
            for count, sentence in enumerate(sentences):
                try:
                    with self._hush(hushed=True):
                        await self._step(_said(sentence, count), depth)
                except _Failed as failed:
                    if failed.failure.category not in RECOVERABLE:
                        raise
                    self._journal.forgive(first)
                    return StepsResult(count, failed.failure)
            return StepsResult(len(sentences))

        return carry_out

    async def _fail(self, index: int, step: Step, failed: StepFailed) -> NoReturn:
        seen = await self._witness.sight(index)
        self._journal.remark(index, *seen.missing)
        await self._journal.failed(
            index,
            failed.category,
            failed.message,
            element=failed.element,
            resolution=self._resolution(step),
            screenshot=seen.screenshot,
            tree=seen.tree,
        )
        raise _Failed(Failure(failed.category, failed.message, failed.reason, index, step.name))

    def _resolution(self, step: Step) -> Resolution | None:
        """Commands find their element themselves; of sentences the interpreter knows."""
        if not isinstance(step.command, Sentence):
            return Resolution.COMMAND
        return self._interpreter.account.resolution

    async def _holder(self, index: int, step: Step, depth: int) -> None:
        """A step that holds other steps ends as they do."""
        async with self._recording_failure(index, step):
            ran = await self._held(step, depth + 1)
        if ran:
            await self._journal.passed(index, message=ran)
        else:
            await self._journal.skipped(index, "its condition does not hold")

    async def _held(self, step: Step, depth: int) -> str:
        """Run the steps inside; what is to be said of it, or "" when there was nothing to run."""
        match step.command:
            case RunFlow() as flow:
                return await self._flow(flow, depth)
            case Repeat():
                return await self._repeat(step, depth)
            case Retry(commands, retries):
                return await self._retry(commands, retries, depth)
            case _:
                raise AssertionError(f"{step.name} holds no steps")

    async def _flow(self, flow: RunFlow, depth: int) -> str:
        if not await self._commander.holds(flow.when):
            return ""
        around, self._scope = self._scope, self._scope.within(dict(flow.env))
        try:
            await self._run(flow.commands, depth)
        finally:
            self._scope = around
        return f"{len(flow.commands)} steps"

    async def _repeat(self, step: Step, depth: int) -> str:
        rounds = 0
        while (command := self._next_round(step, rounds)) and await self._commander.holds(command.condition):
            if rounds >= REPEAT_LIMIT:
                raise StepFailed(Category.SCRIPT_ERROR, f"its condition still held after {REPEAT_LIMIT} rounds")
            await self._run(command.commands, depth)
            rounds += 1
        return f"{rounds} rounds" if rounds else ""

    def _next_round(self, step: Step, rounds: int) -> Repeat | None:
        """The repetition with the values that its variables have now; None when it has had all its rounds."""
        step, fault = self._filled(step)
        if fault is not None:
            raise fault
        command = step.command
        return command if isinstance(command, Repeat) and (command.times is None or rounds < command.times) else None

    async def _retry(self, commands: Sequence[Step], retries: int, depth: int) -> str:
        tries = 0
        while True:
            first = len(self._journal.steps)
            tries += 1
            try:
                with self._hush(hushed=tries <= retries):
                    await self._run(commands, depth)
            except _Failed as failed:
                if tries > retries or failed.failure.category not in RECOVERABLE:
                    raise
                self._journal.forgive(first)
            else:
                return f"at try {tries}"


class _Failed(Exception):
    """A step failed, and the test with it, unless somebody passes over it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _said(sentence: str, number: int) -> Step:
    """A sentence of a plan as a step."""
    return Step(path=f"plan[{number}]", name="sentence", command=Sentence(sentence))


def _own_seconds(command: Command) -> float:
    """How long the step itself says that it may take; 0 if it does not say."""
    match command:
        case Sentence(text):
            meaning = parse_sentence(text)
            return meaning.seconds or 0.0 if isinstance(meaning, Intent) else 0.0
        case _:
            return command.declared_seconds
