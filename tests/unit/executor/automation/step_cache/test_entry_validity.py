"""A cached element is found again on another screen, or stale where that is not certain."""

from dataclasses import replace

from services.executor.automation.ports import CacheLookup, ChosenAction
from services.executor.automation.screen.elements import Bounds, Element, Point, Role
from services.executor.automation.sentences.intents import Action
from tests.unit.executor.automation import sample_screens
from tests.unit.executor.automation.step_cache.lookups import HIT, MISS, STALE, after, find

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


async def test_a_point_scales_with_the_screen_but_not_to_another_shape() -> None:
    first = sample_screens.android_cart()
    answer = ChosenAction(Action.TAP, point=Point(180, 320))
    larger = replace(first, bounds=Bounds(0, 0, 720, 1280))
    found = (await after("Tap the map", first, answer, larger)).stored
    assert isinstance(found, ChosenAction)
    assert found.point == Point(360, 640)
    wide = replace(first, bounds=Bounds(0, 0, 640, 360))
    assert (await after("Tap the map", first, answer, wide)).outcome is STALE


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
