"""The step cache: finds the element again, is stale where that is not certain, and never delays a step."""

from dataclasses import replace

import pytest

from services.executor.automation.ports import CacheLookup, ChosenAction, StepCacheKey, StoredSteps
from services.executor.automation.screen.elements import Bounds, Element, Point, Role, walk
from services.executor.automation.sentences.intents import Action
from services.executor.automation.step_cache.cache import StoredStepCache
from services.executor.automation.step_cache.entries import SCREENS_LIMIT, recording_names
from services.executor.model.attempts import CacheOutcome
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.executor.automation import sample_screens

HIT, MISS, STALE = CacheOutcome.HIT, CacheOutcome.MISS, CacheOutcome.STALE


def key(sentence: str, **fields: str) -> StepCacheKey:
    return StepCacheKey(**{"org_id": "org", "app": "app", "platform": "android", "sentence": sentence, **fields})


def find(tree: Element, name: str, nth: int = 0) -> Element:
    return [each for each in walk(tree) if name in (each.text, each.label, each.id.rsplit("/", 1)[-1])][nth]


async def recalled(cache: StoredStepCache, sentence: str, tree: Element, **fields: str) -> CacheLookup:
    async def look() -> Element:
        return tree

    return await cache.lookup(key(sentence, **fields), look)


async def after(sentence: str, first: Element, answer: ChosenAction, then: Element) -> CacheLookup:
    """What a lookup on `then` finds after the action was stored on `first`."""
    cache = StoredStepCache(FakeStepCacheStore())
    await cache.store(key(sentence), first, answer)
    return await recalled(cache, sentence, then)


async def test_an_entry_is_found_again_among_other_data() -> None:
    first = sample_screens.android_products("Blue mug", clock="9:41")
    then = sample_screens.android_products("Fork", "Spoon", clock="17:03", badge="Cart 4", typed="x", focused=True)
    found = await after("Tap the cart", first, ChosenAction(Action.TAP, find(first, "tab_cart")), then)
    assert found == CacheLookup(HIT, ChosenAction(Action.TAP, find(then, "tab_cart")))


async def test_a_hit_is_for_its_own_sentence_app_platform_and_organisation() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), sample_screens.android_cart()
    await cache.store(key("Pay"), tree, ChosenAction(Action.TAP, find(tree, "checkout")))
    assert (await recalled(cache, "  Pay ", tree)).outcome is HIT
    assert (await recalled(cache, "Pay now", tree)).outcome is MISS
    for other in ({"org_id": "x"}, {"app": "x"}, {"platform": "ios"}):
        assert (await recalled(cache, "Pay", tree, **other)).outcome is MISS


async def test_spaces_between_words_do_not_count_except_in_quotes() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), sample_screens.android_cart()
    for sentence in ("Go to the  checkout", 'Tap "Check  out"'):
        await cache.store(key(sentence), tree, ChosenAction(Action.TAP, find(tree, "checkout")))
    assert (await recalled(cache, "Go  to the checkout", tree)).outcome is HIT
    assert (await recalled(cache, 'Tap "Check out"', tree)).outcome is MISS


async def test_another_screen_is_a_miss_and_unknown_sentences_read_no_screen() -> None:
    cache, cart = StoredStepCache(FakeStepCacheStore()), sample_screens.android_cart()
    looks = 0

    async def look() -> Element:
        nonlocal looks
        looks += 1
        return sample_screens.ios_login()

    assert (await cache.lookup(key("Pay"), look)).outcome is MISS
    assert looks == 0
    await cache.store(key("Pay"), cart, ChosenAction(Action.TAP, find(cart, "checkout")))
    assert (await cache.lookup(key("Pay"), look)).outcome is MISS
    assert looks == 1


async def test_a_sentence_has_entries_for_several_screens() -> None:
    cache, one, other = (
        StoredStepCache(FakeStepCacheStore()),
        sample_screens.ios_login(email="x"),
        sample_screens.ios_register(),
    )
    await cache.store(key("Go on"), one, ChosenAction(Action.TAP, find(one, "Log in", 1)))
    await cache.store(key("Go on"), other, ChosenAction(Action.TAP, find(other, "Register", 1)))
    assert (await recalled(cache, "Go on", one)).stored == ChosenAction(Action.TAP, find(one, "Log in", 1))
    assert (await recalled(cache, "Go on", other)).stored == ChosenAction(Action.TAP, find(other, "Register", 1))


def many(number: int) -> Element:
    return sample_screens.screen(
        *(sample_screens.android(Role.BUTTON, "", f"Button {chr(97 + n)}") for n in range(number))
    )


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


CART = (sample_screens.row("Blue mug", "$12", button="Remove"), sample_screens.row("Red mug", "$14", button="Remove"))


async def test_a_row_is_found_by_its_name_at_any_position() -> None:
    first = sample_screens.screen(sample_screens.listing(*CART))
    then = sample_screens.screen(
        sample_screens.listing(sample_screens.row("Plate", "$9", button="Remove"), CART[1], CART[0])
    )
    answer = ChosenAction(Action.TAP, find(first, "Remove", 1))
    found = await after("Remove the red mug", first, answer, then)
    assert found == CacheLookup(HIT, ChosenAction(Action.TAP, find(then, "Remove", 1)))
    gone = sample_screens.screen(sample_screens.listing(CART[0]))
    assert (await after("Remove the red mug", first, answer, gone)).outcome is STALE


async def test_a_row_chosen_otherwise_than_by_name_is_valid_for_equal_rows_only() -> None:
    first = sample_screens.screen(sample_screens.listing(*CART))
    answer = ChosenAction(Action.TAP, find(first, "Remove", 0))
    assert (await after("Remove the cheapest item", first, answer, first)).outcome is HIT
    dearer = sample_screens.screen(
        sample_screens.listing(sample_screens.row("Blue mug", "$19", button="Remove"), CART[1])
    )
    assert (await after("Remove the cheapest item", first, answer, dearer)).outcome is STALE
    turned = sample_screens.screen(sample_screens.listing(*reversed(CART)))
    assert (await after("Remove the first item", first, answer, turned)).outcome is STALE


async def test_a_conditional_sentence_is_valid_for_equal_screens_only() -> None:
    first, dearer = sample_screens.android_cart("$12"), sample_screens.android_cart("$99")
    answer = ChosenAction(Action.TAP, find(first, "checkout"))
    assert (await after("Check out if the total is $12", first, answer, first)).outcome is HIT
    assert (await after("Check out if the total is $12", first, answer, dearer)).outcome is STALE
    assert (await after("Check out", first, answer, dearer)).outcome is HIT


def pair(y: float = 100, *, count: int = 2) -> Element:
    return sample_screens.screen(
        *(sample_screens.at(y, sample_screens.android(Role.BUTTON, "", "Add"), x=120 * n) for n in range(count))
    )


async def test_of_equal_elements_the_one_in_the_same_place_is_found() -> None:
    first = pair()
    answer = ChosenAction(Action.TAP, first.children[1])
    then = pair(104)
    assert (await after("Tap the second Add", first, answer, then)).stored == ChosenAction(Action.TAP, then.children[1])
    assert (await after("Tap the second Add", first, answer, pair(400))).outcome is STALE
    assert (await after("Tap the second Add", first, answer, pair(count=3))).outcome is STALE
    assert (
        await after("Tap Add", pair(count=1), ChosenAction(Action.TAP, pair(count=1).children[0]), first)
    ).outcome is MISS


async def test_a_choice_by_position_is_valid_while_the_surroundings_are_equal() -> None:
    def sections(*names: str, price: str = "$1") -> Element:
        parts = [
            (sample_screens.at(100 * n, sample_screens.android(Role.TEXT, "", f"{name} {price}")),)
            for n, name in enumerate(names, 1)
        ]
        buttons = [
            sample_screens.at(100 * n + 50, sample_screens.android(Role.BUTTON, f"b_{n}", "Delete"))
            for n in range(1, 3)
        ]
        return sample_screens.screen(
            *(each for part, button in zip(parts, buttons, strict=True) for each in (*part, button))
        )

    first = sections("Name", "Address")
    answer = ChosenAction(Action.TAP, first.children[3])
    sentence = 'Tap "Delete" below "Address"'
    assert (await after(sentence, first, answer, sections("Name", "Address", price="$2"))).outcome is HIT
    assert (await after(sentence, first, answer, sections("Address", "Name"))).outcome is STALE


async def test_two_matches_where_there_was_one_are_stale() -> None:
    def screen(*ids: str) -> Element:
        buttons = (sample_screens.android(Role.BUTTON, identifier, "Add") for identifier in ids)
        return sample_screens.screen(sample_screens.android(Role.HEADING, "", "Shop"), *buttons)

    first = screen("add_1")
    answer = ChosenAction(Action.TAP, first.children[1])
    assert (await after("Tap Add", first, answer, screen("add_1", "add_1"))).outcome is STALE
    assert (await after("Tap Add", first, answer, screen("add_2"))).outcome is STALE


async def test_a_switch_is_only_turned_in_its_recorded_state() -> None:
    def screen(*, on: bool) -> Element:
        return sample_screens.screen(sample_screens.android(Role.SWITCH, "wifi", "Wifi", checked=on))

    first = screen(on=False)
    answer = ChosenAction(Action.TAP, first.children[0])
    assert (await after("Turn on Wifi", first, answer, screen(on=False))).outcome is HIT
    assert (await after("Turn on Wifi", first, answer, screen(on=True))).outcome is STALE


async def test_a_disabled_element_is_stale() -> None:
    first = sample_screens.android_cart()
    answer = ChosenAction(Action.TAP, find(first, "checkout"))
    assert (await after("Check out", first, answer, sample_screens.android_cart(empty=True))).outcome is STALE


async def test_texts_like_data_do_not_count_for_elements_with_an_id() -> None:
    def screen(count: int, identifier: str) -> Element:
        return sample_screens.screen(sample_screens.android(Role.BUTTON, identifier, f"Pay ${count}"))

    answer = ChosenAction(Action.TAP, screen(1, "pay").children[0])
    first = screen(12, "pay")
    assert (await after("Pay", first, replace(answer, element=first.children[0]), screen(99, "pay"))).outcome is HIT
    nameless = screen(12, "")
    assert (
        await after("Pay", nameless, replace(answer, element=nameless.children[0]), screen(99, ""))
    ).outcome is STALE


async def test_a_check_is_valid_for_equal_texts_only() -> None:
    first, dearer = sample_screens.android_cart("$12"), sample_screens.android_cart("$99")
    answer = ChosenAction(Action.ASSERT_VISIBLE, find(first, "total"))
    assert (await after("The total is right", first, answer, first)).outcome is HIT
    assert (await after("The total is right", first, answer, dearer)).outcome is STALE


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("I do not see Pay", ChosenAction(Action.ASSERT_NOT_VISIBLE)),
        ("Do nothing", ChosenAction(Action.NONE)),
        ("Take a screenshot", ChosenAction(Action.SCREENSHOT)),
        ("Wait for the total", ChosenAction(Action.WAIT_FOR)),
        ("Tap something", ChosenAction(Action.TAP)),
        ("Hold for 3 seconds", ChosenAction(Action.LONG_PRESS, sample_screens.android(Role.BUTTON))),
        ("Log in", ChosenAction(Action.TYPE, sample_screens.android(Role.FIELD, "search"), "a secret of the prompt")),
    ],
)
async def test_uncertain_actions_and_foreign_texts_are_not_stored(sentence: str, answer: ChosenAction) -> None:
    store = FakeStepCacheStore()
    await StoredStepCache(store).store(key(sentence), sample_screens.android_products("Mug"), answer)
    assert store.cached == {}


async def test_typed_text_comes_from_the_sentence_and_is_not_stored() -> None:
    store, tree = FakeStepCacheStore(), sample_screens.android_products("Mug")
    cache, sentence = StoredStepCache(store), 'Type "s3cret!" into Search'
    answer = ChosenAction(Action.TYPE, find(tree, "search"), "s3cret!")
    await cache.store(key(sentence), tree, answer)
    assert (await recalled(cache, sentence, tree)).stored == answer
    assert "s3cret" not in repr(store.cached)


async def test_keywords_are_stored() -> None:
    for action, value in ((Action.PRESS_KEY, "enter"), (Action.SCROLL, "down")):
        tree = sample_screens.android_cart()
        assert (await after("Go on", tree, ChosenAction(action, None, value), tree)).stored == ChosenAction(
            action, None, value
        )


async def test_a_point_scales_with_the_screen_but_not_to_another_shape() -> None:
    first = sample_screens.android_cart()
    answer = ChosenAction(Action.TAP, point=Point(180, 320))
    larger = replace(first, bounds=Bounds(0, 0, 720, 1280))
    found = (await after("Tap the map", first, answer, larger)).stored
    assert isinstance(found, ChosenAction)
    assert found.point == Point(360, 640)
    wide = replace(first, bounds=Bounds(0, 0, 640, 360))
    assert (await after("Tap the map", first, answer, wide)).outcome is STALE


async def test_a_plan_is_found_on_every_screen_until_it_is_discarded() -> None:
    cache = StoredStepCache(FakeStepCacheStore())
    plan = StoredSteps(("Tap Cart", "Tap Checkout"))
    await cache.store(key("Buy a mug"), sample_screens.ios_login(), plan)
    assert await recalled(cache, "Buy a mug", sample_screens.android_cart()) == CacheLookup(HIT, plan)
    await cache.discard(key("Buy a mug"), sample_screens.android_cart())
    assert (await recalled(cache, "Buy a mug", sample_screens.android_cart())).outcome is MISS


async def test_a_recording_is_stored_only_if_complete() -> None:
    store, tree = FakeStepCacheStore(), sample_screens.android_products("Mug")
    cache, sentence = StoredStepCache(store), "Look for a mug"
    names = recording_names(sentence, 2)
    await cache.store(key(names[0]), tree, ChosenAction(Action.TAP, find(tree, "tab_cart")))
    await cache.store(key(names[1]), tree, ChosenAction(Action.TYPE, find(tree, "search"), "of the prompt"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).outcome is MISS
    await cache.store(key(names[1]), tree, ChosenAction(Action.TYPE, find(tree, "search"), "mug"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).stored == StoredSteps(names)


async def test_discarding_removes_the_entry_of_the_screen() -> None:
    cache, one, other = (
        StoredStepCache(FakeStepCacheStore()),
        sample_screens.ios_login(email="x"),
        sample_screens.ios_register(),
    )
    await cache.store(key("Go on"), one, ChosenAction(Action.TAP, find(one, "Log in", 1)))
    await cache.store(key("Go on"), other, ChosenAction(Action.TAP, find(other, "Register", 1)))
    await cache.discard(key("Go on"), sample_screens.ios_login(error="Wrong"))
    assert (await recalled(cache, "Go on", one)).outcome is MISS
    assert (await recalled(cache, "Go on", other)).outcome is HIT
    await cache.discard(key("Never heard of"), one)


@pytest.mark.parametrize("slow", [False, True])
async def test_an_unavailable_store_costs_one_bounded_wait(slow: bool) -> None:
    store, tree = FakeStepCacheStore(), sample_screens.android_cart()
    store.down, store.slow = OSError("no route"), slow
    cache = StoredStepCache(store, timeout=0.01, pause=1000)
    answer = ChosenAction(Action.TAP, find(tree, "checkout"))
    for _ in range(5):
        assert (await recalled(cache, "Check out", tree)).outcome is MISS
        await cache.store(key("Check out"), tree, answer)
        await cache.discard(key("Check out"), tree)
    assert store.calls == 1


async def test_a_store_that_is_back_is_used_again() -> None:
    store, tree = FakeStepCacheStore(), sample_screens.android_cart()
    cache = StoredStepCache(store, pause=0)
    answer = ChosenAction(Action.TAP, find(tree, "checkout"))
    store.down = OSError("no route")
    await cache.store(key("Check out"), tree, answer)
    store.down = None
    await cache.store(key("Check out"), tree, answer)
    assert (await recalled(cache, "Check out", tree)).outcome is HIT


def pager(*pages: str) -> Element:
    made = (sample_screens.android(Role.BUTTON, f"page_{n}", text) for n, text in enumerate(pages, 1))
    return sample_screens.screen(
        sample_screens.android(Role.HEADING, "", "Results"),
        *(sample_screens.at(300, each, 99 * n) for n, each in enumerate(made)),
    )


def seat(number: int) -> Element:
    return sample_screens.screen(
        sample_screens.android(Role.HEADING, "", "Seats"), sample_screens.android(Role.BUTTON, "seat", f"Seat {number}")
    )


async def test_an_element_named_by_a_number_needs_that_number_again() -> None:
    first, then = pager("1", "2", "3"), pager("2", "3", "4")
    found = await after('Tap "3"', first, ChosenAction(Action.TAP, find(first, "3")), then)
    assert found.stored in (None, ChosenAction(Action.TAP, find(then, "3")))
    answer = ChosenAction(Action.TAP, find(seat(12), "seat"))
    first = seat(12)
    answer = ChosenAction(Action.TAP, find(first, "seat"))
    assert (await after('Tap "Seat 12"', first, answer, seat(13))).outcome is STALE
    assert (await after('Tap "Seat 12"', first, answer, seat(12))).outcome is HIT
    assert (await after("Take the seat", first, answer, seat(13))).outcome is HIT


async def test_an_id_with_the_number_of_the_sentence_is_not_stored() -> None:
    first = sample_screens.screen(
        sample_screens.android(Role.BUTTON, "seat_12"), sample_screens.android(Role.BUTTON, "close", "Close")
    )
    then = sample_screens.screen(
        sample_screens.android(Role.BUTTON, "seat_13"), sample_screens.android(Role.BUTTON, "close", "Close")
    )
    assert (await after("Tap seat_12", first, ChosenAction(Action.TAP, find(first, "seat_12")), then)).outcome is MISS


async def test_a_row_with_another_number_is_stale() -> None:
    def orders(number: int) -> Element:
        return sample_screens.screen(sample_screens.listing(sample_screens.row(f"Order {number}", button="Open")))

    first = orders(1042)
    answer = ChosenAction(Action.TAP, find(first, "Open"))
    assert (await after("Open order 1042", first, answer, orders(1043))).outcome is STALE
    assert (await after("Open order 1042", first, answer, orders(1042))).outcome is HIT
    assert (await after("Open the order", first, answer, orders(1043))).outcome is HIT


async def test_a_choice_beside_a_number_is_valid_while_the_numbers_are_equal() -> None:
    def items(*numbers: int) -> Element:
        texts = [
            sample_screens.at(100 * n, sample_screens.android(Role.TEXT, "", f"Item {each}"))
            for n, each in enumerate(numbers)
        ]
        adds = [
            sample_screens.at(100 * n + 50, sample_screens.android(Role.BUTTON, "", "Add")) for n in range(len(numbers))
        ]
        return sample_screens.screen(sample_screens.android(Role.HEADING, "", "Items"), *texts, *adds)

    first = items(1, 2, 3)
    answer = ChosenAction(Action.TAP, find(first, "Add", 2))
    assert (await after('Tap "Add" below "Item 3"', first, answer, items(2, 3, 4))).outcome is STALE
    assert (await after('Tap "Add" below "Item 3"', first, answer, items(1, 2, 3))).outcome is HIT


async def test_signs_count_in_names() -> None:
    def player(sign: str) -> Element:
        return sample_screens.screen(
            sample_screens.android(Role.HEADING, "", "Song"), sample_screens.android(Role.BUTTON, "toggle", sign)
        )

    first = player("▶")
    assert (await after("Tap ▶", first, ChosenAction(Action.TAP, find(first, "▶")), player("⏸"))).outcome is STALE


async def test_a_text_is_typed_again_only_into_an_empty_field() -> None:
    def form(typed: str) -> Element:
        field = sample_screens.android(Role.FIELD, "name", typed, label="Name", hint="Your name")
        return sample_screens.screen(sample_screens.android(Role.HEADING, "", "Profile"), field)

    sentence, empty, filled = "Enter Ada as the name", form(""), form("Grace")
    answer = ChosenAction(Action.TYPE, find(empty, "Name"), "Ada")
    assert (await after(sentence, empty, answer, filled)).outcome is STALE
    assert (await after(sentence, empty, answer, form("Your name"))).outcome is HIT
    behind = ChosenAction(Action.TYPE, find(filled, "Name"), "Ada")
    assert (await after(sentence, filled, behind, filled)).outcome is MISS


async def test_a_point_is_tapped_again_only_on_an_equal_screen() -> None:
    def shelf(*names: str) -> Element:
        rows = [
            sample_screens.at(100 * n, sample_screens.row(name, "$12", button="Add")) for n, name in enumerate(names, 1)
        ]
        return sample_screens.screen(
            sample_screens.android(Role.HEADING, "", "Products"), sample_screens.listing(*rows)
        )

    first = shelf("Blue mug", "Red mug")
    answer = ChosenAction(Action.TAP, point=Point(20, 120))
    assert (await after("Tap the blue mug", first, answer, shelf("Red mug", "Blue mug"))).outcome is STALE
    assert (await after("Tap the blue mug", first, answer, shelf("Blue mug", "Red mug"))).outcome is HIT


async def test_a_check_that_does_not_pass_yet_is_stale() -> None:
    def form(**fields: object) -> Element:
        return sample_screens.screen(
            sample_screens.android(Role.HEADING, "", "Cart"),
            sample_screens.android(Role.BUTTON, "pay", "Pay", **fields),
        )

    ready, loading = form(), form(enabled=False)
    answer = ChosenAction(Action.ASSERT_ENABLED, find(ready, "Pay"))
    assert (await after("Pay is enabled", ready, answer, loading)).outcome is STALE
    assert (await after("Pay is enabled", ready, answer, form())).outcome is HIT


async def test_a_recording_contains_nothing_of_an_older_one() -> None:
    cache, tree = StoredStepCache(FakeStepCacheStore()), sample_screens.android_cart()
    sentence, names = "Go on", recording_names("Go on", 2)
    tap = ChosenAction(Action.TAP, find(tree, "checkout"))
    for name in names:
        await cache.store(key(name), tree, tap)
    await cache.store(key(names[1]), tree, ChosenAction(Action.ASSERT_NOT_VISIBLE, None, "Error"))
    await cache.store(key(sentence), tree, StoredSteps(names))
    assert (await recalled(cache, sentence, tree)).outcome is MISS
