"""Pages in real headless Chromium: what is seen of them, and what touch and keys do there."""

import io

import pytest
from PIL import Image

from mobiletest_automation.commands.selector_search import find_by_selector
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.flows.assertion_commands import AssertVisible
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Element, Point, Role, walk
from mobiletest_automation.screen.outline import Outline
from tests.devices.conftest import OpenPage
from tests.devices.screens import find, seen, shows, texts
from tests.eventually import eventually
from tests.unit.automation.attempts import fails


async def test_the_tree_has_roles_names_states_and_bounds(browser: WebDriverDevice) -> None:
    tree = await browser.view.tree()
    assert tree.role is Role.SCREEN
    assert tree.bounds.width >= 300
    off = find(tree, "Off", Role.BUTTON)
    assert off is not None
    assert not off.enabled
    box = find(tree, "Newsletter", Role.CHECKBOX)
    assert box is not None
    assert box.checked is False
    note = find(tree, "Note", Role.FIELD)
    assert note is not None
    assert (note.text, note.id) == ("one", "note")
    assert note.bounds.width > 50
    assert note.attributes["id"] == "note"


async def test_what_people_cannot_see_is_not_visible(browser: WebDriverDevice) -> None:
    tree = await browser.view.tree()
    for words in (
        *("Invisible words", "Transparent words", "Unspoken words", "Far button", "bottom of the box"),
        "Buried words",
    ):
        assert find(tree, words) is None, words
    for words in ("top of the box", "Shaded words", "Covered", "Lid"):
        assert find(tree, words) is not None, words


ON_THE_SCREEN = (
    # A tenth of an element is enough.
    *({"text": "All of it"}, {"text": "A fifth"}, {"text": "A tenth"}, {"id": "line"}),
    *({"id": "order_button"}, {"id": "Basket"}, {"id": "help"}),
)
NOT_ON_THE_SCREEN = (
    *({"text": "Peeking"}, {"text": "Collapsed words"}, {"id": "collapsed"}, {"id": "nothing"}, {"id": "gone"}),
    # A title is no id beside an id.
    {"id": "Help me"},
)


async def test_what_selectors_find_on_a_page(open_page: OpenPage, pages: str) -> None:
    outline = Outline(await (await open_page(f"{pages}/edges.html")).view.tree())
    steps = parse_flow([{"assertVisible": each} for each in (*ON_THE_SCREEN, *NOT_ON_THE_SCREEN)]).steps
    selectors = [step.command.selector for step in steps if isinstance(step.command, AssertVisible)]
    matching = [str(each) for each in selectors if find_by_selector(each, outline)]
    assert matching == list(map(str, selectors[: len(ON_THE_SCREEN)]))


async def test_it_looks_into_open_shadow_roots_and_frames_and_acts_there(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "Shadowed", Role.BUTTON))
    await shows(browser, "in the shadow")
    await browser.view.tap(await seen(browser, "Framed", Role.BUTTON))
    await shows(browser, "in the frame")
    for name in ("Shadow field", "Framed field"):
        await browser.view.type("deep", await seen(browser, name, Role.FIELD))
        assert (await seen(browser, name, Role.FIELD)).text == "deep"


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("#pressed", ["Press me"]),
        ("button:not(:disabled)#pressed, #off", ["Press me", "Off"]),
        ("iframe + *", []),
        (".none", []),
        ("#hidden-button:only-child", []),
        ("button:first-child", ["Covered", "Far button", "Framed", "Shadowed"]),
    ],
)
async def test_elements_have_the_css_selectors_that_they_match(
    browser: WebDriverDevice, selector: str, names: list[str]
) -> None:
    tree = await browser.view.tree(frozenset({selector, "body *"}))
    matching = [each.name for each in walk(tree) if selector in each.css and each.role is Role.BUTTON]
    assert sorted(matching) == sorted(names)
    assert not any(each.css for each in walk(await browser.view.tree()))


async def test_a_css_selector_that_the_browser_does_not_know_is_a_script_error(browser: WebDriverDevice) -> None:
    with fails(Category.SCRIPT_ERROR, '"a:unknown" is not a CSS selector that the browser knows'):
        await browser.view.tree(frozenset({"#pressed", "a:unknown"}))


async def test_a_tap_at_a_point(browser: WebDriverDevice) -> None:
    await browser.view.tap((await seen(browser, "Press me")).bounds.center)
    await shows(browser, "pressed")


async def test_a_covered_element_is_not_tapped_and_the_cover_is_named(browser: WebDriverDevice) -> None:
    with fails(Category.STEP_TIMEOUT, 'button "Covered" was covered by div "Overlay"'):
        await browser.view.tap(await seen(browser, "Covered"))
    assert "went through the cover" not in await texts(browser)


async def test_a_moving_element_is_tapped_where_it_stops(browser: WebDriverDevice) -> None:
    await browser.app.open_link((await browser.view.tree()).attributes["url"])
    await browser.driver.execute("document.getElementById('moving').id = 'slider'")
    await browser.view.tap(await seen(browser, "Moving"))
    await shows(browser, "caught")


async def test_what_is_out_of_view_is_scrolled_to_before_it_is_tapped(browser: WebDriverDevice) -> None:
    tree = await browser.view.tree()
    far = next(each for each in walk(tree) if each.id == "far-button")
    await browser.view.tap(far)
    await browser.view.swipe(Point(200, 200), Point(200, 600))
    assert await browser.driver.execute("return document.getElementById('said').textContent") == "far away"


async def test_an_element_that_has_gone_is_not_found(browser: WebDriverDevice, pages: str) -> None:
    button = await seen(browser, "Press me")
    await browser.app.open_link(f"{pages}/second.html")
    with fails(Category.ELEMENT_NOT_FOUND, 'button "Press me"'):
        await browser.view.tap(button)


async def test_typing_appends_and_clearing_removes(browser: WebDriverDevice) -> None:
    await browser.view.type(" and two", await field(browser, "Note"))
    assert (await field(browser, "Note")).text == "one and two"
    await browser.view.clear(await field(browser, "Note"), characters=4)
    assert (await field(browser, "Note")).text == "one and"
    await browser.view.type("!")
    assert (await field(browser, "Note")).text == "one and!"
    await browser.view.clear()
    assert (await field(browser, "Note")).text == ""


@pytest.mark.parametrize(
    "text",
    [
        *("Zoë's naïve café", "日本語", "a 😀 b", "e\u0301 👩\u200d💻", "two\nlines", "of\r\nWindows"),
        'quotes " and \\ <b>',
    ],
)
async def test_any_text_can_be_typed(browser: WebDriverDevice, text: str) -> None:
    await browser.view.clear(await field(browser, "Note"))
    await browser.view.type(text)
    assert (await field(browser, "Note")).text == text.replace("\r\n", "\n")


async def test_a_long_text_is_typed_too(browser: WebDriverDevice) -> None:
    text = "All work and no play.\n" * 200
    await browser.view.type(text, await field(browser, "Note"))
    assert await browser.driver.execute("return document.getElementById('note').value") == f"one{text}"


async def test_a_page_that_is_too_large_is_refused(browser: WebDriverDevice) -> None:
    await browser.driver.execute("document.body.innerHTML = '<i></i>'.repeat(20001)")
    with pytest.raises(DeviceFailure, match="the page is too large"):
        await browser.view.tree()


async def test_a_page_is_read_whatever_characters_it_shows(browser: WebDriverDevice) -> None:
    """page.js cuts attributes after 300 characters, here in the middle of an emoji."""
    label = f"{'x' * 299}\U0001f600"
    await browser.driver.execute("document.body.innerHTML = arguments[0]", f'<button aria-label="{label}">OK</button>')
    await browser.driver.execute("document.querySelector('button').textContent = 'a\\ud83d\\0b'")
    button = next(each for each in walk(await browser.view.tree()) if each.role is Role.BUTTON)
    assert (button.text, button.label) == ("a\ufffdb", f"{'x' * 299}\ufffd")


async def test_a_page_with_a_form_called_title_is_read(browser: WebDriverDevice) -> None:
    await browser.driver.execute("document.body.insertAdjacentHTML('beforeend', '<form name=title></form>')")
    tree = await browser.view.tree()
    assert find(tree, "Newsletter", Role.CHECKBOX) is not None
    assert tree.attributes["title"] == ""


@pytest.mark.parametrize(
    "attack",
    [
        "Array.prototype.toJSON = function () { return '[' + this.join() + ']' }",  # as old libraries do
        "JSON.stringify = () => '{}'",
        "JSON.stringify = () => { throw 1 }",
        "JSON.stringify = () => '['.repeat(100000)",
        "document.body.insertAdjacentHTML('beforeend', '<form><input name=getAttribute></form>')",
        "Element.prototype.getAttribute = () => ({})",
        "Object.defineProperty(Element.prototype, 'localName', {get: () => 7})",
    ],
)
async def test_a_page_that_breaks_what_reads_it_costs_no_verdict(browser: WebDriverDevice, attack: str) -> None:
    """It is read all the same, or another attempt would not read it either."""
    await browser.driver.execute(f"setTimeout(() => {{ {attack} }})")
    try:
        await browser.view.tree()
    except DeviceFailure as failure:
        wrong = failure.category
    else:
        wrong = Category.SCRIPT_ERROR
    finally:
        await browser.driver.open_url("about:blank")
    assert wrong is Category.SCRIPT_ERROR


async def test_fields_of_other_kinds(browser: WebDriverDevice) -> None:
    await browser.view.type("25", await field(browser, "Amount"))
    assert (await field(browser, "Amount")).text == "125"
    await browser.view.clear(await field(browser, "Amount"), characters=2)
    assert (await field(browser, "Amount")).text == "1"
    await browser.view.type("2026-11-21", await field(browser, "Day"))
    assert (await field(browser, "Day")).text == "2026-11-21"
    await browser.view.type("er", await field(browser, "Rich"))
    assert (await field(browser, "Rich")).text == "softer"
    await browser.view.clear(await field(browser, "Rich"))
    assert (await field(browser, "Rich")).text == ""


async def test_typing_without_a_field_is_refused(browser: WebDriverDevice) -> None:
    with fails(Category.SCRIPT_ERROR, "no editable field has the focus"):
        await browser.view.type("lost")
    with pytest.raises(DeviceFailure, match='button "Press me"'):
        await browser.view.type("lost", await seen(browser, "Press me"))


async def test_the_options_of_a_list_are_to_be_seen_while_it_is_open(browser: WebDriverDevice) -> None:
    assert find(await browser.view.tree(), "Large") is None
    await browser.view.tap(await seen(browser, "Size", Role.PICKER))
    await browser.view.tap(await seen(browser, "Large"))
    await shows(browser, "size Large")
    assert (await seen(browser, "Size", Role.PICKER)).text == "Large"
    assert find(await browser.view.tree(), "Small") is None


async def test_a_checkbox_is_checked_by_a_tap_on_it_and_on_its_label(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "Newsletter", Role.CHECKBOX))
    assert (await seen(browser, "Newsletter", Role.CHECKBOX)).checked is True
    await browser.view.tap(await seen(browser, "Newsletter", Role.TEXT))
    assert (await seen(browser, "Newsletter", Role.CHECKBOX)).checked is False


async def test_the_browsers_own_dialog_is_seen_and_answered(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "Ask"))
    await seen(browser, "Really?")
    await browser.view.tap(await seen(browser, "OK"))
    await shows(browser, "agreed")
    await browser.view.tap(await seen(browser, "Ask"))
    await browser.view.tap(await seen(browser, "Cancel"))
    await shows(browser, "refused")


async def test_keys_answer_the_browsers_dialog_and_a_launch_ends_it(browser: WebDriverDevice) -> None:
    for answer, said in ((browser.view.press_key("enter"), "agreed"), (browser.view.back(), "refused")):
        await browser.view.tap(await seen(browser, "Ask"))
        await seen(browser, "Really?")
        await answer
        await shows(browser, said)
    await browser.view.tap(await seen(browser, "Ask"))
    await seen(browser, "Really?")
    await browser.app.launch()
    await shows(browser, "nothing yet")


async def test_what_is_behind_a_modal_dialog_is_not_to_be_seen(browser: WebDriverDevice) -> None:
    await browser.driver.execute(
        "document.body.insertAdjacentHTML('beforeend', '<dialog><button>Inside</button></dialog>');"
        "document.querySelector('dialog').showModal()"
    )
    tree = await browser.view.tree()
    assert find(tree, "Inside", Role.BUTTON) is not None
    assert find(tree, "Press me") is None


async def test_keys_by_their_names(browser: WebDriverDevice) -> None:
    await browser.view.type("x", await field(browser, "Note"))
    await browser.view.press_key("Backspace")
    assert (await field(browser, "Note")).text == "one"
    await browser.view.press_key("enter")
    assert (await field(browser, "Note")).text == "one\n"
    with fails(Category.SCRIPT_ERROR, "a browser has no key volume up; known keys: backspace, "):
        await browser.view.press_key("volume up")


async def test_console_output_becomes_log_lines_once(browser: WebDriverDevice) -> None:
    async def lines() -> int:
        return (await browser.log()).text.count("enter was pressed")

    earlier = await lines()  # of other tests, which share the session
    await browser.view.press_key("enter")

    async def logged() -> bool:
        return await lines() > earlier

    await eventually(logged)
    assert await lines() == earlier + 1


async def test_screenshot_and_source(browser: WebDriverDevice) -> None:
    with Image.open(io.BytesIO(await browser.view.screenshot())) as picture:
        bounds = (await browser.view.tree()).bounds
        assert picture.size == (bounds.width, bounds.height)
    source = await browser.view.source()
    assert source.content_type == "text/html"
    assert "<title>Playground</title>" in source.content


async def test_the_session_stays_in_its_first_tab(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "New tab"))
    await seen(browser, "Press me")


async def field(browser: WebDriverDevice, name: str) -> Element:
    return await seen(browser, name, Role.FIELD)
