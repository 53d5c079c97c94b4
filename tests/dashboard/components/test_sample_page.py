"""The design system and the browser modules on a page with all components."""

from collections.abc import Callable

import pytest
from selenium.webdriver import ActionChains, Keys, Remote
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.dashboard.components.conftest import emulate

THEMES = ["light", "dark"]
INSERT_TIME = """
    const time = document.createElement("time");
    time.id = "later"; time.dataset.format = "relative"; time.dateTime = new Date(Date.now() - 185000).toISOString();
    document.querySelector("main").append(time);
"""


def find(browser: Remote, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def wait_until(browser: Remote, condition: Callable[[], object]) -> None:
    WebDriverWait(browser, 10, 0.05).until(lambda _: condition())


def choose_theme(browser: Remote, theme: str) -> None:
    Select(find(browser, "[data-theme-switch]")).select_by_value(theme)


def background(browser: Remote) -> str:
    return find(browser, "body").value_of_css_property("background-color")


def toasts(browser: Remote, role: str) -> list[str]:
    texts = browser.find_elements(By.CSS_SELECTOR, f".toasts [role={role}] .toast span")
    return [text.text for text in texts]


@pytest.mark.parametrize("width", [360, 720, 1040, 1600])
def test_the_page_has_no_horizontal_scroll(browser: Remote, width: int) -> None:
    emulate(browser, "setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    needed, given = browser.execute_script(
        "const root = document.documentElement; return [root.scrollWidth, root.clientWidth]"
    )
    assert needed <= given <= width


def test_times_are_local_and_their_title_is_utc(browser: Remote) -> None:
    time = find(browser, "#absolute")
    wait_until(browser, lambda: time.text == "24 Nov 2026, 00:04")
    assert time.get_attribute("title") == "2026-11-23 15:04:05 UTC"
    assert find(browser, "#elapsed").text == "2:05"


def test_times_that_come_later_are_shown_too(browser: Remote) -> None:
    wait_until(browser, lambda: find(browser, "#elapsed").text == "2:05")
    browser.execute_script(INSERT_TIME)
    wait_until(browser, lambda: find(browser, "#later").text == "3 minutes ago")
    browser.execute_script('document.getElementById("later").firstChild.data = "as the server wrote it"')
    wait_until(browser, lambda: find(browser, "#later").text == "3 minutes ago")


@pytest.mark.parametrize("theme", THEMES)
def test_the_chosen_theme_is_kept(browser: Remote, theme: str) -> None:
    emulate(browser, "setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    choose_theme(browser, "dark" if theme == "light" else "light")
    other = background(browser)
    choose_theme(browser, theme)
    chosen = background(browser)
    assert chosen != other
    browser.refresh()
    wait_until(
        browser, lambda: Select(find(browser, "[data-theme-switch]")).first_selected_option.text == theme.title()
    )
    assert background(browser) == chosen


def test_without_a_choice_the_theme_is_the_systems(browser: Remote) -> None:
    def set_system(theme: str) -> str:
        emulate(browser, "setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        return background(browser)

    light, dark = (set_system(theme) for theme in THEMES)
    assert light != dark
    choose_theme(browser, "light")
    assert background(browser) == light
    choose_theme(browser, "system")
    assert background(browser) == dark


def test_requests_that_change_something_carry_the_token(browser: Remote) -> None:
    find(browser, "#send").click()
    wait_until(browser, lambda: find(browser, "#answer").text == "token-of-the-page")


@pytest.mark.parametrize(("method", "answer"), [("GET", "no token"), ("POST", "token-of-the-page")])
def test_fetch_sends_the_token_with_unsafe_methods(browser: Remote, method: str, answer: str) -> None:
    script = "const [method, done] = arguments; fetch('/echo', {method}).then((r) => r.text()).then(done)"
    assert browser.execute_async_script(script, method) == answer


def test_the_server_sends_toasts_and_failures_stay_until_closed(browser: Remote) -> None:
    find(browser, "#send").click()
    wait_until(browser, lambda: toasts(browser, "alert") == ["Sent"])
    find(browser, ".toasts [role=alert] button").click()
    assert toasts(browser, "alert") == []


def test_the_copy_button_copies_and_says_so(browser: Remote) -> None:
    find(browser, "#copy").click()
    wait_until(browser, lambda: toasts(browser, "status") == ["Copied"])
    assert find(browser, "#copy").text == "Copied"
    find(browser, "#search").send_keys(Keys.CONTROL, "v")
    assert find(browser, "#search").get_attribute("value") == find(browser, "#key").text


def test_toasts_are_inside_the_open_dialog_because_the_page_behind_is_inert(browser: Remote) -> None:
    find(browser, "#open-dialog").click()
    browser.execute_script("document.dispatchEvent(new CustomEvent('toast', {detail: {message: 'Saved'}}))")
    assert find(browser, "#dialog .toasts .toast span").text == "Saved"
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    wait_until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "body > .toasts"))


def test_a_tooltip_opens_on_focus_and_closes_on_escape(browser: Remote) -> None:
    sentence = find(browser, "#flaky-1")
    assert not sentence.is_displayed()
    browser.execute_script("document.getElementById('tip').focus()")
    wait_until(browser, sentence.is_displayed)
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    wait_until(browser, lambda: not sentence.is_displayed())


def test_a_tooltip_is_not_cut_off_by_its_table(browser: Remote) -> None:
    emulate(browser, "setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
    tip = find(browser, "#tip")
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', inline: 'center'}); arguments[0].focus()", tip
    )
    box = find(browser, "#flaky-1").rect
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
