"""Fingerprints are equal for the same screen with other data, and different for other screens."""

from itertools import combinations
from pathlib import Path

import pytest

from services.executor.automation.devices.simulated.device import SimulatedDevice
from services.executor.automation.screen.elements import Element, Point, walk
from services.executor.automation.screen.fingerprint import fingerprint_of, id_shape, normalized_words, same_screen
from tests.unit.executor.automation import sample_screens
from tests.unit.executor.automation.devices.simulated.models import started

EXAMPLES = Path(__file__).parents[5] / "examples"

EQUAL = {
    "another clock": (
        sample_screens.android_products("Mug", clock="9:41"),
        sample_screens.android_products("Mug", clock="12:03"),
    ),
    "a badge that counts": (
        sample_screens.android_products("Mug"),
        sample_screens.android_products("Mug", badge="Cart 3"),
    ),
    "other rows": (
        sample_screens.android_products("Mug", "Plate", "Cup"),
        sample_screens.android_products("Fork", "Spoon"),
    ),
    "an empty list": (sample_screens.android_products("Mug", "Plate", "Cup"), sample_screens.android_products()),
    "typed text and focus": (
        sample_screens.android_products("Mug"),
        sample_screens.android_products("Mug", typed="mu", focused=True),
    ),
    "another price": (sample_screens.android_cart("$12"), sample_screens.android_cart("$1,240.50")),
    "a button that is disabled": (sample_screens.android_cart(), sample_screens.android_cart(empty=True)),
    "the keyboard": (sample_screens.ios_login(), sample_screens.ios_login(email="ada@example.com", keyboard=True)),
    "an error message": (sample_screens.ios_login(), sample_screens.ios_login(error="Wrong password")),
    "other cards, a counter and made-up ids": (
        sample_screens.web_shop("Blue mug", "Red mug", "Plate"),
        sample_screens.web_shop("Fork", "Spoon", "Knife", "Bowl", count=12, react=":r27:"),
    ),
    "a form scrolled by a few rows": (sample_screens.settings(0), sample_screens.settings(3)),
}

DIFFERENT = {
    "list and cart": (sample_screens.android_products("Mug"), sample_screens.android_cart()),
    "log in and register": (sample_screens.ios_login(), sample_screens.ios_register()),
    "dialogs with the same buttons": (
        sample_screens.ios_permission("the Camera"),
        sample_screens.ios_permission("Your Location"),
    ),
    "the selected tab": (sample_screens.ios_tabs("Home"), sample_screens.ios_tabs("Offers")),
    "a page under a dialog": (sample_screens.ios_login(), sample_screens.ios_permission("the Camera")),
    "pages of one site": (
        sample_screens.web_shop("A", "B", "C"),
        sample_screens.web_shop("A", "B", "C", page="Offers"),
    ),
    "nothing and something": (sample_screens.screen(), sample_screens.ios_login()),
    "nothing and a list": (
        sample_screens.screen(),
        sample_screens.screen(sample_screens.listing(sample_screens.row("Mug", identifier="product"))),
    ),
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
