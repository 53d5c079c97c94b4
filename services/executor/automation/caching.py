"""The step cache: what has carried out a sentence before, found again on a screen with other data, or not at all."""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import TypeVar

from services.chassis import logs
from services.executor import telemetry
from services.executor.automation.agreeing import LOOKS, bare, chosen_by_rules, repeatable
from services.executor.automation.deciding import text_of
from services.executor.automation.elements import Element, Point
from services.executor.automation.locators import Locator, content_of, locate, locator_of, numbered, wording_of
from services.executor.automation.memories import Memories, Memory, Page, Span, Spot
from services.executor.automation.ports import Answer, Look, Planned, Recalled, StepKey
from services.executor.automation.recording import recorded_as
from services.executor.automation.screens import Screen, same, screen_of
from services.executor.automation.sentences.intents import Action
from services.executor.automation.sentences.matching import Outline
from services.executor.model.attempts import CacheOutcome

PATIENCE_SECONDS = 1.0
"""How long the store of memories may take; a step does not wait longer for it."""
REST_SECONDS = 10.0
"""How long a store that was away is left alone."""

T = TypeVar("T")
log = logs.get(__name__)

_NOT_KEPT = frozenset({Action.NONE, Action.SCREENSHOT, Action.ASSERT_NOT_VISIBLE})
_ON_ELEMENT = LOOKS | {Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS, Action.TYPE, Action.CLEAR}
_OWN_WORDS = frozenset({Action.SWIPE, Action.SCROLL, Action.SCROLL_UNTIL_VISIBLE, Action.PRESS_KEY})
"""Actions whose value is a word from a list of ours, and no text of the author's."""

_CONDITIONAL = re.compile(
    r"\b(?:if|unless|when|whether|otherwise|else|depending|while|until|as long as)\b", re.IGNORECASE
)
_BY_PLACE = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|next|\d+(?:st|nd|rd|th)|top|bottom|upper|lower|above|below|under|underneath"
    r"|beneath|over|beside|between|left|right|after|before|near(?:est)?|inside|within)\b",
    re.IGNORECASE,
)
_LASTING = re.compile(r"\d\s*(?:s|ms|secs?|seconds?|milliseconds?|minutes?)\b", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»`"


class RememberingCache:
    """The port `StepCache`. A store that is away costs PATIENCE_SECONDS once, is left alone for a while, and nothing
    is remembered then. What the device raises while it is looked at passes.
    """

    def __init__(self, memories: Memories, *, patience: float = PATIENCE_SECONDS, rest: float = REST_SECONDS) -> None:
        self._memories = memories
        self._patience = patience
        self._rest = rest
        self._resting_until = float("-inf")

    async def recall(self, key: StepKey, look: Look) -> Recalled:
        recalled = await self._recall(key, look)
        telemetry.step_cache.labels(recalled.outcome).inc()
        return recalled

    async def _recall(self, key: StepKey, look: Look) -> Recalled:
        page = await self._page(key)
        if page is None:
            return Recalled(CacheOutcome.MISS)
        if page.plan:
            return Recalled(CacheOutcome.HIT, Planned(page.plan))
        tree = await look()
        memory = _of_screen(page, screen_of(tree))
        if memory is None:
            return Recalled(CacheOutcome.MISS)
        answer = _answered(memory, normalised(key.sentence), Outline(tree))
        return Recalled(CacheOutcome.STALE) if answer is None else Recalled(CacheOutcome.HIT, answer)

    async def remember(self, key: StepKey, tree: Element, kept: Answer | Planned) -> None:
        """What cannot be kept takes the place of what was, too: that is not what carries the sentence out any more."""
        if isinstance(kept, Planned):
            if await self._complete(key, kept):
                await self._asked(self._memories.keep_plan(_hash(key), key.org_id, kept.steps))
            return
        memory = memory_of(kept, normalised(key.sentence), Outline(tree))
        if memory is None:
            await self.forget(key, tree)
        else:
            await self._asked(self._memories.keep(_hash(key), key.org_id, memory))

    async def _complete(self, key: StepKey, plan: Planned) -> bool:
        """Whether each action of a recording could be kept; half of one would be done in vain each time."""
        if plan.steps != recorded_as(key.sentence, len(plan.steps)):
            return True
        pages = [await self._page(replace(key, sentence=name)) for name in plan.steps]
        return all(page is not None and page.memories for page in pages)

    async def forget(self, key: StepKey, tree: Element) -> None:
        page = await self._page(key)
        if page is None:
            return
        present = screen_of(tree)
        screens = [memory.screen for memory in page.memories if same(memory.screen, present)]
        if screens or page.plan:
            await self._asked(self._memories.drop(_hash(key), screens))

    async def _page(self, key: StepKey) -> Page | None:
        return await self._asked(self._memories.page(_hash(key)))

    async def _asked(self, call: Awaitable[T]) -> T | None:
        """What the store says; None, after a bounded time, when it is away."""
        if monotonic() < self._resting_until:
            _close(call)
            return None
        try:
            async with asyncio.timeout(self._patience):
                return await call
        except Exception as error:
            self._resting_until = monotonic() + self._rest
            telemetry.step_cache_failures.inc()
            log.warning("step_cache_away", rest_seconds=self._rest, error=repr(error))
            return None


def _close(call: object) -> None:
    """A coroutine that is not wanted after all."""
    close = getattr(call, "close", None)
    if close is not None:
        close()


def normalised(sentence: str) -> str:
    """Without superfluous blanks; but what stands in quotes may be a text, blanks and all."""
    plain = sentence.strip()
    return plain if any(quote in plain for quote in _QUOTES) else " ".join(plain.split())


def _hash(key: StepKey) -> str:
    parts = (key.org_id, key.app, key.platform, normalised(key.sentence))
    return sha256("\0".join(parts).encode()).hexdigest()


def _of_screen(page: Page, screen: Screen) -> Memory | None:
    return next((memory for memory in page.memories if same(memory.screen, screen)), None)


def memory_of(answer: Answer, sentence: str, outline: Outline) -> Memory | None:
    """The answer as it is kept; None for one that would not be certain, or that is nobody's to keep."""
    if not _may_be_kept(answer, sentence):
        return None
    span = _span(answer, sentence)
    own = answer.value if answer.action in _OWN_WORDS else None
    if answer.value and span is None and own is None and answer.action not in LOOKS:
        return None
    target = None
    if answer.element is not None:
        target = locator_of(answer.element, outline, sentence, exact=answer.action in LOOKS)
        if target is None:
            return None
    return Memory(
        screen=screen_of(outline.root),
        action=answer.action,
        target=target,
        spot=_spot(answer.point, outline.root) if answer.point is not None else None,
        value=own,
        span=span,
        content=content_of(outline) if answer.point is not None or _by_content(sentence, target, outline) else None,
        wording=wording_of(outline) if _by_place(sentence, target) else None,
        ruled=answer.element is not None and chosen_by_rules(sentence, answer.action, answer.element, outline),
    )


def _by_content(sentence: str, target: Locator | None, outline: Outline) -> bool:
    """Whether what was meant depends on all that the screen says: by a condition, or by a number beside it."""
    return bool(_CONDITIONAL.search(sentence)) or (_by_place(sentence, target) and numbered(sentence, outline))


def _by_place(sentence: str, target: Locator | None) -> bool:
    """Whether what was meant depends on what stands where."""
    return (target is not None and target.equals > 1) or bool(_BY_PLACE.search(sentence))


def _may_be_kept(answer: Answer, sentence: str) -> bool:
    """Not what has no element to be found again by, and not what an `Answer` does not say wholly."""
    if answer.action in _NOT_KEPT or (answer.action in _ON_ELEMENT and answer.element is None and answer.point is None):
        return False
    if answer.action is Action.TYPE and answer.element is not None and not bare(answer.element):
        return False
    if answer.action is Action.LONG_PRESS and _LASTING.search(sentence):
        return False
    if answer.action is Action.ASSERT_TEXT:
        return answer.element is not None and answer.value == text_of(answer.element) and answer.value in sentence
    return True


def _span(answer: Answer, sentence: str) -> Span | None:
    if not answer.value or answer.action in _OWN_WORDS:
        return None
    start = sentence.find(answer.value)
    return None if start < 0 else Span(start, start + len(answer.value))


def _spot(point: Point, root: Element) -> Spot:
    screen = root.bounds
    width, height = screen.width or 1, screen.height or 1
    return Spot((point.x - screen.x) / width, (point.y - screen.y) / height, _aspect(root))


def _aspect(root: Element) -> float:
    return round((root.bounds.width or 1) / (root.bounds.height or 1), 2)


def _answered(memory: Memory, sentence: str, outline: Outline) -> Answer | None:
    """The answer on the present screen; None when it does not hold on it any more, or not yet: rules know to wait."""
    if memory.content is not None and memory.content != content_of(outline):
        return None
    if memory.wording is not None and memory.wording != wording_of(outline):
        return None
    element = locate(memory.target, outline) if memory.target is not None else None
    if memory.target is not None and element is None:
        return None
    point = None
    if memory.spot is not None:
        if memory.spot.aspect != _aspect(outline.root) or memory.screen != screen_of(outline.root):
            return None
        point = outline.root.bounds.at(memory.spot.x, memory.spot.y)
    value = sentence[memory.span.start : memory.span.end] if memory.span is not None else memory.value
    if element is not None and not repeatable(memory, sentence, element, outline):
        return None
    return Answer(memory.action, element, value, point)
