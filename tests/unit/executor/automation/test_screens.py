"""Which screens are one and the same: whatever their data are, and no more than that."""

from itertools import combinations
from pathlib import Path

import pytest

from services.executor.automation.elements import Element, Point, walk
from services.executor.automation.screens import id_shape, same, screen_of, words
from services.executor.automation.simulated.device import SimulatedDevice
from tests.unit.executor.automation import trees
from tests.unit.executor.automation.simulated.models import started

EXAMPLES = Path(__file__).parents[4] / "examples"

EQUAL = {
    "another clock": (trees.android_products("Mug", clock="9:41"), trees.android_products("Mug", clock="12:03")),
    "a badge that counts": (trees.android_products("Mug"), trees.android_products("Mug", badge="Cart 3")),
    "other rows": (trees.android_products("Mug", "Plate", "Cup"), trees.android_products("Fork", "Spoon")),
    "an empty list": (trees.android_products("Mug", "Plate", "Cup"), trees.android_products()),
    "typed text and focus": (trees.android_products("Mug"), trees.android_products("Mug", typed="mu", focused=True)),
    "another price": (trees.android_cart("$12"), trees.android_cart("$1,240.50")),
    "a button that is disabled": (trees.android_cart(), trees.android_cart(empty=True)),
    "the keyboard": (trees.ios_login(), trees.ios_login(email="ada@example.com", keyboard=True)),
    "an error message": (trees.ios_login(), trees.ios_login(error="Wrong password")),
    "other cards, a counter and made-up ids": (
        trees.web_shop("Blue mug", "Red mug", "Plate"),
        trees.web_shop("Fork", "Spoon", "Knife", "Bowl", count=12, react=":r27:"),
    ),
    "a form scrolled by a few rows": (trees.settings(0), trees.settings(3)),
}

DIFFERENT = {
    "list and cart": (trees.android_products("Mug"), trees.android_cart()),
    "log in and register": (trees.ios_login(), trees.ios_register()),
    "dialogs with the same buttons": (trees.ios_permission("the Camera"), trees.ios_permission("Your Location")),
    "the selected tab": (trees.ios_tabs("Home"), trees.ios_tabs("Offers")),
    "a page under a dialog": (trees.ios_login(), trees.ios_permission("the Camera")),
    "pages of one site": (trees.web_shop("A", "B", "C"), trees.web_shop("A", "B", "C", page="Offers")),
    "nothing and something": (trees.screen(), trees.ios_login()),
    "nothing and a list": (trees.screen(), trees.screen(trees.listing(trees.row("Mug", identifier="product")))),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL.keys())
def test_data_do_not_make_another_screen(pair: tuple[Element, Element]) -> None:
    one, other = map(screen_of, pair)
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_screens_are_told_apart(pair: tuple[Element, Element]) -> None:
    one, other = map(screen_of, pair)
    assert not same(one, other)
    assert not same(other, one)


class Shopper:
    """Walks through the example shop."""

    def __init__(self, device: SimulatedDevice, seen: dict[str, list[Element]]) -> None:
        self._device = device
        self.seen = seen

    async def see(self, name: str) -> None:
        await self._device.timer.sleep(5)
        self.seen.setdefault(name, []).append(await self._device.tree())

    async def tap(self, name: str) -> None:
        await self._device.tap(await self._find(name))
        await self._device.timer.sleep(5)

    async def type(self, text: str, name: str) -> None:
        await self._device.type(text, await self._find(name))

    async def _find(self, name: str) -> Element:
        tree = await self._device.tree()
        return next(each for each in walk(tree) if name in (each.id, each.text) and each is not tree)

    async def scroll(self) -> None:
        await self._device.swipe(Point(180, 500), Point(180, 150))


async def visited(platform: str) -> dict[str, list[Element]]:
    """The screens of the shop, each in several states."""
    model = (EXAMPLES / f"shop-{platform}" / "1.0.0.yaml").read_text()
    shopper = Shopper(await started(model, platform=platform), {})
    await shopper.see("log in")
    await shopper.type("ada@example.com", "email")
    await shopper.see("log in")
    await shopper.type("wrong", "password")
    await shopper.tap("log_in")
    await shopper.see("log in")
    shopper = await _signed_in(model, platform, shopper.seen)
    await shopper.see("products")
    await shopper.type("mug", "search")
    await shopper.see("products")
    await shopper.tap("Blue mug")
    await shopper.see("product")
    await shopper.tap("add_to_cart")
    await shopper.see("product")
    await shopper.tap("to_cart")
    await shopper.see("cart")
    await shopper.tap("Remove")
    await shopper.see("cart")
    await shopper.tap("keep_shopping")
    await shopper.see("products")
    await shopper.tap("tab_profile")
    await shopper.see("profile")
    await shopper.scroll()
    await shopper.see("profile")
    return shopper.seen


async def _signed_in(model: str, platform: str, seen: dict[str, list[Element]]) -> Shopper:
    shopper = Shopper(await started(model, platform=platform), seen)
    await shopper.see("log in")
    await shopper.type("ada@example.com", "email")
    await shopper.type("lovelace", "password")
    await shopper.tap("log_in")
    return shopper


@pytest.mark.parametrize("platform", ["android", "ios"])
async def test_the_screens_of_the_example_shop(platform: str) -> None:
    seen = await visited(platform)
    assert set(seen) == {"log in", "products", "product", "cart", "profile"}
    for name, states in seen.items():
        assert len(states) > 1
        for one, other in combinations(states, 2):
            assert same(screen_of(one), screen_of(other)), name
    for here, there in combinations(seen, 2):
        for one in seen[here]:
            for other in seen[there]:
                assert not same(screen_of(one), screen_of(other)), (here, there)


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
def test_ids_without_what_changes(identifier: str, shape: str) -> None:
    assert id_shape(identifier) == shape


def test_words_are_without_numbers_signs_and_case() -> None:
    assert words("Cart, 3 items ($12.50)") == "cart items"
