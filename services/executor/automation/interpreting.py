"""Carries out sentences: from memory, by the rules, and by a model where the rules end."""

from dataclasses import replace

from services.executor.automation.aiming import impression
from services.executor.automation.deeds import Account, Deed
from services.executor.automation.devices import Device
from services.executor.automation.elements import Element
from services.executor.automation.failing import StepFailed
from services.executor.automation.guided import Guide, Guided, Sight, helpless, in_time
from services.executor.automation.lacking import Move
from services.executor.automation.manners import LOOKS_ONLY, Manner
from services.executor.automation.performing import Performer, Undecided
from services.executor.automation.ports import (
    Advisor,
    Answer,
    Look,
    ModelFailed,
    Planned,
    Spent,
    StepCache,
    Task,
    View,
)
from services.executor.automation.recording import is_recording, worth_keeping
from services.executor.automation.remembering import StepMemory, shows
from services.executor.automation.sentences.grammar import understand
from services.executor.automation.sentences.grounder import Grounding
from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.sentences.matching import Outline
from services.executor.automation.watching import Watcher
from services.executor.model.attempts import CacheOutcome, Resolution
from services.executor.model.failures import Category
from services.executor.model.run_config import CacheRetryMode

_WORN_OUT = frozenset({Category.ELEMENT_NOT_FOUND, Category.STEP_TIMEOUT, Category.ASSERTION_FAILED})
"""How a remembered action fails that does not fit the screen any more."""


class Interpreter:
    """Raises StepFailed and DeviceFailure. `account` is what the last sentence took."""

    def __init__(
        self,
        device: Device,
        watcher: Watcher,
        performer: Performer,
        *,
        advisor: Advisor | None,
        why_none: str,
        cache: StepCache,
        manner: Manner,
    ) -> None:
        """`advisor` is None where no model can be asked; `why_none` says why."""
        self._device = device
        self._watcher = watcher
        self._performer = performer
        self.advisor = advisor
        self._why_none = why_none
        self.manner = manner
        self.sight = Sight(device, watcher, pictures=manner.sees)
        self.memory = StepMemory(cache, manner.cached, performer, self.sight)
        self.account = Account()
        self.goal: str | None = None
        self._first_look: Outline | None = None

    @property
    def seconds(self) -> float:
        """How long models may work on a step beyond what the step takes by itself."""
        return self.advisor.step_seconds if self.advisor is not None else 0.0

    async def do(self, sentence: str) -> Deed:
        """Carry it out; inside a goal, `goal` is what the author wrote."""
        self.account, self._first_look = Account(), None
        before = self.spent
        try:
            deed = await self._do(sentence)
        except ModelFailed as failed:
            raise helpless(failed) from failed
        finally:
            spent = self.spent.since(before)
            self.account.model_calls, self.account.model_tokens = spent.calls, spent.tokens
        return self.accounted(deed)

    def accounted(self, deed: Deed) -> Deed:
        took = self.account
        return replace(deed, cache=took.cache, model_calls=took.model_calls, model_tokens=took.model_tokens)

    @property
    def spent(self) -> Spent:
        return self.advisor.spent if self.advisor is not None else Spent()

    async def _do(self, sentence: str) -> Deed:
        meaning = understand(sentence)
        if isinstance(meaning, Intent) and meaning.action is Action.SCREENSHOT:
            return await self._screenshot(meaning)
        recalled = await self.from_memory(sentence)
        if isinstance(recalled, Planned):
            recalled, self.account = None, Account(CacheOutcome.MISS)
        return recalled or await self._afresh(sentence, meaning)

    async def _screenshot(self, intent: Intent) -> Deed:
        picture = await self._device.screenshot()
        return Deed(action=Action.SCREENSHOT, resolution=Resolution.RULE, picture=picture, name=intent.value)

    async def from_memory(self, sentence: str) -> Deed | Planned | None:
        """By what carried it out before, or the plan that reached it; None when neither is known or works any more."""
        return await self._by_memory(sentence, self._look)

    async def _by_memory(self, sentence: str, look: Look) -> Deed | Planned | None:
        recalled = await self.memory.recall(sentence, look)
        self.account.cache = recalled.outcome
        kept = recalled.kept
        if kept is None or (isinstance(kept, Planned) and not is_recording(sentence, kept)):
            return kept
        self.account.resolution = Resolution.CACHE
        try:
            return await self.memory.repeat(kept)
        except StepFailed as failed:
            if failed.category not in _WORN_OUT:
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

    async def _afresh(self, sentence: str, meaning: Intent | NotUnderstood) -> Deed:
        """By the rules or a model, as often as reflection wants it; what reached its aim is remembered."""
        tries, why = self.manner.reflections, ""
        while True:
            before = await self.sight.settled() if tries is not None else None
            deed, moves = await self._resolved(sentence, meaning, why)
            if before is None or _is_proof(deed):
                break
            why = await self.missed(sentence, before)
            if not why:
                break
            if not tries:
                raise StepFailed(Category.GOAL_NOT_REACHED, f"{deed.action} did not do what the step says: {why}")
            tries -= 1
        await self.memory.keep(sentence, moves)
        return deed

    async def missed(self, sentence: str, before: View) -> str:
        """Why the sentence has not reached its aim; empty when it has."""
        advisor = self.advised("enable_reflection is on")
        async with in_time(advisor):
            verdict = await advisor.judge(sentence, before, await self.sight.settled())
        return "" if verdict.reached else verdict.why or "the model gives no reason"

    async def _resolved(
        self, sentence: str, meaning: Intent | NotUnderstood, missed: str
    ) -> tuple[Deed, tuple[Move, ...]]:
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

    def _by_rules(self, done: Grounding) -> tuple[Deed, tuple[Move, ...]]:
        deed = Deed(action=done.action, resolution=Resolution.RULE, element=done.element, message=done.message)
        if done.element is None or done.replaces:
            return deed, ()
        return deed, (Move(self.seen(), Answer(done.action, done.element, done.value)),)

    async def _beyond_rules(self, sentence: str, why: str) -> tuple[Deed, tuple[Move, ...]]:
        """The rules have no answer: ask a model if that is wanted, else the step is at fault."""
        if self.manner.asks:
            return await self._by_model(sentence, why)
        self.account.resolution = None
        raise StepFailed(Category.SCRIPT_ERROR, f"the rules cannot carry out this step: {why}")

    async def _by_model(self, sentence: str, why: str) -> tuple[Deed, tuple[Move, ...]]:
        self.account.resolution = None
        advisor = self.advised(why)
        if self.account.cache is CacheOutcome.MISS and (deed := await self._now_known(sentence)) is not None:
            return deed, ()
        self.account.resolution = Resolution.MODEL
        async with in_time(advisor):
            guide = Guide(self._performer, advisor, self.sight)
            task = Task(sentence, why, self.goal or sentence, self.manner.provable(understand(sentence)))
            guided = await guide.carry_out(task)
        return _guided(guided), worth_keeping(guided)

    async def _now_known(self, sentence: str) -> Deed | None:
        """From memory after all, if the screen had only not come to rest when it was looked up."""
        before, view = self._first_look, await self.sight.settled()
        if before is None or impression(before) == impression(Outline(view.tree)):
            return None
        deed = await self._by_memory(sentence, shows(view))
        return deed if isinstance(deed, Deed) else None

    def advised(self, why: str) -> Advisor:
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


def _guided(guided: Guided) -> Deed:
    last = guided.moves[-1].answer if guided.moves else Answer(Action.NONE)
    return Deed(action=last.action, resolution=Resolution.MODEL, element=last.element, message=guided.message)


def _is_proof(deed: Deed) -> bool:
    """Whether nobody need judge it: a check by the rules, or what has reached its aim before."""
    return deed.resolution is Resolution.CACHE or (deed.resolution is Resolution.RULE and deed.action in LOOKS_ONLY)
