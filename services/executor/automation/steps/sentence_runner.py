"""How sentences are carried out in an attempt: who has the first word on them, and what is asked of whom."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from services.executor.automation.devices.port import Device
from services.executor.automation.devices.watcher import Watcher
from services.executor.automation.outcome import ResolutionCost, StepFailed, StepOutcome
from services.executor.automation.ports import (
    ChosenAction,
    GetScreen,
    ModelFailed,
    ModelSession,
    ModelTask,
    ModelUsage,
    ScreenView,
    StepCache,
    StepCacheKey,
    StoredSteps,
)
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.fingerprint import screen_state
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.element_checks import ELEMENT_CHECKS
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.grounder import Grounding
from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.steps.model_runner import (
    ModelRun,
    ModelStepRunner,
    PerformedAction,
    ScreenReader,
    model_error,
    model_time_limit,
)
from services.executor.automation.steps.replay import StepReplay, actions_to_cache, is_recording, shows
from services.executor.automation.steps.sentence_actions import SentenceActions, Undecided
from services.executor.model.attempts import CacheOutcome, Resolution
from services.executor.model.failures import Category
from services.executor.model.run_config import CacheRetryMode, Grounder

SELF_CHECKING = frozenset(
    {Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.WAIT_FOR, Action.SCREENSHOT, *ELEMENT_CHECKS}
)
"""What has reached its aim when it is done, since it is a check itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionPolicy:
    """`fallback` allows asking a model where the rules end, and `cached` gives the key under which the step cache has a
    sentence.
    """

    cached: Callable[[str], StepCacheKey]
    grounder: Grounder = Grounder.ACCESSIBILITY
    fallback: bool = True
    cache_retry: CacheRetryMode = CacheRetryMode.STEP
    planning: bool = False
    reflections: int | None = None
    """How often a step that missed its aim is tried again; None: nobody judges."""

    @property
    def sees(self) -> bool:
        """Whether models get pictures of the screen."""
        return self.grounder is Grounder.VISION

    @property
    def asks(self) -> bool:
        """Whether a model is asked where the rules end."""
        return self.fallback or self.grounder is not Grounder.ACCESSIBILITY

    def rules_first(self, meaning: Intent | NotUnderstood) -> bool:
        """Whether the rules have the first word. On what they can check they have it unless only pictures are to be
        believed: a model that reads the same list of elements cannot know better.
        """
        if self.grounder is Grounder.LLM:
            return isinstance(meaning, Intent) and meaning.action in SELF_CHECKING
        return self.grounder is Grounder.ACCESSIBILITY

    def provable(self, meaning: Intent | NotUnderstood) -> Intent | None:
        """What a model has to show for its word; on pictures it has no checks to show."""
        if isinstance(meaning, NotUnderstood):
            return None
        return None if self.sees and meaning.action in SELF_CHECKING else meaning


_STALE_CATEGORIES = frozenset({Category.ELEMENT_NOT_FOUND, Category.STEP_TIMEOUT, Category.ASSERTION_FAILED})
"""How a remembered action fails that does not fit the screen any more."""


class SentenceRunner:
    """Raises StepFailed and DeviceFailure. `account` is what the last sentence took."""

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        performer: SentenceActions,
        *,
        advisor: ModelSession | None,
        no_model_reason: str,
        cache: StepCache,
        manner: ResolutionPolicy,
    ) -> None:
        """`advisor` is None where no model can be asked; `why_none` says why."""
        self._device = device
        self._watcher = watcher
        self._performer = performer
        self.advisor = advisor
        self._why_none = no_model_reason
        self.manner = manner
        self.sight = ScreenReader(device, watcher, pictures=manner.sees)
        self.memory = StepReplay(cache, manner.cached, performer, self.sight)
        self.account = ResolutionCost()
        self.goal: str | None = None
        self._first_look: Outline | None = None

    @property
    def seconds(self) -> float:
        """How long models may work on a step beyond what the step takes by itself."""
        return self.advisor.step_seconds if self.advisor is not None else 0.0

    async def do(self, sentence: str) -> StepOutcome:
        """Carry it out; inside a goal, `goal` is what the author wrote."""
        self.account, self._first_look = ResolutionCost(), None
        before = self.spent
        try:
            deed = await self._do(sentence)
        except ModelFailed as failed:
            raise model_error(failed) from failed
        finally:
            spent = self.spent.since(before)
            self.account.model_calls, self.account.model_tokens = spent.calls, spent.tokens
        return self.accounted(deed)

    def accounted(self, deed: StepOutcome) -> StepOutcome:
        took = self.account
        return replace(deed, cache=took.cache, model_calls=took.model_calls, model_tokens=took.model_tokens)

    @property
    def spent(self) -> ModelUsage:
        return self.advisor.spent if self.advisor is not None else ModelUsage()

    async def _do(self, sentence: str) -> StepOutcome:
        meaning = parse_sentence(sentence)
        if isinstance(meaning, Intent) and meaning.action is Action.SCREENSHOT:
            return await self._screenshot(meaning)
        recalled = await self.from_memory(sentence)
        if isinstance(recalled, StoredSteps):
            recalled, self.account = None, ResolutionCost(CacheOutcome.MISS)
        return recalled or await self._afresh(sentence, meaning)

    async def _screenshot(self, intent: Intent) -> StepOutcome:
        picture = await self._device.screenshot()
        return StepOutcome(action=Action.SCREENSHOT, resolution=Resolution.RULE, picture=picture, name=intent.value)

    async def from_memory(self, sentence: str) -> StepOutcome | StoredSteps | None:
        """By what carried it out before, or the plan that reached it; None when neither is known or works any more."""
        return await self._by_memory(sentence, self._look)

    async def _by_memory(self, sentence: str, look: GetScreen) -> StepOutcome | StoredSteps | None:
        recalled = await self.memory.recall(sentence, look)
        self.account.cache = recalled.outcome
        kept = recalled.kept
        if kept is None or (isinstance(kept, StoredSteps) and not is_recording(sentence, kept)):
            return kept
        self.account.resolution = Resolution.CACHE
        try:
            return await self.memory.repeat(kept)
        except StepFailed as failed:
            if failed.category not in _STALE_CATEGORIES:
                raise
            await self.stale(sentence, failed)
        return None

    async def stale(self, sentence: str, failed: StepFailed) -> None:
        """What was remembered does not work any more: it is forgotten, and the step fails unless it may be redone."""
        self.account.cache = CacheOutcome.STALE
        await self.memory.forget(sentence, self.seen())
        if self.manner.cache_retry is CacheRetryMode.STEP:
            return
        self.account.cache_failed = self.manner.cache_retry is CacheRetryMode.FULL_RERUN
        raise failed

    async def _afresh(self, sentence: str, meaning: Intent | NotUnderstood) -> StepOutcome:
        """By the rules or a model, as often as reflection wants it; what reached its aim is remembered."""
        tries, why = self.manner.reflections, ""
        while True:
            before = await self.sight.settled() if tries is not None else None
            deed, moves = await self._resolved(sentence, meaning, why)
            if before is None or _proves_itself(deed):
                break
            why = await self.missed(sentence, before)
            if not why:
                break
            if not tries:
                raise StepFailed(Category.GOAL_NOT_REACHED, f"{deed.action} did not do what the step says: {why}")
            tries -= 1
        await self.memory.keep(sentence, moves)
        return deed

    async def missed(self, sentence: str, before: ScreenView) -> str:
        """Why the sentence has not reached its aim; empty when it has."""
        advisor = self.advised("enable_reflection is on")
        async with model_time_limit(advisor):
            verdict = await advisor.judge(sentence, before, await self.sight.settled())
        return "" if verdict.reached else verdict.why or "the model gives no reason"

    async def _resolved(
        self, sentence: str, meaning: Intent | NotUnderstood, missed: str
    ) -> tuple[StepOutcome, tuple[PerformedAction, ...]]:
        also = f"; it was tried before, and missed its aim: {missed}" if missed else ""
        if not self.manner.rules_first(meaning):
            return await self._by_model(sentence, f"grounder_type is {self.manner.grounder}{also}")
        if isinstance(meaning, NotUnderstood):
            return await self._beyond_rules(sentence, meaning.why + also)
        self.account.resolution = Resolution.RULE
        try:
            return self._by_rules(await self._performer.perform(meaning))
        except Undecided as undecided:
            return await self._beyond_rules(sentence, undecided.message + also)
        except StepFailed as failed:
            if failed.category is not Category.ELEMENT_NOT_FOUND or not self.manner.asks or self.advisor is None:
                raise
            return await self._by_model(sentence, failed.message + also)

    def _by_rules(self, done: Grounding) -> tuple[StepOutcome, tuple[PerformedAction, ...]]:
        deed = StepOutcome(action=done.action, resolution=Resolution.RULE, element=done.element, message=done.message)
        if done.element is None or done.replaces:
            return deed, ()
        return deed, (PerformedAction(self.seen(), ChosenAction(done.action, done.element, done.value)),)

    async def _beyond_rules(self, sentence: str, why: str) -> tuple[StepOutcome, tuple[PerformedAction, ...]]:
        """The rules have no answer: ask a model if that is wanted, else the step is at fault."""
        if self.manner.asks:
            return await self._by_model(sentence, why)
        self.account.resolution = None
        raise StepFailed(Category.SCRIPT_ERROR, f"the rules cannot carry out this step: {why}")

    async def _by_model(self, sentence: str, why: str) -> tuple[StepOutcome, tuple[PerformedAction, ...]]:
        self.account.resolution = None
        advisor = self.advised(why)
        if self.account.cache is CacheOutcome.MISS and (deed := await self._now_known(sentence)) is not None:
            return deed, ()
        self.account.resolution = Resolution.MODEL
        async with model_time_limit(advisor):
            guide = ModelStepRunner(self._performer, advisor, self.sight)
            task = ModelTask(sentence, why, self.goal or sentence, self.manner.provable(parse_sentence(sentence)))
            guided = await guide.carry_out(task)
        return _model_outcome(guided), actions_to_cache(guided)

    async def _now_known(self, sentence: str) -> StepOutcome | None:
        """From memory after all, if the screen had only not come to rest when it was looked up."""
        before, view = self._first_look, await self.sight.settled()
        if before is None or screen_state(before) == screen_state(Outline(view.tree)):
            return None
        deed = await self._by_memory(sentence, shows(view))
        return deed if isinstance(deed, StepOutcome) else None

    def advised(self, why: str) -> ModelSession:
        if self.advisor is not None:
            return self.advisor
        raise StepFailed(
            Category.CONFIG_INVALID,
            f"this step needs a model: {why}; {self._why_none}",
            reason="this step needs a model, and none is configured",
        )

    async def _look(self) -> Element:
        self._first_look = await self._watcher.look()
        return self._first_look.root

    def seen(self) -> Element:
        """The screen as it was looked at last."""
        return self._watcher.seen.root if self._watcher.seen is not None else Element()


def _model_outcome(guided: ModelRun) -> StepOutcome:
    last = guided.moves[-1].answer if guided.moves else ChosenAction(Action.NONE)
    return StepOutcome(action=last.action, resolution=Resolution.MODEL, element=last.element, message=guided.message)


def _proves_itself(deed: StepOutcome) -> bool:
    """Whether nobody need judge it: a check by the rules, or what has reached its aim before."""
    return deed.resolution is Resolution.CACHE or (deed.resolution is Resolution.RULE and deed.action in SELF_CHECKING)
