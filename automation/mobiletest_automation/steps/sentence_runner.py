"""Runs sentences: by the rules, from the step cache, and by a model where the rules have no answer."""

from dataclasses import dataclass

from mobiletest_automation.devices.port import Device
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import CacheOutcome, Resolution
from mobiletest_automation.model_ports import ModelTask
from mobiletest_automation.outcome import ResolutionCost, StepFailed, StepOutcome
from mobiletest_automation.ports import ChosenAction, GetScreen
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.fingerprint import screen_state
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.model_access import ModelAccess, model_time_limit
from mobiletest_automation.steps.model_runner import ModelStepRunner, PerformedAction
from mobiletest_automation.steps.replay import StepReplay, actions_to_store
from mobiletest_automation.steps.resolution_policy import SELF_CHECKING, Meaning, ResolutionPolicy
from mobiletest_automation.steps.screen_reader import ScreenReader
from mobiletest_automation.steps.sentence_actions import SentenceActions, Undecided

Performed = tuple[PerformedAction, ...]


@dataclass(slots=True)
class _Sentence:
    """A sentence while it runs; `cache_screen` is the screen for which the step cache was asked."""

    text: str
    meaning: Meaning
    goal: str
    cost: ResolutionCost
    cache_screen: Outline | None = None


class SentenceRunner:
    """Carries out sentences by the rules, the step cache or a model.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(
        self,
        device: Device,
        actions: DeviceActions,
        sentence_actions: SentenceActions,
        *,
        screen: ScreenReader,
        replay: StepReplay,
        models: ModelAccess,
        policy: ResolutionPolicy,
    ) -> None:
        self._device = device
        self._actions = actions
        self._sentence_actions = sentence_actions
        self._screen = screen
        self._replay = replay
        self._models = models
        self._policy = policy

    def seconds(self, text: str, usual: float) -> float:
        """How long the sentence may take: by itself, or as `usual`, and as long as models may work on it."""
        meaning = parse_sentence(text)
        declared = meaning.seconds if isinstance(meaning, Intent) else None
        return max(usual, declared or 0.0) + self._models.step_seconds

    async def run(self, text: str, cost: ResolutionCost, goal: str | None = None) -> StepOutcome:
        """`cost` is filled in, also when it fails. `goal` is the author's, for a sentence that a model wrote."""
        sentence = _Sentence(text, parse_sentence(text), goal or text, cost)
        meaning = sentence.meaning
        if isinstance(meaning, Intent) and meaning.action is Action.SCREENSHOT:
            return await self._take_screenshot(meaning)
        with self._models.charged_to(cost):
            if self._policy.cache_first(meaning):
                replayed = await self._replay.run(text, self._look_for(sentence), cost)
                if replayed is not None:
                    return replayed
            return await self._run_and_reflect(sentence)

    async def _take_screenshot(self, intent: Intent) -> StepOutcome:
        picture = await self._device.view.screenshot()
        return StepOutcome(
            action=Action.SCREENSHOT, resolution=Resolution.RULE, screenshot=picture, screenshot_name=intent.value
        )

    async def _run_and_reflect(self, sentence: _Sentence) -> StepOutcome:
        """As often as a model says that it missed its aim; what reached it is stored."""
        retries, shortfall = self._policy.reflections, ""
        while True:
            before = await self._screen.settled() if retries is not None else None
            outcome, performed = await self._resolve(sentence, shortfall)
            if before is None or _needs_no_judge(outcome):
                break
            shortfall = await self._models.find_shortfall(sentence.text, before, await self._screen.settled())
            if not shortfall:
                break
            if not retries:
                what = f"{outcome.action} did not do what the step says: {shortfall}"
                raise StepFailed(Category.GOAL_NOT_REACHED, what)
            retries -= 1
        await self._replay.store(sentence.text, performed)
        return outcome

    async def _resolve(self, sentence: _Sentence, shortfall: str) -> tuple[StepOutcome, Performed]:
        also = f"; an earlier try missed its aim: {shortfall}" if shortfall else ""
        meaning = sentence.meaning
        if not self._policy.rules_first(meaning):
            return await self._ask_model(sentence, f"grounder_type is {self._policy.grounder}{also}")
        if isinstance(meaning, NotUnderstood):
            return await self._fall_back(sentence, meaning.why + also)
        first = await self._read_first(meaning)
        if first is not None and self._sentence_actions.ground(meaning, first).reason is not None:
            replayed = await self._replay.run(sentence.text, self._look_for(sentence, first), sentence.cost)
            if replayed is not None:
                return replayed, ()
        try:
            return await self._apply_rules(sentence, meaning, first)
        except Undecided as undecided:
            return await self._fall_back(sentence, undecided.message + also)
        except StepFailed as failed:
            not_found = failed.category is Category.ELEMENT_NOT_FOUND
            if not not_found or not self._policy.may_ask_model or not self._models.available:
                raise
            return await self._ask_model(sentence, failed.message + also)

    async def _read_first(self, intent: Intent) -> Outline | None:
        """The screen, where the rules may decide on it without the step cache."""
        if not intent.needs_screen or self._policy.cache_first(intent):
            return None
        return await self._screen.read()

    async def _apply_rules(
        self, sentence: _Sentence, intent: Intent, first: Outline | None
    ) -> tuple[StepOutcome, Performed]:
        sentence.cost.resolution = Resolution.RULE
        done = await self._sentence_actions.perform(intent, first)
        outcome = StepOutcome(
            action=done.action, resolution=Resolution.RULE, element=done.element, message=done.message
        )
        if done.element is None or done.replaces or not self._policy.cache_first(intent):
            return outcome, ()
        chosen = ChosenAction(Action(done.action), done.element, done.value)
        return outcome, (PerformedAction(self._screen.last, chosen),)

    async def _fall_back(self, sentence: _Sentence, why: str) -> tuple[StepOutcome, Performed]:
        """The rules have no answer: ask a model if that is allowed, else the step is at fault."""
        if self._policy.may_ask_model:
            return await self._ask_model(sentence, why)
        sentence.cost.resolution = None
        raise StepFailed(Category.SCRIPT_ERROR, f"the rules cannot carry out this step: {why}")

    async def _ask_model(self, sentence: _Sentence, why: str) -> tuple[StepOutcome, Performed]:
        sentence.cost.resolution = None
        session = self._models.require(why)
        replayed = await self._replay_on_settled_screen(sentence)
        if replayed is not None:
            return replayed, ()
        sentence.cost.resolution = Resolution.MODEL
        async with model_time_limit(session):
            runner = ModelStepRunner(self._actions, session, self._screen)
            task = ModelTask(sentence.text, why, sentence.goal, self._policy.checkable(sentence.meaning))
            run = await runner.run(task)
        return run.outcome, actions_to_store(run)

    async def _replay_on_settled_screen(self, sentence: _Sentence) -> StepOutcome | None:
        """From the step cache, unless it was asked for this very screen already."""
        asked, asked_for = sentence.cost.cache, sentence.cache_screen
        if asked is not None and (asked is not CacheOutcome.MISS or asked_for is None):
            return None
        settled = Outline((await self._screen.settled()).tree)
        if asked_for is not None and screen_state(asked_for) == screen_state(settled):
            return None
        return await self._replay.run(sentence.text, self._look_for(sentence, settled), sentence.cost)

    def _look_for(self, sentence: _Sentence, known: Outline | None = None) -> GetScreen:
        """Reads the screen for the step cache, unless it is known, and notes which screen that was."""

        async def look() -> Element:
            sentence.cache_screen = known or await self._screen.read()
            return sentence.cache_screen.root

        return look


def _needs_no_judge(outcome: StepOutcome) -> bool:
    """For a check by the rules, and for what has reached its aim before."""
    if outcome.resolution is Resolution.CACHE:
        return True
    return outcome.resolution is Resolution.RULE and outcome.action in SELF_CHECKING
