"""A cached element is found again on another screen, or stale where that is not certain."""

from dataclasses import replace

import pytest

from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.ports import CacheLookup, ChosenAction
from mobiletest_automation.screen.elements import Bounds, Element, Point, Role
from mobiletest_automation.sentences.intents import Action
from tests.unit.automation.sample_screens import android, android_cart, at, listing, row, screen
from tests.unit.automation.step_cache.lookups import HIT, MISS, STALE, after, find

CART = (row("Blue mug", "$12", button="Remove"), row("Red mug", "$14", button="Remove"))


def headed(title: str, *children: Element) -> Element:
    return screen(android(Role.HEADING, "", title), *children)


def rows(*shown: Element) -> Element:
    return screen(listing(*shown))


def adds(y: float = 100, *, count: int = 2) -> Element:
    return screen(*(at(y, android(Role.BUTTON, "", "Add"), x=120 * n) for n in range(count)))


def deletes(*names: str, price: str = "$1") -> Element:
    """Names, each with a button below it."""
    texts = [at(100 * n, android(Role.TEXT, "", f"{name} {price}")) for n, name in enumerate(names, 1)]
    buttons = [at(100 * n + 50, android(Role.BUTTON, f"b_{n}", "Delete")) for n in range(1, len(names) + 1)]
    return screen(*(each for pair in zip(texts, buttons, strict=True) for each in pair))


def shop(*ids: str) -> Element:
    return headed("Shop", *(android(Role.BUTTON, identifier, "Add") for identifier in ids))


def wifi(*, on: bool) -> Element:
    return screen(android(Role.SWITCH, "wifi", "Wifi", checked=on))


def pay(price: int, identifier: str = "pay", **fields: object) -> Element:
    return screen(android(Role.BUTTON, identifier, f"Pay ${price}", **fields))


def seat(number: int) -> Element:
    return headed("Seats", android(Role.BUTTON, "seat", f"Seat {number}"))


def orders(number: int) -> Element:
    return rows(row(f"Order {number}", button="Open"))


def items(*numbers: int) -> Element:
    texts = [at(100 * n, android(Role.TEXT, "", f"Item {each}")) for n, each in enumerate(numbers)]
    buttons = [at(100 * n + 50, android(Role.BUTTON, "", "Add")) for n in range(len(numbers))]
    return headed("Items", *texts, *buttons)


def song(sign: str) -> Element:
    return headed("Song", android(Role.BUTTON, "toggle", sign))


def closing(identifier: str) -> Element:
    return screen(android(Role.BUTTON, identifier), android(Role.BUTTON, "close", "Close"))


DEARER = rows(row("Blue mug", "$19", button="Remove"), CART[1])
CONDITIONAL = "Check out if the total is $12"


@pytest.mark.parametrize(
    ("sentence", "first", "name", "nth", "then", "outcome"),
    [
        # A row that the sentence does not name is valid for equal rows only.
        ("Remove the red mug", rows(*CART), "Remove", 1, rows(CART[0]), STALE),
        ("Remove the cheapest item", rows(*CART), "Remove", 0, rows(*CART), HIT),
        ("Remove the cheapest item", rows(*CART), "Remove", 0, DEARER, STALE),
        ("Remove the first item", rows(*CART), "Remove", 0, rows(*reversed(CART)), STALE),
        # A conditional sentence is valid for equal screens only.
        (CONDITIONAL, android_cart("$12"), "checkout", 0, android_cart("$12"), HIT),
        (CONDITIONAL, android_cart("$12"), "checkout", 0, android_cart("$99"), STALE),
        ("Check out", android_cart("$12"), "checkout", 0, android_cart("$99"), HIT),
        # Of equal elements that in the same place is meant.
        ("Tap the second Add", adds(), "Add", 1, adds(400), STALE),
        ("Tap the second Add", adds(), "Add", 1, adds(count=3), STALE),
        ("Tap Add", adds(count=1), "Add", 0, adds(), STALE),
        ("Tap Add", shop("add_1"), "Add", 0, shop("add_1", "add_1"), STALE),
        ("Tap Add", shop("add_1"), "Add", 0, shop("add_2"), STALE),
        # A choice by position is valid while what is around is equal.
        ('Tap "Delete" below "B"', deletes("A", "B"), "Delete", 1, deletes("A", "B", price="$2"), HIT),
        ('Tap "Delete" below "B"', deletes("A", "B"), "Delete", 1, deletes("B", "A"), STALE),
        ('Tap "Add" below "Item 3"', items(1, 2, 3), "Add", 2, items(2, 3, 4), STALE),
        ('Tap "Add" below "Item 3"', items(1, 2, 3), "Add", 2, items(1, 2, 3), HIT),
        # The element must be in a state in which the action does what it did.
        ("Turn on Wifi", wifi(on=False), "wifi", 0, wifi(on=False), HIT),
        ("Turn on Wifi", wifi(on=False), "wifi", 0, wifi(on=True), STALE),
        ("Check out", android_cart(), "checkout", 0, android_cart(empty=True), STALE),
        # Texts like data do not count for elements with an id, unless the sentence has them.
        ("Pay", pay(12), "pay", 0, pay(99), HIT),
        ("Pay", pay(12, ""), "Pay $12", 0, pay(99, ""), STALE),
        ('Tap "Seat 12"', seat(12), "seat", 0, seat(13), STALE),
        ('Tap "Seat 12"', seat(12), "seat", 0, seat(12), HIT),
        ("Take the seat", seat(12), "seat", 0, seat(13), HIT),
        ("Tap seat_12", closing("seat_12"), "seat_12", 0, closing("seat_13"), MISS),
        ("Open order 1042", orders(1042), "Open", 0, orders(1043), STALE),
        ("Open order 1042", orders(1042), "Open", 0, orders(1042), HIT),
        ("Open the order", orders(1042), "Open", 0, orders(1043), HIT),
        ("Tap ▶", song("▶"), "▶", 0, song("⏸"), STALE),
    ],
)
async def test_an_element_that_was_tapped(
    sentence: str, first: Element, name: str, nth: int, then: Element, outcome: CacheOutcome
) -> None:
    assert (await after(sentence, first, ChosenAction(Action.TAP, find(first, name, nth)), then)).outcome is outcome


async def test_the_element_of_the_present_screen_is_used() -> None:
    first, then = rows(*CART), rows(row("Plate", "$9", button="Remove"), CART[1], CART[0])
    cached = await after("Remove the red mug", first, ChosenAction(Action.TAP, find(first, "Remove", 1)), then)
    assert cached == CacheLookup(HIT, ChosenAction(Action.TAP, find(then, "Remove", 1)))
    first, then = adds(), adds(104)
    cached = await after("Tap the second Add", first, ChosenAction(Action.TAP, first.children[1]), then)
    assert cached.stored == ChosenAction(Action.TAP, then.children[1])


async def test_an_element_named_by_a_number_is_never_taken_for_another() -> None:
    def pager(*pages: str) -> Element:
        made = (android(Role.BUTTON, f"page_{n}", text) for n, text in enumerate(pages, 1))
        return headed("Results", *(at(300, each, 99 * n) for n, each in enumerate(made)))

    first, then = pager("1", "2", "3"), pager("2", "3", "4")
    cached = await after('Tap "3"', first, ChosenAction(Action.TAP, find(first, "3")), then)
    assert cached.stored in (None, ChosenAction(Action.TAP, find(then, "3")))


@pytest.mark.parametrize(
    ("action", "name", "first", "then", "outcome"),
    [
        (Action.ASSERT_VISIBLE, "total", android_cart("$12"), android_cart("$12"), HIT),
        (Action.ASSERT_VISIBLE, "total", android_cart("$12"), android_cart("$99"), STALE),
        (Action.ASSERT_ENABLED, "pay", pay(1), pay(1, enabled=False), STALE),
        (Action.ASSERT_ENABLED, "pay", pay(1), pay(1), HIT),
    ],
)
async def test_a_check_is_valid_for_equal_texts_and_while_it_passes(
    action: Action, name: str, first: Element, then: Element, outcome: CacheOutcome
) -> None:
    assert (await after("It is right", first, ChosenAction(action, find(first, name)), then)).outcome is outcome


async def test_a_point_scales_with_the_screen_but_not_to_another_shape() -> None:
    first = android_cart()
    answer = ChosenAction(Action.TAP, point=Point(180, 320))
    stored = (await after("Tap the map", first, answer, replace(first, bounds=Bounds(0, 0, 720, 1280)))).stored
    assert isinstance(stored, ChosenAction)
    assert stored.point == Point(360, 640)
    wide = replace(first, bounds=Bounds(0, 0, 640, 360))
    assert (await after("Tap the map", first, answer, wide)).outcome is STALE


async def test_a_point_is_tapped_again_only_on_an_equal_screen() -> None:
    def shelf(*names: str) -> Element:
        shown = [at(100 * n, row(name, "$12", button="Add")) for n, name in enumerate(names, 1)]
        return headed("Products", listing(*shown))

    first, answer = shelf("Blue mug", "Red mug"), ChosenAction(Action.TAP, point=Point(20, 120))
    assert (await after("Tap the blue mug", first, answer, shelf("Red mug", "Blue mug"))).outcome is STALE
    assert (await after("Tap the blue mug", first, answer, shelf("Blue mug", "Red mug"))).outcome is HIT


async def test_a_text_is_typed_again_only_into_an_empty_field() -> None:
    def form(typed: str) -> Element:
        return headed("Profile", android(Role.FIELD, "name", typed, label="Name", hint="Your name"))

    for typed, then, outcome in (("", "Grace", STALE), ("", "Your name", HIT), ("Grace", "Grace", MISS)):
        first = form(typed)
        answer = ChosenAction(Action.TYPE, find(first, "Name"), "Ada")
        assert (await after("Enter Ada as the name", first, answer, form(then))).outcome is outcome
