"""What a step would do on a page source, by POST /api/v1/tests/resolve."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Answer, Api, created

SCREENS = Path(__file__).parents[1] / "unit/executor/automation/sentences/corpus"
LOGIN = (SCREENS / "login.android.xml").read_text()
SETTINGS = (SCREENS / "settings.android.xml").read_text()
PRODUCTS = (SCREENS / "products.ios.xml").read_text()
CART = (SCREENS / "cart.html").read_text()
FAKE = """<AppiumAUT><app width="400" height="852">
  <MockInputField id="email" name="E-mail" left="10" top="20" width="300" height="40"/>
  <MockButton id="login" text="Log in" left="10" top="80" width="100" height="40"/>
</app></AppiumAUT>"""
PATH = "/tests/resolve"


async def resolve(api: Api, step: object, source: str, **more: object) -> Answer:
    return await api.post(PATH, {"step": step, "source": source, **more})


def issues(answer: Answer) -> list[tuple[list[Any], str]]:
    assert answer.status == 422, answer.text
    return [(issue["loc"], issue["msg"]) for issue in answer.detail]


class TestSources:
    async def test_uiautomator2(self, api: Api) -> None:
        answer = await resolve(api, 'Type "ada@example.com" into the E-mail field', LOGIN, platform="Android")
        assert (answer.status, answer.body["action"], answer.body["value"]) == (200, "type", "ada@example.com")
        element = answer.body["element"]
        assert element["resource-id"] == "com.example.shop:id/email"
        assert element["bounds"] == "[60,540][1020,660]"
        assert element["class"] == "android.widget.EditText"
        assert answer.body["reason"] is None
        assert answer.body["candidates"] == [element]

    async def test_android_without_what_appium_adds(self, api: Api) -> None:
        answer = await resolve(api, "Turn on Dark mode", SETTINGS)
        assert (answer.body["action"], answer.body["element"]["content-desc"]) == ("tap", "Dark mode")
        assert "displayed" not in answer.body["element"]

    async def test_xcuitest(self, api: Api) -> None:
        answer = await resolve(api, 'Tap "Add to cart" in the row of "Red mug"', PRODUCTS, platform="iOS")
        assert answer.body["action"] == "tap"
        assert answer.body["element"] == {
            "type": "XCUIElementTypeButton",
            "label": "Add to cart",
            "enabled": "true",
            "visible": "true",
            "accessible": "true",
            "x": "290",
            "y": "282",
            "width": "88",
            "height": "40",
        }

    async def test_the_fake_driver(self, api: Api) -> None:
        answer = await resolve(api, "Tap the Log in button", FAKE)
        wanted = {"id": "login", "text": "Log in", "left": "10", "top": "80", "width": "100", "height": "40"}
        assert (answer.body["action"], answer.body["element"]) == ("tap", wanted)

    async def test_html(self, api: Api) -> None:
        answer = await resolve(api, 'Set "Quantity of Blue mug" to "3"', CART)
        assert (answer.body["action"], answer.body["value"]) == ("type", "3")
        assert answer.body["element"] == {
            "type": "number",
            "name": "quantity-1",
            "aria-label": "Quantity of Blue mug",
            "value": "2",
        }

    async def test_an_element_without_attributes_is_told_in_words(self, api: Api) -> None:
        answer = await resolve(api, "Tap the button", "<html><body><button>Go</button></body></html>")
        assert (answer.body["action"], answer.body["element"], answer.body["message"]) == ("tap", {}, 'button "Go"')


class TestAnswers:
    async def test_several_that_fit_are_all_named(self, api: Api) -> None:
        answer = await resolve(api, 'Tap "Add to cart"', PRODUCTS)
        body = answer.body
        assert (answer.status, body["action"], body["reason"]) == (200, "none", "ambiguous")
        assert (body["element"], body["value"]) == (None, None)
        assert [each["y"] for each in body["candidates"]] == ["194", "282", "370", "458"]
        assert "4 elements" in body["message"]

    async def test_what_is_not_there_is_not_found(self, api: Api) -> None:
        body = (await resolve(api, 'Tap "Log out"', LOGIN)).body
        assert (body["action"], body["reason"], body["candidates"]) == ("none", "not_found", [])

    @pytest.mark.parametrize("step", ["Log in as ada", 'Tap "Log in" and then go back', "Do not tap Log in"])
    async def test_what_rules_do_not_know_needs_a_model(self, api: Api, step: str) -> None:
        body = (await resolve(api, step, LOGIN)).body
        assert (body["action"], body["reason"]) == ("none", "needs_model")
        assert body["message"]

    async def test_what_is_still_to_appear_is_no_element(self, api: Api) -> None:
        body = (await resolve(api, 'Wait for "Welcome back"', LOGIN)).body
        assert (body["action"], body["element"], body["reason"]) == ("wait_for", None, None)

    async def test_every_field_is_there(self, api: Api) -> None:
        body = (await resolve(api, "Go back", LOGIN)).body
        assert body.pop("action") == "back"
        assert body == {"element": None, "value": None, "candidates": [], "reason": None, "message": ""}

    @pytest.mark.parametrize(
        ("step", "action", "value"),
        [
            ({"tapOn": "Log in"}, "tap", None),
            ({"tapOn": {"id": "login"}}, "tap", None),
            ({"inputText": "ada"}, "type", "ada"),
            ({"assertVisible": {"text": "Welcome.*"}}, "assert_visible", None),
            ({"assertNotVisible": "Nothing"}, "assert_not_visible", None),
            ({"pressKey": "Enter"}, "press_key", "enter"),
            ({"swipe": {"direction": "LEFT"}}, "swipe", "left"),
            ({"openLink": "shop://cart"}, "open_link", "shop://cart"),
            ({"scrollUntilVisible": {"element": "Log in"}}, "scroll_until_visible", "down"),
        ],
    )
    async def test_commands(self, api: Api, step: object, action: str, value: str | None) -> None:
        answer = await resolve(api, step, LOGIN)
        assert (answer.status, answer.body["action"], answer.body["value"]) == (200, action, value), answer.text


class TestRefusals:
    async def test_both_fields_are_needed(self, api: Api) -> None:
        assert {tuple(loc) for loc, _ in issues(await api.post(PATH, {}))} == {("body", "step"), ("body", "source")}
        assert [loc for loc, _ in issues(await resolve(api, None, LOGIN))] == [["body", "step"]]
        assert [loc for loc, _ in issues(await resolve(api, "Go back", ""))] == [["body", "source"]]

    @pytest.mark.parametrize(
        ("step", "says"),
        [
            ({"tapOnn": "x"}, "tapOn"),
            ({"tapOn": {"txt": "x"}}, "text"),
            (17, "sentence"),
            (["Go back"], "sentence"),
            ({}, "step"),
            ({"repeat": {"times": 2, "commands": ["Go back"]}}, "resolve each"),
            ("Tap ${name}", "variables"),
        ],
    )
    async def test_a_step_that_cannot_be_read(self, api: Api, step: object, says: str) -> None:
        ((loc, message),) = issues(await resolve(api, step, LOGIN))
        assert loc == ["body", "step"]
        assert says in message

    @pytest.mark.parametrize(
        ("source", "place"),
        [
            ("<hierarchy>\n  <node>\n</hierarchy>", "line 3, column 3"),
            ("hello", "line 1, column 1"),
            ('<!DOCTYPE a [<!ENTITY b "c">]>\n<hierarchy/>', "line 1"),
            ("\n\n<!DOCTYPE html5 SYSTEM 'x'><x/>", "line 3"),
            ("<something/>", "line 1, column 1"),
            ("<hierarchy>" + "<node>" * 500, "line 1"),
        ],
    )
    async def test_a_source_that_cannot_be_read(self, api: Api, source: str, place: str) -> None:
        ((loc, message),) = issues(await resolve(api, "Go back", source))
        assert loc == ["body", "source"]
        assert place in message

    async def test_a_source_of_the_other_platform(self, api: Api) -> None:
        ((loc, message),) = issues(await resolve(api, "Go back", LOGIN, platform="iOS"))
        assert (loc, "Android" in message) == (["body", "source"], True)

    async def test_a_source_of_four_mebibytes_is_taken_and_more_is_not(self, api: Api) -> None:
        filler = '<node text="' + "x" * 1000 + '"/>'
        whole = "<hierarchy>" + filler * (4 * 1024 * 1024 // len(filler) - 1) + "</hierarchy>"
        assert (await resolve(api, "Go back", whole)).body["action"] == "back"
        assert [loc for loc, _ in issues(await resolve(api, "Go back", whole + " " * 5000))] == [["body", "source"]]
        answer = await resolve(api, "Go back", whole * 3)
        assert (answer.status, answer.body["code"]) == (413, "BODY_TOO_LARGE")

    async def test_a_key_is_needed(self, anonymous: Api) -> None:
        assert (await resolve(anonymous, "Go back", LOGIN)).status == 401

    async def test_the_scope_read_is_enough_and_needed(self, api: Api) -> None:
        for scope, status in (("read", 200), ("write", 403)):
            key = created(await api.post("/settings/api-keys", {"name": scope, "scopes": [scope]}))
            async with Api(api.url, key["key"]) as client:
                assert (await resolve(client, "Go back", LOGIN)).status == status
