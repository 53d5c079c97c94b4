"""The step cache: what it stores, whose lookups find it, and that its store never delays a step."""

import pytest

from mobiletest_automation.ports import CacheLookup, ChosenAction, StoredSteps
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.step_cache.cache import StoredStepCache
from mobiletest_automation.step_cache.entries import SCREENS_LIMIT, recording_names
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.automation.sample_screens import (
    android,
    android_cart,
    android_products,
    ios_login,
    ios_register,
    screen,
)
from tests.unit.automation.step_cache.lookups import HIT, MISS, after, find, key, recalled


async def test_an_entry_is_found_again_among_other_data() -> None:
    first = android_products("Blue mug", clock="9:41")
    then = android_products("Fork", "Spoon", clock="17:03", badge="Cart 4", typed="x", focused=True)
    cached = await after("Tap the cart", first, ChosenAction(Action.TAP, find(first, "tab_cart")), then)
    assert cached == CacheLookup(HIT, ChosenAction(Action.TAP, find(then, "tab_cart")))


async def test_a_hit_is_for_its_own_sentence_app_platform_and_organisation() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), android_cart()
    await cache.store(key("Pay"), tree, ChosenAction(Action.TAP, find(tree, "checkout")))
    assert (await recalled(cache, "  Pay ", tree)).outcome is HIT
    assert (await recalled(cache, "Pay now", tree)).outcome is MISS
    for other in ({"org_id": "x"}, {"app": "x"}, {"platform": "ios"}):
        assert (await recalled(cache, "Pay", tree, **other)).outcome is MISS


async def test_spaces_between_words_do_not_count_except_in_quotes() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), android_cart()
    for sentence in ("Go to the  checkout", 'Tap "Check  out"'):
        await cache.store(key(sentence), tree, ChosenAction(Action.TAP, find(tree, "checkout")))
    assert (await recalled(cache, "Go  to the checkout", tree)).outcome is HIT
    assert (await recalled(cache, 'Tap "Check out"', tree)).outcome is MISS


async def test_another_screen_is_a_miss_and_unknown_sentences_read_no_screen() -> None:
    cache, cart = StoredStepCache(FakeStepCacheStore()), android_cart()
    looks = 0

    async def look() -> Element:
        nonlocal looks
        looks += 1
        return ios_login()

    assert (await cache.lookup(key("Pay"), look)).outcome is MISS
    assert looks == 0
    await cache.store(key("Pay"), cart, ChosenAction(Action.TAP, find(cart, "checkout")))
    assert (await cache.lookup(key("Pay"), look)).outcome is MISS
    assert looks == 1


def go_on(name: str, tree: Element) -> ChosenAction:
    return ChosenAction(Action.TAP, find(tree, name, 1))


async def test_a_sentence_has_an_entry_for_each_of_several_screens() -> None:
    cache, one, other = StoredStepCache(FakeStepCacheStore()), ios_login(email="x"), ios_register()
    await cache.store(key("Go on"), one, go_on("Log in", one))
    await cache.store(key("Go on"), other, go_on("Register", other))
    assert (await recalled(cache, "Go on", one)).stored == go_on("Log in", one)
    assert (await recalled(cache, "Go on", other)).stored == go_on("Register", other)
    await cache.discard(key("Go on"), ios_login(error="Wrong"))
    assert (await recalled(cache, "Go on", one)).outcome is MISS
    assert (await recalled(cache, "Go on", other)).outcome is HIT
    await cache.discard(key("Never heard of"), one)


def many(number: int) -> Element:
    return screen(*(android(Role.BUTTON, "", f"Button {chr(97 + n)}") for n in range(number)))


async def test_the_entries_of_a_sentence_are_bounded() -> None:
    store = FakeStepCacheStore()
    cache = StoredStepCache(store)
    for number in range(1, SCREENS_LIMIT + 6):
        tree = many(number)
        await cache.store(key("Go on"), tree, ChosenAction(Action.TAP, tree.children[0]))
    (page,) = store.cached.values()
    assert len(page.entries) == SCREENS_LIMIT
    assert (await recalled(cache, "Go on", many(1))).outcome is MISS
    assert (await recalled(cache, "Go on", many(SCREENS_LIMIT + 5))).outcome is HIT


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("I do not see Pay", ChosenAction(Action.ASSERT_NOT_VISIBLE)),
        ("Do nothing", ChosenAction(Action.NONE)),
        ("Take a screenshot", ChosenAction(Action.SCREENSHOT)),
        ("Wait for the total", ChosenAction(Action.WAIT_FOR)),
        ("Tap something", ChosenAction(Action.TAP)),
        ("Hold for 3 seconds", ChosenAction(Action.LONG_PRESS, android(Role.BUTTON))),
        ("Log in", ChosenAction(Action.TYPE, android(Role.FIELD, "search"), "a secret of the prompt")),
    ],
)
async def test_uncertain_actions_and_foreign_texts_are_not_stored(sentence: str, answer: ChosenAction) -> None:
    store = FakeStepCacheStore()
    await StoredStepCache(store).store(key(sentence), android_products("Mug"), answer)
    assert store.cached == {}


async def test_typed_text_comes_from_the_sentence_and_is_not_stored() -> None:
    store, tree = FakeStepCacheStore(), android_products("Mug")
    cache, sentence = StoredStepCache(store), 'Type "s3cret!" into Search'
    answer = ChosenAction(Action.TYPE, find(tree, "search"), "s3cret!")
    await cache.store(key(sentence), tree, answer)
    assert (await recalled(cache, sentence, tree)).stored == answer
    assert "s3cret" not in repr(store.cached)


async def test_keywords_are_stored() -> None:
    for action, value in ((Action.PRESS_KEY, "enter"), (Action.SCROLL, "down")):
        tree = android_cart()
        assert (await after("Go on", tree, ChosenAction(action, None, value), tree)).stored == ChosenAction(
            action, None, value
        )


async def test_a_plan_is_found_on_every_screen_until_it_is_discarded() -> None:
    cache = StoredStepCache(FakeStepCacheStore())
    plan = StoredSteps(("Tap Cart", "Tap Checkout"))
    await cache.store(key("Buy a mug"), ios_login(), plan)
    assert await recalled(cache, "Buy a mug", android_cart()) == CacheLookup(HIT, plan)
    await cache.discard(key("Buy a mug"), android_cart())
    assert (await recalled(cache, "Buy a mug", android_cart())).outcome is MISS


async def test_a_recording_is_stored_only_if_complete() -> None:
    store, tree = FakeStepCacheStore(), android_products("Mug")
    cache, sentence = StoredStepCache(store), "Look for a mug"
    names = recording_names(sentence, 2)
    await cache.store(key(names[0]), tree, ChosenAction(Action.TAP, find(tree, "tab_cart")))
    await cache.store(key(names[1]), tree, ChosenAction(Action.TYPE, find(tree, "search"), "of the prompt"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).outcome is MISS
    await cache.store(key(names[1]), tree, ChosenAction(Action.TYPE, find(tree, "search"), "mug"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).stored == StoredSteps(names)


@pytest.mark.parametrize("slow", [False, True])
async def test_an_unavailable_store_costs_one_bounded_wait(slow: bool) -> None:
    store, tree = FakeStepCacheStore(), android_cart()
    store.down, store.slow = OSError("no route"), slow
    cache = StoredStepCache(store, timeout=0.01, pause=1000)
    answer = ChosenAction(Action.TAP, find(tree, "checkout"))
    for _ in range(5):
        assert (await recalled(cache, "Check out", tree)).outcome is MISS
        await cache.store(key("Check out"), tree, answer)
        await cache.discard(key("Check out"), tree)
    assert store.calls == 1


async def test_a_store_that_is_back_is_used_again() -> None:
    store, tree = FakeStepCacheStore(), android_cart()
    cache = StoredStepCache(store, pause=0)
    answer = ChosenAction(Action.TAP, find(tree, "checkout"))
    store.down = OSError("no route")
    await cache.store(key("Check out"), tree, answer)
    store.down = None
    await cache.store(key("Check out"), tree, answer)
    assert (await recalled(cache, "Check out", tree)).outcome is HIT


async def test_a_recording_contains_nothing_of_an_older_one() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), android_cart()
    sentence, names = "Go on", recording_names("Go on", 2)
    tap = ChosenAction(Action.TAP, find(tree, "checkout"))
    for name in names:
        await cache.store(key(name), tree, tap)
    await cache.store(key(names[1]), tree, ChosenAction(Action.ASSERT_NOT_VISIBLE, None, "Error"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).outcome is MISS
