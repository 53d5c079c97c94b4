"""Fingerprints are equal for the same screen with other data, and different for other screens."""

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from mobiletest_automation.screen.elements import Element, Point, Role, walk
from mobiletest_automation.screen.fingerprint import fingerprint_of, id_shape, normalized_words, same_screen
from tests.unit.automation.devices.simulated.models import started
from tests.unit.automation.sample_screens import (
    android_cart,
    android_products,
    ios_login,
    ios_permission,
    ios_register,
    ios_tabs,
    listing,
    row,
    screen,
    settings,
    web_shop,
)

EXAMPLES = Path(__file__).parents[4] / "examples"


def barred(kind: str, *children: Element) -> Element:
    """A screen with a bar of the driver's class or type."""
    return screen(Element(attributes={"type": kind}, children=children))


def titled(kind: str, title: str) -> Element:
    return barred(kind, Element(role=Role.BUTTON, label="Navigate up"), Element(role=Role.TEXT, text=title))


def navigated(opened: str) -> Element:
    pages = (Element(label=name, clickable=True, selected=name == opened) for name in ("Home", "Offers"))
    return barred("com.google.android.material.bottomnavigation.BottomNavigationView", *pages)


EQUAL = {
    "another clock": (android_products("Mug", clock="9:41"), android_products("Mug", clock="12:03 PM")),
    "a badge that counts": (android_products("Mug"), android_products("Mug", badge="Cart 3")),
    "other rows": (android_products("Mug", "Plate", "Cup"), android_products("Fork", "Spoon")),
    "an empty list": (android_products("Mug", "Plate", "Cup"), android_products()),
    "typed text and focus": (android_products("Mug"), android_products("Mug", typed="mu", focused=True)),
    "another price": (android_cart("$12"), android_cart("$1,240.50")),
    "a button that is disabled": (android_cart(), android_cart(empty=True)),
    "the keyboard": (ios_login(), ios_login(email="ada@example.com", keyboard=True)),
    "an error message": (ios_login(), ios_login(error="Wrong password")),
    "other cards, a counter and made-up ids": (
        web_shop("Blue mug", "Red mug", "Plate"),
        web_shop("Fork", "Spoon", "Knife", "Bowl", count=12, react=":r27:"),
    ),
    "a form scrolled by a few rows": (settings(0), settings(3)),
}

DIFFERENT = {
    "list and cart": (android_products("Mug"), android_cart()),
    "log in and register": (ios_login(), ios_register()),
    "dialogs with the same buttons": (ios_permission("the Camera"), ios_permission("Your Location")),
    "the title in a toolbar": (titled("a.Toolbar", "Products"), titled("a.Toolbar", "Orders")),
    "the title in a navigation bar": (titled("xNavigationBar", "Products"), titled("xNavigationBar", "Orders")),
    "the page of a bottom navigation": (navigated("Home"), navigated("Offers")),
    "the selected tab": (ios_tabs("Home"), ios_tabs("Offers")),
    "a page under a dialog": (ios_login(), ios_permission("the Camera")),
    "pages of one site": (web_shop("A", "B", "C"), web_shop("A", "B", "C", page="Offers")),
    "nothing and something": (screen(), ios_login()),
    "nothing and a list": (screen(), screen(listing(row("Mug", identifier="product")))),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL.keys())
def test_changed_data_do_not_change_the_fingerprint(pair: tuple[Element, Element]) -> None:
    one, other = map(fingerprint_of, pair)
    assert same_screen(one, other)
    assert same_screen(other, one)


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_screens_have_different_fingerprints(pair: tuple[Element, Element]) -> None:
    one, other = map(fingerprint_of, pair)
    assert not same_screen(one, other)
    assert not same_screen(other, one)


FAILED_LOG_IN = (
    *("see log in", "type email ada@example.com", "see log in", "type password wrong", "tap log_in", "see log in"),
)
PURCHASE = (
    *("see log in", "type email ada@example.com", "type password lovelace", "tap log_in", "see products"),
    *("type search mug", "see products", "tap Blue mug", "see product", "tap add_to_cart", "see product"),
    *("tap to_cart", "see cart", "tap Remove", "see cart", "tap keep_shopping", "see products", "tap tab_profile"),
    *("see profile", "scroll", "see profile"),
)


async def visited(platform: str) -> dict[str, list[Element]]:
    """The screens of the example shop, each in several states."""
    model, seen = (EXAMPLES / f"shop-{platform}" / "1.0.0.yaml").read_text(), defaultdict[str, list[Element]](list)
    for story in (FAILED_LOG_IN, PURCHASE):
        device = await started(model, platform=platform)
        for act, _, what in (step.partition(" ") for step in story):
            await device.timer.sleep(5)
            name, _, text = what.partition(" ") if act == "type" else (what, "", "")
            tree = await device.view.tree()
            element = next((each for each in walk(tree) if name in (each.id, each.text) and each is not tree), tree)
            match act:
                case "see":
                    seen[what].append(tree)
                case "type":
                    await device.view.type(text, element)
                case "tap":
                    await device.view.tap(element)
                case "scroll":
                    await device.view.swipe(Point(180, 500), Point(180, 150))
    return seen


@pytest.mark.parametrize("platform", ["android", "ios"])
async def test_fingerprints_of_the_example_shop(platform: str) -> None:
    seen = await visited(platform)
    assert set(seen) == {"log in", "products", "product", "cart", "profile"}
    for name, states in seen.items():
        assert len(states) > 1
        for one, other in combinations(states, 2):
            assert same_screen(fingerprint_of(one), fingerprint_of(other)), name
    for here, there in combinations(seen, 2):
        for one in seen[here]:
            for other in seen[there]:
                assert not same_screen(fingerprint_of(one), fingerprint_of(other)), (here, there)


@pytest.mark.parametrize(
    ("identifier", "shape"),
    [
        ("com.example:id/row_12", "row_"),
        ("row_7", "row_"),
        ("log_in", "log_in"),
        (":r1:", ""),
        ("3f2b8c1e-9a77-4c1d-8e0f-1a2b3c4d5e6f", ""),
        ("9f86d081884c7d659a2f", ""),
        ("accessibility", "accessibility"),
        ("", ""),
    ],
)
def test_id_shapes_leave_out_variable_parts(identifier: str, shape: str) -> None:
    assert id_shape(identifier) == shape


def test_normalized_words_leave_out_numbers_signs_and_case() -> None:
    assert normalized_words("Cart, 3 items ($12.50)") == "cart items"


def test_an_id_of_a_million_letters_is_read_once() -> None:
    """A search that started again at every letter would take hours."""
    assert id_shape("abcdef" * 200_000) == "abcdef" * 200_000
