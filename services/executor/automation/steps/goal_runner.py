"""Reaches goals: a model takes them apart into sentences, which are carried out as steps of their own."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from services.executor.automation.outcome import ResolutionCost, StepFailed, StepOutcome
from services.executor.automation.ports import (
    CannotContinue,
    GoalReached,
    ModelFailed,
    ModelUsage,
    NextSteps,
    ScreenView,
    StoredSteps,
)
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.grounder import ground_sentence
from services.executor.automation.sentences.intents import Action, NotUnderstood
from services.executor.automation.steps.model_runner import model_error, model_time_limit
from services.executor.automation.steps.sentence_runner import SentenceRunner
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category, Failure

ROUNDS_LIMIT = 8
"""How often a planning model is asked for one goal."""


@dataclass(frozen=True, slots=True)
class StepsResult:
    """How many of the sentences were carried out, and why not the next one."""

    count: int
    failure: Failure | None = None


RunSentences = Callable[[Sequence[str]], Awaitable[StepsResult]]
"""Carries out sentences as steps inside the present one; what ends the attempt anyway is raised."""


class GoalRunner:
    """Raises StepFailed and DeviceFailure; the interpreter's `account` is then the goal's own."""

    def __init__(self, interpreter: SentenceRunner) -> None:
        self._interpreter = interpreter

    def wants(self, sentence: str) -> bool:
        """Whether a sentence is a goal: one that the rules do not understand, outside of a goal."""
        interpreter = self._interpreter
        planned = interpreter.manner.planning and interpreter.goal is None
        return planned and isinstance(parse_sentence(sentence), NotUnderstood)

    async def reach(self, goal: str, carry_out: RunSentences) -> StepOutcome:
        pursuit = _GoalAttempt(self._interpreter, goal, carry_out)
        self._interpreter.goal = goal
        try:
            deed = await pursuit.run()
        except ModelFailed as failed:
            raise model_error(failed) from failed
        finally:
            self._interpreter.goal = None
            pursuit.close_account()
        return self._interpreter.accounted(deed)


class _GoalAttempt:
    """One goal, from memory or by a plan."""

    def __init__(self, interpreter: SentenceRunner, goal: str, carry_out: RunSentences) -> None:
        self._interpreter = interpreter
        self._goal = goal
        self._carry_out = carry_out
        self._account = interpreter.account = ResolutionCost()
        self._before = interpreter.spent
        self._inside = ModelUsage()
        self._done: list[str] = []

    def close_account(self) -> None:
        """What the goal took by itself; its steps have accounts of their own."""
        total = self._interpreter.spent.since(self._before)
        self._account.model_calls = total.calls - self._inside.calls
        self._account.model_tokens = total.tokens - self._inside.tokens
        self._interpreter.account = self._account

    async def run(self) -> StepOutcome:
        known = await self._interpreter.from_memory(self._goal)
        if isinstance(known, StepOutcome):
            return known
        happened = ""
        if isinstance(known, StoredSteps):
            self._account.resolution = Resolution.CACHE
            carried = await self._carried(known.steps)
            if carried.failure is None:
                return _deed(Resolution.CACHE, f"{len(known.steps)} steps as planned before")
            await self._interpreter.stale(self._goal, _as_failed(carried.failure))
            happened = _told(known.steps, carried)
        await self._plan(happened)
        await self._interpreter.memory.keep_plan(self._goal, self._interpreter.seen(), tuple(self._done))
        return _deed(Resolution.MODEL, f"{len(self._done)} steps")

    async def _plan(self, happened: str) -> None:
        """Plan and do until the goal is reached; one failure may be mended by another plan."""
        interpreter = self._interpreter
        advisor = interpreter.advised("enable_planning is on")
        self._account.resolution = Resolution.MODEL
        planning = advisor.planning(self._goal)
        first = view = await interpreter.sight.settled()
        mishaps = 0
        for _ in range(ROUNDS_LIMIT):
            async with model_time_limit(advisor):
                answer = await planning.next(view, happened)
            happened, failure = await self._followed(answer, first, view)
            if not happened:
                return
            mishaps += failure is not None
            if failure is not None and mishaps > 1:
                raise StepFailed(Category.GOAL_NOT_REACHED, f"a second plan failed too: {failure}")
            view = await interpreter.sight.settled()
        raise StepFailed(
            Category.GOAL_NOT_REACHED, f"the goal was not reached within {ROUNDS_LIMIT} rounds of planning"
        )

    async def _followed(
        self, answer: NextSteps | GoalReached | CannotContinue, first: ScreenView, view: ScreenView
    ) -> tuple[str, str | None]:
        """What is to be told to the model, and what went wrong; nothing to be told when the goal is reached."""
        match answer:
            case CannotContinue(why):
                raise StepFailed(Category.GOAL_NOT_REACHED, f"the model cannot reach this goal: {why}")
            case NextSteps(sentences):
                carried = await self._carried(sentences)
                return _told(sentences, carried), carried.failure.message if carried.failure else None
            case GoalReached(sees):
                why = await self._doubt(sees, first, view)
                return why, why or None

    async def _doubt(self, sees: str, first: ScreenView, view: ScreenView) -> str:
        """Why the goal is not believed to be reached; empty when it is. What shows it becomes a step of the plan."""
        proof = f'I see "{sees}"'
        if ground_sentence(proof, view.tree).element is None:
            return f"the goal is not reached: the screen does not show the text {sees!r}"
        carried = await self._carried((proof,))
        if carried.failure is not None:
            return _told((proof,), carried)
        if self._interpreter.manner.reflections is None:
            return ""
        why = await self._interpreter.missed(self._goal, first)
        return f"the goal is not reached: {why}" if why else ""

    async def _carried(self, sentences: Sequence[str]) -> StepsResult:
        before = self._interpreter.spent
        try:
            carried = await self._carry_out(sentences)
        finally:
            spent = self._interpreter.spent.since(before)
            self._inside = ModelUsage(self._inside.calls + spent.calls, self._inside.tokens + spent.tokens)
            self._interpreter.account = self._account
        self._done += sentences[: carried.count]
        return carried


def _told(sentences: Sequence[str], carried: StepsResult) -> str:
    if carried.failure is None:
        return "all steps were carried out"
    done = f"{carried.count} of the steps were carried out; then " if carried.count else ""
    return f"{done}this step failed: {sentences[carried.count]} ({carried.failure.message})"


def _as_failed(failure: Failure) -> StepFailed:
    return StepFailed(failure.category, failure.message, reason=failure.reason)


def _deed(resolution: Resolution, message: str) -> StepOutcome:
    return StepOutcome(action=Action.NONE, resolution=resolution, message=message)
