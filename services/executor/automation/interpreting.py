"""Carries out sentences: from memory, by the rules, and by a model where the rules end."""

from collections.abc import Callable

from services.executor.automation.deeds import Deed
from services.executor.automation.devices import Device
from services.executor.automation.elements import Element
from services.executor.automation.failing import StepFailed
from services.executor.automation.performing import Performer, Undecided
from services.executor.automation.ports import Answer, Model, ModelUnavailable, Question, StepCache, StepKey
from services.executor.automation.sentences.grammar import understand
from services.executor.automation.sentences.grounder import Grounding
from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.watching import Watcher
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.executor.model.run_config import FallbackTrigger, Grounder


class Interpreter:
    """Raises StepFailed and DeviceFailure."""

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        performer: Performer,
        *,
        model: Model,
        cache: StepCache,
        grounder: Grounder,
        fallback: FallbackTrigger,
        cached: Callable[[str], StepKey],
        app_prompt: str | None,
    ) -> None:
        """`cached` gives the key under which the step cache has a sentence."""
        self._device = device
        self._watcher = watcher
        self._performer = performer
        self._model = model
        self._cache = cache
        self._grounder = grounder
        self._fallback = fallback
        self._cached = cached
        self._app_prompt = app_prompt

    async def do(self, sentence: str) -> Deed:
        if self._grounder is not Grounder.ACCESSIBILITY:
            return await self._ask(sentence, f"grounder_type is {self._grounder}")
        recalled = await self._recall(sentence)
        if recalled is not None:
            return recalled
        meaning = understand(sentence)
        if isinstance(meaning, NotUnderstood):
            return await self._beyond_rules(sentence, meaning.why)
        if meaning.action is Action.SCREENSHOT:
            return await self._screenshot(meaning)
        return await self._by_rules(sentence, meaning)

    async def _by_rules(self, sentence: str, intent: Intent) -> Deed:
        try:
            grounding = await self._performer.perform(intent)
        except Undecided as undecided:
            return await self._beyond_rules(sentence, undecided.message)
        except StepFailed as failed:
            return await self._after_failure(sentence, failed)
        await self._remember(sentence, grounding)
        return Deed(
            action=grounding.action, resolution=Resolution.RULE, element=grounding.element, message=grounding.message
        )

    async def _screenshot(self, intent: Intent) -> Deed:
        picture = await self._device.screenshot()
        return Deed(action=Action.SCREENSHOT, resolution=Resolution.RULE, picture=picture, name=intent.value)

    async def _beyond_rules(self, sentence: str, why: str) -> Deed:
        """The rules have no answer: ask a model if that is wanted, else the step is at fault."""
        if self._fallback is FallbackTrigger.STEP_FAIL:
            return await self._ask(sentence, why)
        raise StepFailed(Category.SCRIPT_ERROR, f"the rules cannot carry out this step: {why}")

    async def _after_failure(self, sentence: str, failed: StepFailed) -> Deed:
        """What the rules looked for is not there; a model may know better, but without one that is the verdict."""
        if self._fallback is not FallbackTrigger.STEP_FAIL or failed.category is not Category.ELEMENT_NOT_FOUND:
            raise failed
        try:
            self._model.check()
        except ModelUnavailable:
            raise failed from None
        return await self._ask(sentence, failed.message)

    async def _ask(self, sentence: str, why: str) -> Deed:
        try:
            self._model.check()
            answer = await self._model.choose(Question(sentence, await self._look(), why, self._app_prompt))
        except ModelUnavailable as unavailable:
            raise StepFailed(
                Category.LLM_UNAVAILABLE,
                f"this step needs a model: {why}; {unavailable}",
                reason="this step needs a model, and none could be asked",
            ) from unavailable
        if answer.action is Action.NONE:
            raise StepFailed(Category.GOAL_NOT_REACHED, f"neither the rules nor the model found an action: {why}")
        return await self._apply(answer, Resolution.MODEL)

    async def _apply(self, answer: Answer, resolution: Resolution) -> Deed:
        await self._performer.apply(Intent(action=answer.action, value=answer.value), answer.element)
        return Deed(action=answer.action, resolution=resolution, element=answer.element)

    async def _look(self) -> Element:
        return (await self._watcher.look()).root

    async def _recall(self, sentence: str) -> Deed | None:
        recalled = await self._cache.recall(self._cached(sentence), self._look)
        if not isinstance(recalled.kept, Answer):
            return None
        return await self._apply(recalled.kept, Resolution.CACHE)

    async def _remember(self, sentence: str, grounding: Grounding) -> None:
        if self._watcher.seen is not None and grounding.element is not None:
            answer = Answer(grounding.action, grounding.element, grounding.value)
            await self._cache.remember(self._cached(sentence), self._watcher.seen.root, answer)
