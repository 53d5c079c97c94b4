"""Reaches goals: a model breaks them down into sentences, which run as steps inside the goal's step."""

from dataclasses import dataclass

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.model_ports import CannotContinue, GoalReached, NextSteps, PlanningDialog, ScreenView
from mobiletest_automation.outcome import ResolutionCost, StepFailed, StepOutcome
from mobiletest_automation.ports import StoredSteps
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.intents import Action, NotUnderstood
from mobiletest_automation.steps.model_access import ModelAccess, model_time_limit
from mobiletest_automation.steps.replay import StepReplay
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.steps.screen_reader import ScreenReader

# How often a model is asked to plan for one goal.
ROUNDS_LIMIT = 8

Sentences = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentencesResult:
    """How many of the sentences were carried out, and why the next one was not."""

    count: int
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalRunner:
    """Starts on goals; which sentences are goals is its decision too."""

    screen: ScreenReader
    replay: StepReplay
    models: ModelAccess
    policy: ResolutionPolicy

    def is_goal(self, sentence: str) -> bool:
        """Whether a model has to plan the sentence: one that the rules do not understand."""
        return self.policy.planning and isinstance(parse_sentence(sentence), NotUnderstood)

    def begin(self, goal: str, cost: ResolutionCost) -> "GoalRun":
        """`cost` is filled in with what the goal costs beyond its sentences."""
        return GoalRun(self, goal, cost)


class GoalRun:
    """One goal. The caller runs the sentences of `start`, then those of each `proceed`, until there are none.

    `outcome` is there at the end.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(self, runner: GoalRunner, goal: str, cost: ResolutionCost) -> None:
        self._screen = runner.screen
        self._replay = runner.replay
        self._models = runner.models
        self._judged = runner.policy.reflections is not None
        self._goal = goal
        self._cost = cost
        self._dialog: PlanningDialog | None = None
        self._first: ScreenView | None = None
        self._running: Sentences = ()
        self._proving = False
        self._done: list[str] = []
        self._rounds = 0
        self._failed_plans = 0
        self.outcome = StepOutcome(action=Action.NONE, resolution=Resolution.MODEL)

    async def start(self) -> Sentences:
        """The first sentences to run; none if a cached action reached the goal."""
        with self._models.charged_to(self._cost):
            known = await self._replay.run_goal(self._goal, self._look, self._cost)
            if isinstance(known, StepOutcome):
                self.outcome = known
                return ()
            if isinstance(known, StoredSteps):
                self._cost.resolution = Resolution.CACHE
                self._running = known.steps
                return known.steps
            return await self._plan("")

    async def proceed(self, result: SentencesResult) -> Sentences:
        """The next sentences to run; none if the goal is reached."""
        ran = self._running
        self._done += ran[: result.count]
        with self._models.charged_to(self._cost):
            if self._cost.resolution is Resolution.CACHE:
                if result.failure is None:
                    return self._finish(Resolution.CACHE, f"{len(ran)} steps of a cached plan")
                failure = result.failure
                failed = StepFailed(failure.category, failure.message, reason=failure.reason)
                await self._replay.discard(self._goal, failed, self._cost)
            elif result.failure is not None:
                self._count_failed_plan(result.failure.message)
            elif self._proving:
                shortfall = await self._shortfall()
                if not shortfall:
                    await self._replay.store_plan(self._goal, tuple(self._done))
                    return self._finish(Resolution.MODEL, f"{len(self._done)} steps")
                return await self._plan(shortfall)
            return await self._plan(_describe(ran, result))

    async def _plan(self, happened: str) -> Sentences:
        """Ask for the next sentences, until there are some or the goal is given up."""
        session = self._models.require("enable_planning is on")
        self._cost.resolution = Resolution.MODEL
        self._dialog = self._dialog or session.start_goal(self._goal)
        while self._rounds < ROUNDS_LIMIT:
            self._rounds += 1
            view = await self._screen.settled()
            self._first = self._first or view
            async with model_time_limit(session):
                answer = await self._dialog.next(view, happened)
            match answer:
                case CannotContinue(why):
                    raise StepFailed(Category.GOAL_NOT_REACHED, f"the model cannot reach this goal: {why}")
                case NextSteps(sentences):
                    self._running, self._proving = sentences, False
                    return sentences
                case GoalReached(text):
                    proof = f'I see "{text}"'
                    if ground_sentence(proof, view.tree).element is not None:
                        self._running, self._proving = (proof,), True
                        return self._running
                    happened = f"the goal is not reached: the screen does not show the text {text!r}"
                    self._count_failed_plan(happened)
        raise StepFailed(
            Category.GOAL_NOT_REACHED, f"the goal was not reached within {ROUNDS_LIMIT} rounds of planning"
        )

    async def _shortfall(self) -> str:
        """Why the goal is not reached although its proof is visible; empty if it is reached."""
        if not self._judged or self._first is None:
            return ""
        shortfall = await self._models.find_shortfall(self._goal, self._first, await self._screen.settled())
        if not shortfall:
            return ""
        why = f"the goal is not reached: {shortfall}"
        self._count_failed_plan(why)
        return why

    def _count_failed_plan(self, why: str) -> None:
        """One failure may be made good by another plan."""
        self._failed_plans += 1
        if self._failed_plans > 1:
            raise StepFailed(Category.GOAL_NOT_REACHED, f"a second plan failed too: {why}")

    def _finish(self, resolution: Resolution, message: str) -> Sentences:
        self.outcome = StepOutcome(action=Action.NONE, resolution=resolution, message=message)
        return ()

    async def _look(self) -> Element:
        return (await self._screen.read()).root


def _describe(sentences: Sentences, result: SentencesResult) -> str:
    """What came of the sentences, for the model."""
    if result.failure is None:
        return "all steps were carried out"
    done = f"{result.count} of the steps were carried out; then " if result.count else ""
    return f"{done}this step failed: {sentences[result.count]} ({result.failure.message})"
