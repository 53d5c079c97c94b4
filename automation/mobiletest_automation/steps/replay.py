"""Repeats from the step cache what carried out a sentence before, and stores what did so now."""

from collections.abc import Callable

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import CacheOutcome, Resolution
from mobiletest_automation.model.run_config import CacheRetryMode
from mobiletest_automation.outcome import ResolutionCost, StepFailed, StepOutcome
from mobiletest_automation.ports import ChosenAction, GetScreen, StepCache, StepCacheKey, StoredSteps
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.step_cache.entries import recording_names
from mobiletest_automation.steps.device_actions import DeviceActions
from mobiletest_automation.steps.model_runner import ModelRun, PerformedAction
from mobiletest_automation.steps.screen_reader import ScreenReader

# How a stored action fails when the screen is no longer what it was.
_STALE_CATEGORIES = frozenset({Category.ELEMENT_NOT_FOUND, Category.STEP_TIMEOUT, Category.ASSERTION_FAILED})

_NEVER_STORED = frozenset({Action.ASSERT_NOT_VISIBLE, Action.NONE})
# Stored actions wait for their screen anyway.
_NEEDLESS = frozenset({Action.WAIT_FOR})


class StepReplay:
    """The step cache for the sentences of one attempt.

    A single action is stored under its sentence. Of several, each is stored under a name of its own, and the list of
    these names, a recording, under the sentence.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(
        self,
        cache: StepCache,
        key_of: Callable[[str], StepCacheKey],
        actions: DeviceActions,
        screen: ScreenReader,
        retry: CacheRetryMode,
        secrets: SecretTexts,
    ) -> None:
        """`retry` says what happens when a stored action fails; values of secret variables are not stored."""
        self._secrets = secrets
        self._cache = cache
        self._key_of = key_of
        self._actions = actions
        self._screen = screen
        self._retry = retry

    async def run(self, sentence: str, look: GetScreen, cost: ResolutionCost) -> StepOutcome | None:
        """Repeat what carried the sentence out; None if nothing is stored, or it does not fit the screen any more."""
        outcome = await self.run_goal(sentence, look, cost)
        if isinstance(outcome, StoredSteps):
            cost.cache, cost.resolution = CacheOutcome.MISS, None
            return None
        return outcome

    async def run_goal(self, goal: str, look: GetScreen, cost: ResolutionCost) -> StepOutcome | StoredSteps | None:
        """As `run`; or the sentences that reached the goal, for the caller to run."""
        cache_lookup = await self._cache.lookup(self._key_of(goal), look)
        cost.cache = cache_lookup.outcome
        if cache_lookup.stored is None:
            return None
        if isinstance(cache_lookup.stored, StoredSteps) and not _is_recording(
            self._secrets.as_template(goal), cache_lookup.stored
        ):
            return StoredSteps(tuple(map(self._secrets.fill_template, cache_lookup.stored.steps)))
        cost.resolution = Resolution.CACHE
        try:
            return await self._repeat(cache_lookup.stored)
        except StepFailed as failed:
            if failed.category not in _STALE_CATEGORIES:
                raise
            await self.discard(goal, failed, cost)
            return None

    async def discard(self, sentence: str, failed: StepFailed, cost: ResolutionCost) -> None:
        """What is stored does not work any more.

        Raises:
            StepFailed: `failed`, unless the step may be carried out in another way.
        """
        cost.cache = CacheOutcome.STALE
        await self._cache.discard(self._key_of(sentence), self._screen.last)
        if self._retry is CacheRetryMode.STEP:
            return
        cost.cache_failed = self._retry is CacheRetryMode.FULL_RERUN
        raise failed

    async def store(self, sentence: str, performed: tuple[PerformedAction, ...]) -> None:
        """Store what reached its aim; the cache takes a recording only if it could take each of its actions.

        Nothing is stored of a screen that shows a secret, because what identifies an element may contain it.
        """
        if any(self._shows_secret(each.tree) for each in performed):
            return
        if len(performed) == 1:
            await self._cache.store(self._key_of(sentence), performed[0].tree, performed[0].chosen)
            return
        names = recording_names(self._secrets.as_template(sentence), len(performed))
        for name, each in zip(names, performed, strict=True):
            await self._cache.store(self._key_of(name), each.tree, each.chosen)
        if performed:
            await self._cache.store(self._key_of(sentence), performed[0].tree, StoredSteps(names))

    def _shows_secret(self, tree: Element) -> bool:
        texts = (text for element in walk(tree) for text in (element.text, element.label, element.hint, element.id))
        return any(self._secrets.mask(text) != text for text in texts if text)

    async def store_plan(self, goal: str, sentences: tuple[str, ...]) -> None:
        await self._cache.store(
            self._key_of(goal), self._screen.last, StoredSteps(tuple(map(self._secrets.as_template, sentences)))
        )

    async def _repeat(self, stored: ChosenAction | StoredSteps) -> StepOutcome:
        """One action on the present screen; or those of a recording, each as soon as its screen is there."""
        if isinstance(stored, ChosenAction):
            await self._actions.perform(stored)
            return StepOutcome(action=stored.action, resolution=Resolution.CACHE, element=stored.element)
        last = ChosenAction(Action.NONE)
        for name in stored.steps:
            last = await self._recorded(name)
            await self._actions.perform(last)
        message = f"{len(stored.steps)} cached actions"
        return StepOutcome(action=last.action, resolution=Resolution.CACHE, element=last.element, message=message)

    async def _recorded(self, name: str) -> ChosenAction:
        view = await self._screen.settled()

        async def look() -> Element:
            return view.tree

        cache_lookup = await self._cache.lookup(self._key_of(name), look)
        if isinstance(cache_lookup.stored, ChosenAction):
            return cache_lookup.stored
        raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen is not what it was when this step was recorded")


def _is_recording(sentence: str, stored: StoredSteps) -> bool:
    """Whether it is a list of actions, and not the plan of a goal."""
    return stored.steps == recording_names(sentence, len(stored.steps))


def actions_to_store(run: ModelRun) -> tuple[PerformedAction, ...]:
    """The actions to store; none if they would not repeat all that was done and checked."""
    if not run.all_worked or any(each.chosen.action in _NEVER_STORED for each in run.actions):
        return ()
    return tuple(each for each in run.actions if each.chosen.action not in _NEEDLESS)
