"""The step cache against the rules, on randomly changed screens: it never does what they would not."""

from dataclasses import replace
from random import Random

import pytest

from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.ports import ChosenAction, StepCacheKey
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_intent
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.step_cache.cache import StoredStepCache
from tests.examples import examples
from tests.fakes.step_cache import FakeStepCacheStore

NAMES = (
    *("Add", "Remove", "Blue mug", "Item 1", "Item 2", "2", "3", "+", "-", "$12", "Cart (2)", "In stock", "Pay"),
    "12 May",
)
IDS = ("", "go", "seat_1", "seat_2")
SENTENCES = (
    *('Tap "{a}"', "Tap {a}", 'Tap "{a}" below "{b}"', 'Tap the "{a}" next to "{b}"', 'Tap the second "{a}"'),
    *('Tap the "{a}" button', 'Double tap "{a}"', 'Type "hello" into "{a}"', 'I see "{a}"'),
    *('I see "{a}" below "{b}"', '"{a}" is enabled', '"{a}" is disabled', '"{a}" is checked'),
)


class Chance:
    """Random sentences, screens and changes of screens, equal for equal seeds."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.pick = self._random.choice

    def sentence(self) -> str:
        return self.pick(SENTENCES).format(a=self.pick(NAMES), b=self.pick(NAMES))

    def screen(self) -> Element:
        shown = [self._part(60 * number) for number in range(self.pick((2, 3, 4)))]
        return Element(role=Role.SCREEN, bounds=Bounds(0, 0, 360, 640), children=tuple(shown))

    def changed(self, element: Element) -> Element:
        if element.children:
            inside = [self.changed(child) for child in element.children]
            if element.role is Role.LIST and self._now_and_then(2):
                self._random.shuffle(inside)
            return replace(element, children=tuple(inside))
        if element.role is not Role.FIELD and self._now_and_then(5):
            return replace(element, text=self.pick(NAMES))
        return replace(element, enabled=element.enabled is not self._now_and_then(10))

    def _part(self, y: float) -> Element:
        if self._now_and_then(2):
            return self._leaf(y, 0)
        rows = tuple(
            Element(role=Role.CELL, bounds=Bounds(0, y, 360, 40), children=(self._leaf(y, 0), self._leaf(y, 150)))
            for _ in range(self.pick((1, 2, 3)))
        )
        return Element(role=Role.LIST, bounds=Bounds(0, y, 360, 120), children=rows)

    def _leaf(self, y: float, x: float) -> Element:
        role = self.pick((Role.BUTTON, Role.TEXT, Role.CHECKBOX, Role.FIELD))
        named = {"label" if role is Role.FIELD else "text": self.pick(NAMES)}
        checked = self._now_and_then(2) if role is Role.CHECKBOX else None
        return Element(role=role, bounds=Bounds(x, y, 100, 40), checked=checked, id=self.pick(IDS), **named)

    def _now_and_then(self, times: int) -> bool:
        return self._random.randrange(times) == 0


async def again(sentence: str, first: Element, answer: ChosenAction, then: Element) -> ChosenAction | None:
    async def look() -> Element:
        return then

    cache, key = StoredStepCache(FakeStepCacheStore()), StepCacheKey("org", "app", "android", sentence)
    await cache.store(key, first, answer)
    recalled = await cache.lookup(key, look)
    return (
        recalled.stored if recalled.outcome is CacheOutcome.HIT and isinstance(recalled.stored, ChosenAction) else None
    )


@pytest.mark.parametrize("seed", range(4))
async def test_the_cache_never_does_what_the_rules_would_not(seed: int) -> None:
    chance, hits = Chance(seed), 0
    for _ in range(examples(4_000)):
        sentence, first = chance.sentence(), chance.screen()
        meaning = parse_sentence(sentence)
        chosen = ground_intent(meaning, Outline(first)) if isinstance(meaning, Intent) else None
        if not isinstance(meaning, Intent) or chosen is None or chosen.element is None or chosen.replaces:
            continue
        then = chance.changed(first)
        kept = await again(sentence, first, ChosenAction(chosen.action, chosen.element, chosen.value), then)
        if kept is None:
            continue
        hits += 1
        now = ground_intent(meaning, Outline(then))
        assert now.action is kept.action, sentence
        assert kept.element in (now.candidates if kept.action is Action.ASSERT_VISIBLE else (now.element,)), sentence
    assert hits > examples(4_000) / 200
