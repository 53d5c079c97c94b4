"""What is remembered of how sentences were carried out, and its repetition."""

from collections.abc import Callable

from services.executor.automation.deeds import Deed
from services.executor.automation.elements import Element
from services.executor.automation.failing import StepFailed
from services.executor.automation.guided import Sight
from services.executor.automation.lacking import Move
from services.executor.automation.performing import Performer
from services.executor.automation.ports import Answer, Look, Planned, Recalled, StepCache, StepKey, View
from services.executor.automation.recording import recorded_as
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category


class StepMemory:
    """The step cache for the sentences of one attempt. Raises StepFailed and DeviceFailure.

    One action is kept under its sentence; of several each is kept under a name of its own, and under the sentence the
    list of these names: a recording.
    """

    def __init__(self, cache: StepCache, cached: Callable[[str], StepKey], performer: Performer, sight: Sight) -> None:
        self._cache = cache
        self._cached = cached
        self._performer = performer
        self._sight = sight

    async def recall(self, sentence: str, look: Look) -> Recalled:
        return await self._cache.recall(self._cached(sentence), look)

    async def forget(self, sentence: str, tree: Element) -> None:
        await self._cache.forget(self._cached(sentence), tree)

    async def repeat(self, kept: Answer | Planned) -> Deed:
        """Do it again: one action on the screen as it is now, or a recording, each action once its screen is there."""
        if isinstance(kept, Answer):
            await self._performer.apply(kept)
            return Deed(action=kept.action, resolution=Resolution.CACHE, element=kept.element)
        last = Answer(Action.NONE)
        for name in kept.steps:
            last = await self._recorded(name)
            await self._performer.apply(last)
        message = f"{len(kept.steps)} remembered actions"
        return Deed(action=last.action, resolution=Resolution.CACHE, element=last.element, message=message)

    async def _recorded(self, name: str) -> Answer:
        recalled = await self.recall(name, shows(await self._sight.settled()))
        if isinstance(recalled.kept, Answer):
            return recalled.kept
        raise StepFailed(Category.ELEMENT_NOT_FOUND, "the screen is not what it was when this step was learnt")

    async def keep(self, sentence: str, moves: tuple[Move, ...]) -> None:
        """What reached its aim; the cache takes a recording only if it could keep each of its actions."""
        if len(moves) == 1:
            await self._cache.remember(self._cached(sentence), moves[0].tree, moves[0].answer)
            return
        names = recorded_as(sentence, len(moves))
        for name, move in zip(names, moves, strict=True):
            await self._cache.remember(self._cached(name), move.tree, move.answer)
        if moves:
            await self._cache.remember(self._cached(sentence), moves[0].tree, Planned(names))

    async def keep_plan(self, goal: str, tree: Element, steps: tuple[str, ...]) -> None:
        await self._cache.remember(self._cached(goal), tree, Planned(steps))


def shows(view: View) -> Look:
    """A look at a screen that has been looked at already."""

    async def look() -> Element:
        return view.tree

    return look
