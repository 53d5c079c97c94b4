"""What a step would do on a page source, by POST /api/v1/tests/resolve."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Answer, Api

SCREENS = Path(__file__).parents[1] / "unit/automation/sentences/corpus"
LOGIN = (SCREENS / "login.android.xml").read_text()
PRODUCTS = (SCREENS / "products.ios.xml").read_text()
CART = (SCREENS / "cart.html").read_text()
PATH = "/tests/resolve"


async def resolve(api: Api, step: object, source: str, **more: object) -> Answer:
    return await api.post(PATH, {"step": step, "source": source, **more})


def issues(answer: Answer) -> list[tuple[list[Any], str]]:
    assert answer.status == 422, answer.text
    return [(issue["loc"], issue["msg"]) for issue in answer.detail]


async def test_an_element_has_the_attributes_of_its_source(api: Api) -> None:
    """Of each kind of source, with everything that the step does."""
    answer = await resolve(api, 'Type "ada@example.com" into the E-mail field', LOGIN, platform="Android")
    assert (answer.status, answer.body["action"], answer.body["value"]) == (200, "type", "ada@example.com")
    element = answer.body["element"]
    assert (element["resource-id"], element["bounds"]) == ("com.example.shop:id/email", "[60,540][1020,660]")
    assert (answer.body["reason"], answer.body["candidates"]) == (None, [element])
    on_ios = await resolve(api, 'Tap "Add to cart" in the row of "Red mug"', PRODUCTS, platform="iOS")
    assert on_ios.body["action"] == "tap"
    assert on_ios.body["element"].items() >= {"type": "XCUIElementTypeButton", "x": "290", "y": "282"}.items()
    on_web = await resolve(api, 'Set "Quantity of Blue mug" to "3"', CART)
    assert (on_web.body["value"], on_web.body["element"]["name"]) == ("3", "quantity-1")


async def test_what_resolves_to_no_element_says_why(api: Api) -> None:
    several = (await resolve(api, 'Tap "Add to cart"', PRODUCTS)).body
    assert (several["action"], several["reason"], several["element"]) == ("none", "ambiguous", None)
    assert [each["y"] for each in several["candidates"]] == ["194", "282", "370", "458"]
    for step, reason in (('Tap "Log out"', "not_found"), ("Log in as ada", "needs_model")):
        body = (await resolve(api, step, LOGIN)).body
        assert (body["action"], body["reason"], body["candidates"]) == ("none", reason, [])
        assert body["message"]
    body = (await resolve(api, "Go back", LOGIN)).body
    assert body == {
        "action": "back",
        "element": None,
        "value": None,
        "candidates": [],
        "reason": None,
        "message": "",
    }


@pytest.mark.parametrize(
    ("step", "source", "more", "field", "says"),
    [
        (None, LOGIN, {}, "step", ""),
        ({"tapOnn": "x"}, LOGIN, {}, "step", "tapOn"),
        ("Go back", "", {}, "source", ""),
        ("Go back", "<hierarchy>\n  <node>\n</hierarchy>", {}, "source", "line 3, column 3"),
        ("Go back", LOGIN, {"platform": "iOS"}, "source", "Android"),
    ],
    ids=["no step", "unknown command", "no source", "broken source", "other platform"],
)
async def test_what_is_wrong_is_named(
    api: Api, step: object, source: str, more: dict[str, str], field: str, says: str
) -> None:
    ((loc, message),) = issues(await resolve(api, step, source, **more))
    assert (loc, says in message) == (["body", field], True)


async def test_a_source_of_four_mebibytes_is_taken_and_more_is_not(api: Api) -> None:
    filler = '<node text="' + "x" * 1000 + '"/>'
    whole = "<hierarchy>" + filler * (4 * 1024 * 1024 // len(filler) - 1) + "</hierarchy>"
    assert (await resolve(api, "Go back", whole)).body["action"] == "back"
    assert [loc for loc, _ in issues(await resolve(api, "Go back", whole + " " * 5000))] == [["body", "source"]]
    answer = await resolve(api, "Go back", whole * 3)
    assert (answer.status, answer.body["code"]) == (413, "BODY_TOO_LARGE")
