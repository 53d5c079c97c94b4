"""Runs the steps of a test on a device: in order, with conditions, repetitions and retries."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import NoReturn

from mobiletest_automation.commands.executor import CommandExecutor
from mobiletest_automation.devices.port import Device, DeviceFailure
from mobiletest_automation.evidence.failure_capture import FailureCapture
from mobiletest_automation.evidence.recorder import STEPS_LIMIT, StepRecorder, TranscriptRecorder
from mobiletest_automation.evidence.screen_memory import ScreenMemory
from mobiletest_automation.flows.capture_commands import AiCommand
from mobiletest_automation.flows.script_commands import RunScript, ScriptCommand
from mobiletest_automation.flows.steps import BlockCommand, Command, Flow, Repeat, Retry, RunFlow, Sentence, Step
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.outcome import (
    ResolutionCost,
    ScriptFailed,
    StepFailed,
    StepOutcome,
    hang_limit,
    tolerable_failures,
)
from mobiletest_automation.steps.dialog_dismisser import DialogDismisser
from mobiletest_automation.steps.goal_runner import GoalRunner, SentencesResult
from mobiletest_automation.steps.human_help import HumanHelp
from mobiletest_automation.steps.screen_questions import ScreenQuestions
from mobiletest_automation.steps.script_runner import ScriptRunner
from mobiletest_automation.steps.sentence_runner import SentenceRunner

# From so many recorded steps on, a round of a repetition is recorded in place of the one before.
FORGETTING_STEPS = STEPS_LIMIT // 2
CONDITION_FALSE = "its condition does not hold"
NOT_SELECTED = "not selected"


class StepRunner:
    """The steps of one attempt; what happens is recorded."""

    def __init__(
        self,
        device: Device,
        recorder: StepRecorder,
        commands: CommandExecutor,
        sentences: SentenceRunner,
        questions: ScreenQuestions,
        goals: GoalRunner,
        *,
        capture: FailureCapture,
        transcripts: TranscriptRecorder,
        memory: ScreenMemory,
        dialogs: DialogDismisser,
        scripts: ScriptRunner,
        seconds: float,
        left_out: frozenset[str],
        human_help: HumanHelp | None,
    ) -> None:
        """`seconds` is how long a step may usually take. `left_out` are the paths of steps to skip. `human_help` is
        None where no person may be asked.
        """
        self._device = device
        self._recorder = recorder
        self._commands = commands
        self._sentences = sentences
        self._questions = questions
        self._goals = goals
        self._capture = capture
        self._transcripts = transcripts
        self._memory = memory
        self._dialogs = dialogs
        self._scripts = scripts
        self._seconds = seconds
        self._left_out = left_out
        self._human_help = human_help
        self._handled_elsewhere = 0
        self._goal: str | None = None

    async def run(self, flow: Flow) -> Failure | None:
        """None if all steps passed; else the failure, with the index of its step.

        `on_complete` runs after a failure too; its own failure counts only if there was none before.
        """
        failure = await self._run_all((*flow.on_start, *flow.steps))
        late_failure = await self._run_all(flow.on_complete)
        return failure or late_failure

    async def _run_all(self, steps: Sequence[Step]) -> Failure | None:
        try:
            await self._run_steps(steps, depth=0)
        except _Failed as failed:
            return failed.failure
        return None

    async def _run_steps(self, steps: Sequence[Step], depth: int) -> None:
        for step in steps:
            if step.path in self._left_out:
                await self._leave_out(step, depth)
                continue
            with self._tolerating(step, when=step.optional):
                await self._run_step(step, depth)

    async def _leave_out(self, step: Step, depth: int) -> None:
        """Record the step, and those inside it, so that the steps that are run have their usual numbers."""
        await self._recorder.skip_step(self._recorder.begin(step, depth), NOT_SELECTED)
        for inner in step.inner_steps:
            await self._leave_out(inner, depth + 1)

    async def _run_step(self, written: Step, depth: int) -> None:
        step, unfilled = await self._fill(written)
        index = self._recorder.begin(step, depth)
        if unfilled is not None:
            await self._fail(index, step, unfilled)
        elif isinstance(step.command, BlockCommand):
            await self._run_container(index, step, step.command, depth)
        else:
            await self._run_leaf(index, step, step.command)

    async def _fill(self, step: Step) -> tuple[Step, StepFailed | None]:
        """The step with the values of its variables; as it was written, and why, if one has no value."""
        try:
            return await self._scripts.fill(step), None
        except StepFailed as unfilled:
            return step, unfilled

    async def _run_leaf(self, index: int, step: Step, command: Command) -> None:
        async with self._recording_failure(index, step):
            if index >= STEPS_LIMIT:
                raise StepFailed(Category.SCRIPT_ERROR, f"the test runs more than {STEPS_LIMIT} steps")
            if isinstance(command, RunScript) and not await self._commands.condition_holds(command.when):
                await self._recorder.skip_step(index, CONDITION_FALSE)
                return
            await self._device.begin_step()
            self._memory.begin(index)
            self._capture.begin_step()
            self._dialogs.begin_step()
            outcome = await self._run_with_help(index, step, command)
        await self._transcripts.store(index)
        if outcome is None:
            await self._recorder.skip_step(index, "skipped by a person's answer")
            return
        self._scripts.set_variables(outcome.variables)
        await self._memory.end(index, outcome.element, outcome.resolution)
        await self._recorder.attach_captures(index, outcome)
        await self._recorder.pass_step(index, outcome)

    @asynccontextmanager
    async def _recording_failure(self, index: int, step: Step) -> AsyncIterator[None]:
        """A failure inside ends the step and comes out as _Failed; so does that of a step inside this one."""
        try:
            yield
        except _Failed as failed:
            await self._recorder.fail_container(index, failed.failure)
            raise
        except StepFailed as failed:
            await self._fail(index, step, failed)
        except DeviceFailure as failed:
            await self._fail(index, step, StepFailed(failed.category, failed.message))

    async def _fail(self, index: int, step: Step, failed: StepFailed) -> NoReturn:
        final = isinstance(failed, ScriptFailed)
        if not (final or self._handled_elsewhere):
            failed = await self._capture.explain(failed)
        failure = self._recorder.failure(index, failed)
        captured = await self._capture.capture_screen(index, failed.element)
        await self._memory.end(index, failed.element, "", captured.picture)
        self._recorder.add_remark(index, *captured.missing)
        await self._recorder.store_pictures(index, failed.pictures)
        await self._recorder.fail_step(
            index,
            failed,
            resolution=None if isinstance(step.command, Sentence | AiCommand) else Resolution.COMMAND,
            screenshot=captured.screenshot,
            tree=captured.tree,
            element_area=captured.element_area,
        )
        raise _Failed(failure, final=final)

    async def _run_with_help(self, index: int, step: Step, command: Command) -> StepOutcome | None:
        """None if a person skips the step."""
        if self._human_help is None or self._handled_elsewhere:
            return await self._run_once(index, command, optional=step.optional)

        async def run(written: Step) -> StepOutcome:
            filled = step if written is step else await self._scripts.fill(written)
            return await self._run_once(index, filled.command)

        return await self._human_help.run(index, step, run)

    @contextmanager
    def _tolerating(self, step: Step | None = None, *, when: bool = True) -> Iterator[list[Failure]]:
        """The test itself handles a failure inside, which is then in the list: no person is asked about it."""
        categories = tolerable_failures(step)
        tolerated: list[Failure] = []
        first = len(self._recorder.steps)
        self._handled_elsewhere += when
        try:
            yield tolerated
        except _Failed as failed:
            if not when or failed.final or failed.failure.category not in categories:
                raise
            self._recorder.tolerate_failures(first, categories)
            tolerated.append(failed.failure)
        finally:
            self._handled_elsewhere -= when

    async def _run_once(self, index: int, command: Command, *, optional: bool = False) -> StepOutcome:
        if isinstance(command, ScriptCommand):
            return await self._scripts.run(command)
        if not isinstance(command, Sentence | AiCommand):
            async with hang_limit(max(self._seconds, command.declared_seconds)):
                return await self._commands.run(command, optional=optional)
        cost = ResolutionCost()
        try:
            if isinstance(command, AiCommand):
                async with hang_limit(self._seconds + self._questions.seconds):
                    return await self._questions.run(command, cost)
            if self._goal is None and self._goals.is_goal(command.text):
                return await self._reach_goal(index, command.text, cost)
            async with hang_limit(self._sentences.seconds(command.text, self._seconds)):
                return await self._sentences.run(command.text, cost, self._goal)
        except (StepFailed, DeviceFailure):
            await self._transcripts.store(index)
            raise
        finally:
            self._recorder.add_cost(index, cost)

    async def _reach_goal(self, index: int, text: str, cost: ResolutionCost) -> StepOutcome:
        goal = self._goals.begin(text, cost)
        sentences = await goal.start()
        while sentences:
            result = await self._run_sentences(index, text, sentences)
            sentences = await goal.proceed(result)
        return goal.outcome

    async def _run_sentences(self, index: int, goal: str, sentences: Sequence[str]) -> SentencesResult:
        """Run sentences as steps inside the goal's step."""
        self._transcripts.collect(index)
        depth = self._recorder.steps[index].depth + 1
        self._goal = goal
        try:
            for count, sentence in enumerate(sentences):
                step = Step(path=f"plan[{count}]", name="sentence", command=Sentence(sentence))
                with self._tolerating() as failures:
                    await self._run_step(step, depth)
                if failures:
                    return SentencesResult(count, failures[0])
        finally:
            self._goal = None
        return SentencesResult(len(sentences))

    async def _run_container(self, index: int, step: Step, command: BlockCommand, depth: int) -> None:
        """A step that holds other steps ends as they do."""
        async with self._recording_failure(index, step):
            message = await self._run_contents(step, command, depth + 1)
        if message:
            await self._recorder.pass_container(index, message)
        else:
            await self._recorder.skip_step(index, CONDITION_FALSE)

    async def _run_contents(self, step: Step, command: BlockCommand, depth: int) -> str:
        """The message of the container; "" if its condition does not hold."""
        match command:
            case RunFlow():
                return await self._run_flow(command, depth)
            case Repeat():
                return await self._repeat(step, depth)
            case Retry():
                return await self._retry(command, depth)

    async def _run_flow(self, flow: RunFlow, depth: int) -> str:
        if not await self._commands.condition_holds(flow.when):
            return ""
        async with self._scripts.inner_flow(flow.env):
            try:
                await self._run_steps(flow.commands, depth)
            except _Failed:
                with suppress(_Failed):
                    await self._run_steps(flow.on_complete, depth)
                raise
            await self._run_steps(flow.on_complete, depth)
        return f"{len(flow.commands)} steps"

    async def _repeat(self, step: Step, depth: int) -> str:
        """Ends with its condition, or with the run: time and CPU limit it, not a number of rounds."""
        rounds = forgotten = 0
        began = len(self._recorder.steps)
        while (command := await self._next_round(step, rounds)) and await self._commands.condition_holds(
            command.condition
        ):
            await asyncio.sleep(0)  # a round may have nothing that waits, and the run has a time limit
            if rounds and len(self._recorder.steps) >= FORGETTING_STEPS:
                self._transcripts.forget_steps(began)
                forgotten += 1
            began = len(self._recorder.steps)
            rounds += 1
            with self._recorder.in_round(rounds):
                await self._run_steps(command.commands, depth)
        shown = f", of which {rounds - forgotten} are shown: the last one after the first ones" if forgotten else ""
        return f"{rounds} rounds{shown}" if rounds else ""

    async def _next_round(self, step: Step, rounds: int) -> Repeat | None:
        """The repetition with the present values of its condition, but its first `times`; None at its end."""
        command = step.command
        if not isinstance(command, Repeat) or (command.times is not None and rounds >= command.times):
            return None
        filled = (await self._scripts.fill(step)).command if rounds else command
        return filled if isinstance(filled, Repeat) else None

    async def _retry(self, command: Retry, depth: int) -> str:
        """The variables of its `env` have other values in each try."""
        for number in range(1, command.max_retries + 2):
            with self._tolerating(when=number <= command.max_retries) as failures:
                async with self._scripts.inner_flow(command.env):
                    with self._recorder.in_round(number):
                        await self._run_steps(command.commands, depth)
            if not failures:
                break
        return f"passed at try {number}"


class _Failed(Exception):
    """A step failed, and so does the test, unless something tolerates it."""

    def __init__(self, failure: Failure, *, final: bool) -> None:
        """`final`: nothing may tolerate it."""
        super().__init__(failure.message)
        self.failure = failure
        self.final = final
