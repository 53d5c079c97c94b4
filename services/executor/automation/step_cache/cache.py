"""Says whether what is remembered may be repeated: where the rules chose it, they have to choose it again."""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import TypeVar

from services.chassis import logs
from services.executor import telemetry
from services.executor.automation.ports import CacheLookup, ChosenAction, GetScreen, StepCacheKey, StoredSteps
from services.executor.automation.screen.elements import Element, Point
from services.executor.automation.screen.fingerprint import ScreenFingerprint, fingerprint_of, same_screen
from services.executor.automation.screen.locators import (
    Locator,
    content_hash,
    has_number_on_screen,
    locate,
    locator_of,
    wording_hash,
)
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.element_checks import ELEMENT_CHECKS, text_of
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.grounder import RefusalReason, ground_intent
from services.executor.automation.sentences.intents import Action, Intent
from services.executor.automation.step_cache.entries import (
    CachedSentence,
    CacheEntry,
    RelativePoint,
    SentenceSpan,
    StepCacheStore,
)
from services.executor.automation.steps.replay import recording_names
from services.executor.model.attempts import CacheOutcome

_ANY_MATCH_COUNTS = frozenset({Action.ASSERT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE})
READ_ONLY = _ANY_MATCH_COUNTS | ELEMENT_CHECKS.keys()
"""What changes nothing."""


def still_valid(memory: CacheEntry, sentence: str, element: Element, outline: Outline) -> bool:
    """Whether it can be done to the element as it is now, or holds for it, and the rules do not say otherwise."""
    action = memory.action
    if (not element.enabled and action not in READ_ONLY) or (action is Action.TYPE and not is_empty_field(element)):
        return False
    check = ELEMENT_CHECKS.get(action)
    value = sentence[memory.span.start : memory.span.end] if memory.span is not None else None
    if check is not None and not check(Intent(action=action, value=value), element):
        return False
    renamed = memory.target is not None and not memory.target.exact
    return not memory.ruled or rules_choose(sentence, action, element, outline, renamed=renamed)


def is_empty_field(field: Element) -> bool:
    """Whether nothing is typed in: typing at the end of something else would make another text."""
    return text_of(field).strip() in ("", field.hint.strip(), field.label.strip())


def rules_choose(sentence: str, action: Action, element: Element, outline: Outline, *, renamed: bool = False) -> bool:
    """Whether the rules alone do this to this element on this screen. With `renamed` it will do that they find nothing:
    its id says that it is the one, though a number in its name is another now.
    """
    meaning = parse_sentence(sentence)
    if not isinstance(meaning, Intent):
        return False
    grounding = ground_intent(meaning, outline)
    if renamed and grounding.reason is RefusalReason.NOT_FOUND:
        return True
    if grounding.action is not action:
        return False
    return element in grounding.candidates if action in _ANY_MATCH_COUNTS else grounding.element is element


PATIENCE_SECONDS = 1.0
"""How long the store of memories may take; a step does not wait longer for it."""
REST_SECONDS = 10.0
"""How long a store that was away is left alone."""

T = TypeVar("T")
log = logs.get(__name__)

_NEVER_CACHED = frozenset({Action.NONE, Action.SCREENSHOT, Action.ASSERT_NOT_VISIBLE})
_ELEMENT_ACTIONS = READ_ONLY | {Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS, Action.TYPE, Action.CLEAR}
_KEYWORD_VALUES = frozenset({Action.SWIPE, Action.SCROLL, Action.SCROLL_UNTIL_VISIBLE, Action.PRESS_KEY})
"""Actions whose value is a word from a list of ours, and no text of the author's."""

_CONDITIONAL = re.compile(
    r"\b(?:if|unless|when|whether|otherwise|else|depending|while|until|as long as)\b", re.IGNORECASE
)
_POSITIONAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|next|\d+(?:st|nd|rd|th)|top|bottom|upper|lower|above|below|under|underneath"
    r"|beneath|over|beside|between|left|right|after|before|near(?:est)?|inside|within)\b",
    re.IGNORECASE,
)
_DURATION = re.compile(r"\d\s*(?:s|ms|secs?|seconds?|milliseconds?|minutes?)\b", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»`"


class StoredStepCache:
    """The port `StepCache`. A store that is away costs PATIENCE_SECONDS once, is left alone for a while, and nothing
    is remembered then. What the device raises while it is looked at passes.
    """

    def __init__(
        self, memories: StepCacheStore, *, patience: float = PATIENCE_SECONDS, rest: float = REST_SECONDS
    ) -> None:
        self._memories = memories
        self._patience = patience
        self._rest = rest
        self._resting_until = float("-inf")

    async def recall(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        recalled = await self._recall(key, look)
        telemetry.step_cache.labels(recalled.outcome).inc()
        return recalled

    async def _recall(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        page = await self._page(key)
        if page is None:
            return CacheLookup(CacheOutcome.MISS)
        if page.plan:
            return CacheLookup(CacheOutcome.HIT, StoredSteps(page.plan))
        tree = await look()
        memory = _entry_for_screen(page, fingerprint_of(tree))
        if memory is None:
            return CacheLookup(CacheOutcome.MISS)
        answer = _restore(memory, normalized(key.sentence), Outline(tree))
        return CacheLookup(CacheOutcome.STALE) if answer is None else CacheLookup(CacheOutcome.HIT, answer)

    async def remember(self, key: StepCacheKey, tree: Element, kept: ChosenAction | StoredSteps) -> None:
        """What cannot be kept takes the place of what was, too: that is not what carries the sentence out any more."""
        if isinstance(kept, StoredSteps):
            if await self._complete(key, kept):
                await self._asked(self._memories.keep_plan(_hash(key), key.org_id, kept.steps))
            return
        memory = entry_of(kept, normalized(key.sentence), Outline(tree))
        if memory is None:
            await self.forget(key, tree)
        else:
            await self._asked(self._memories.keep(_hash(key), key.org_id, memory))

    async def _complete(self, key: StepCacheKey, plan: StoredSteps) -> bool:
        """Whether each action of a recording could be kept; half of one would be done in vain each time."""
        if plan.steps != recording_names(key.sentence, len(plan.steps)):
            return True
        pages = [await self._page(replace(key, sentence=name)) for name in plan.steps]
        return all(page is not None and page.memories for page in pages)

    async def forget(self, key: StepCacheKey, tree: Element) -> None:
        page = await self._page(key)
        if page is None:
            return
        present = fingerprint_of(tree)
        screens = [memory.screen for memory in page.memories if same_screen(memory.screen, present)]
        if screens or page.plan:
            await self._asked(self._memories.drop(_hash(key), screens))

    async def _page(self, key: StepCacheKey) -> CachedSentence | None:
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


def normalized(sentence: str) -> str:
    """Without superfluous blanks; but what stands in quotes may be a text, blanks and all."""
    plain = sentence.strip()
    return plain if any(quote in plain for quote in _QUOTES) else " ".join(plain.split())


def _hash(key: StepCacheKey) -> str:
    parts = (key.org_id, key.app, key.platform, normalized(key.sentence))
    return sha256("\0".join(parts).encode()).hexdigest()


def _entry_for_screen(page: CachedSentence, screen: ScreenFingerprint) -> CacheEntry | None:
    return next((memory for memory in page.memories if same_screen(memory.screen, screen)), None)


def entry_of(answer: ChosenAction, sentence: str, outline: Outline) -> CacheEntry | None:
    """The answer as it is kept; None for one that would not be certain, or that is nobody's to keep."""
    if not _is_cacheable(answer, sentence):
        return None
    span = _span(answer, sentence)
    own = answer.value if answer.action in _KEYWORD_VALUES else None
    if answer.value and span is None and own is None and answer.action not in READ_ONLY:
        return None
    target = None
    if answer.element is not None:
        target = locator_of(answer.element, outline, sentence, exact=answer.action in READ_ONLY)
        if target is None:
            return None
    return CacheEntry(
        screen=fingerprint_of(outline.root),
        action=answer.action,
        target=target,
        spot=_relative_point(answer.point, outline.root) if answer.point is not None else None,
        value=own,
        span=span,
        content=content_hash(outline)
        if answer.point is not None or _depends_on_content(sentence, target, outline)
        else None,
        wording=wording_hash(outline) if _depends_on_position(sentence, target) else None,
        ruled=answer.element is not None and rules_choose(sentence, answer.action, answer.element, outline),
    )


def _depends_on_content(sentence: str, target: Locator | None, outline: Outline) -> bool:
    """Whether what was meant depends on all that the screen says: by a condition, or by a number beside it."""
    return bool(_CONDITIONAL.search(sentence)) or (
        _depends_on_position(sentence, target) and has_number_on_screen(sentence, outline)
    )


def _depends_on_position(sentence: str, target: Locator | None) -> bool:
    """Whether what was meant depends on what stands where."""
    return (target is not None and target.equals > 1) or bool(_POSITIONAL.search(sentence))


def _is_cacheable(answer: ChosenAction, sentence: str) -> bool:
    """Not what has no element to be found again by, and not what an `Answer` does not say wholly."""
    if answer.action in _NEVER_CACHED or (
        answer.action in _ELEMENT_ACTIONS and answer.element is None and answer.point is None
    ):
        return False
    if answer.action is Action.TYPE and answer.element is not None and not is_empty_field(answer.element):
        return False
    if answer.action is Action.LONG_PRESS and _DURATION.search(sentence):
        return False
    if answer.action is Action.ASSERT_TEXT:
        return answer.element is not None and answer.value == text_of(answer.element) and answer.value in sentence
    return True


def _span(answer: ChosenAction, sentence: str) -> SentenceSpan | None:
    if not answer.value or answer.action in _KEYWORD_VALUES:
        return None
    start = sentence.find(answer.value)
    return None if start < 0 else SentenceSpan(start, start + len(answer.value))


def _relative_point(point: Point, root: Element) -> RelativePoint:
    screen = root.bounds
    width, height = screen.width or 1, screen.height or 1
    return RelativePoint((point.x - screen.x) / width, (point.y - screen.y) / height, _aspect(root))


def _aspect(root: Element) -> float:
    return round((root.bounds.width or 1) / (root.bounds.height or 1), 2)


def _restore(memory: CacheEntry, sentence: str, outline: Outline) -> ChosenAction | None:
    """The answer on the present screen; None when it does not hold on it any more, or not yet: rules know to wait."""
    if memory.content is not None and memory.content != content_hash(outline):
        return None
    if memory.wording is not None and memory.wording != wording_hash(outline):
        return None
    element = locate(memory.target, outline) if memory.target is not None else None
    if memory.target is not None and element is None:
        return None
    point = None
    if memory.spot is not None:
        if memory.spot.aspect != _aspect(outline.root) or memory.screen != fingerprint_of(outline.root):
            return None
        point = outline.root.bounds.at(memory.spot.x, memory.spot.y)
    value = sentence[memory.span.start : memory.span.end] if memory.span is not None else memory.value
    if element is not None and not still_valid(memory, sentence, element, outline):
        return None
    return ChosenAction(memory.action, element, value, point)
