"""What of a model's actions is remembered, and under which names."""

from collections.abc import Callable

from services.executor.automation.outcome import StepFailed, StepOutcome
from services.executor.automation.ports import (
    CacheLookup,
    ChosenAction,
    GetScreen,
    ScreenView,
    StepCache,
    StepCacheKey,
    StoredSteps,
)
from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.intents import Action
from services.executor.automation.steps.model_runner import ModelRun, PerformedAction, ScreenReader
from services.executor.automation.steps.sentence_actions import SentenceActions
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category

_PASSING = frozenset({Action.WAIT_FOR})
"""What needs no repetition: remembered actions wait for their screen anyway."""

_NEVER_KEPT = frozenset({Action.ASSERT_NOT_VISIBLE, Action.NONE})


def recording_names(sentence: str, count: int) -> tuple[str, ...]:
    """The names under which the actions of a sentence are remembered, when it took several."""
    return tuple(f"{sentence} (action {number} of {count})" for number in range(1, count + 1))


def is_recording(sentence: str, kept: StoredSteps) -> bool:
    """Whether it is a list of actions that were done for this sentence, and no plan of a goal."""
    return kept.steps == recording_names(sentence, len(kept.steps))


def actions_to_cache(guided: ModelRun) -> tuple[PerformedAction, ...]:
    """The actions to remember; none when they would not repeat all of what was done and checked."""
    if not guided.smooth or any(move.answer.action in _NEVER_KEPT for move in guided.moves):
        return ()
    return tuple(move for move in guided.moves if move.answer.action not in _PASSING)


class StepReplay:
    """The step cache for the sentences of one attempt. Raises StepFailed and DeviceFailure.

    One action is kept under its sentence; of several each is kept under a name of its own, and under the sentence the
    list of these names: a recording.
    """

    def __init__(
        self, cache: StepCache, cached: Callable[[str], StepCacheKey], performer: SentenceActions, sight: ScreenReader
    ) -> None:
        self._cache = cache
        self._cached = cached
        self._performer = performer
        self._sight = sight

    async def recall(self, sentence: str, look: GetScreen) -> CacheLookup:
        return await self._cache.recall(self._cached(sentence), look)

    async def forget(self, sentence: str, tree: Element) -> None:
        await self._cache.forget(self._cached(sentence), tree)

    async def repeat(self, kept: ChosenAction | StoredSteps) -> StepOutcome:
        """Do it again: one action on the screen as it is now, or a recording, each action once its screen is there."""
        if isinstance(kept, ChosenAction):
            await self._performer.apply(kept)
            return StepOutcome(action=kept.action, resolution=Resolution.CACHE, element=kept.element)
        last = ChosenAction(Action.NONE)
        for name in kept.steps:
            last = await self._recorded(name)
            await self._performer.apply(last)
        message = f"{len(kept.steps)} remembered actions"
        return StepOutcome(action=last.action, resolution=Resolution.CACHE, element=last.element, message=message)

    async def _recorded(self, name: str) -> ChosenAction:
        recalled = await self.recall(name, shows(await self._sight.settled()))
        if isinstance(recalled.kept, ChosenAction):
            return recalled.kept
        raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen is not what it was when this step was learnt")

    async def keep(self, sentence: str, moves: tuple[PerformedAction, ...]) -> None:
        """What reached its aim; the cache takes a recording only if it could keep each of its actions."""
        if len(moves) == 1:
            await self._cache.remember(self._cached(sentence), moves[0].tree, moves[0].answer)
            return
        names = recording_names(sentence, len(moves))
        for name, move in zip(names, moves, strict=True):
            await self._cache.remember(self._cached(name), move.tree, move.answer)
        if moves:
            await self._cache.remember(self._cached(sentence), moves[0].tree, StoredSteps(names))

    async def keep_plan(self, goal: str, tree: Element, steps: tuple[str, ...]) -> None:
        await self._cache.remember(self._cached(goal), tree, StoredSteps(steps))


def shows(view: ScreenView) -> GetScreen:
    """A look at a screen that has been looked at already."""

    async def look() -> Element:
        return view.tree

    return look
