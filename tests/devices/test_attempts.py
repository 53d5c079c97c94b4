"""Whole attempts on the web shop in Chromium: in sentences, in commands, and one that fails."""

import io

from PIL import Image

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from tests.devices.hub_devices import SharedBrowser
from tests.fakes.devices import FakeEvidence
from tests.unit.automation.attempts import failure_of

LOG_IN = ['Type "ada@example.com" into "Email"', 'Type "lovelace" into "Password"', 'Tap "Log in"']
BUY_IN_SENTENCES = [
    *LOG_IN,
    'Wait for "Offer of the day: Green teapot"',
    'Type "mug" into "Search"',
    'I see "2 products"',
    'I do not see "White plate"',
    'Tap "Blue mug"',
    'Tap "Size"',
    'Tap "Large"',
    'Tap "Add to cart"',
    'I see "Added 1 × Blue mug (Large)"',
    'Tap "Cart (1)"',
    'I see "Total €7.75"',
    'Tap "Checkout"',
    '"Place order" is disabled',
    'Type "Ada Lovelace" into "Full name"',
    'Check "I accept the terms"',
    'Take a screenshot named "checkout"',
    'Tap "Place order"',
    'Tap "Yes, order"',
    'I see "Thank you"',
    'Take a screenshot named "thanks"',
]
BUY_IN_COMMANDS: list[object] = [
    {"launchApp": {"clearState": True}},
    {"tapOn": {"id": "email"}},
    {"inputText": "ada@example.com"},
    {"tapOn": {"id": "password"}},
    {"inputText": "lovelace"},
    {"tapOn": {"text": "Log in", "index": 1}},
    {"extendedWaitUntil": {"visible": "Offer of the day.*", "timeout": 10000}},
    {"tapOn": "Search"},
    {"inputText": "mug"},
    {"assertVisible": "2 products"},
    {"assertNotVisible": "White plate"},
    {"tapOn": "Blue mug"},
    {"tapOn": {"id": "size"}},
    {"tapOn": "Large"},
    {"tapOn": "Add to cart"},
    {"assertVisible": "Added 1 × Blue mug \\(Large\\)"},
    {"tapOn": "Cart \\(1\\)"},
    {"assertVisible": "Total €7.75"},
    {"tapOn": "Checkout"},
    {"assertVisible": {"text": "Place order", "enabled": False}},
    {"tapOn": {"id": "full-name"}},
    {"inputText": "Ada Lovelace"},
    {"tapOn": {"id": "terms"}},
    {"takeScreenshot": "checkout"},
    {"tapOn": "Place order"},
    {"tapOn": "Yes, order"},
    {"assertVisible": "Thank you"},
    {"takeScreenshot": "thanks"},
]


async def run(
    browsers: SharedBrowser, url: str, steps: list[object], evidence: FakeEvidence, *, seconds: float = 15
) -> AttemptResult:
    build = AppUnderTest(app_name="Web shop", static_url=url)
    plan = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=steps, build=build, step_seconds=seconds, run_seconds=100
    )
    return await AttemptRunner(browsers).run(plan, evidence=evidence)


async def test_elements_of_a_page_are_found_by_css(browsers: SharedBrowser, web_shop: str) -> None:
    steps: list[object] = [
        "launchApp",
        {"evalScript": "${output.page = {email: 'input#email'}}"},
        {"tapOn": {"css": "${output.page.email}"}},
        {"inputText": "ada@example.com"},
        {"tapOn": {"css": "input[type='password']"}},
        {"inputText": "lovelace"},
        {"assertNotVisible": {"css": "input[type='password']:disabled"}},
        {"tapOn": {"css": "form button", "text": "Log in"}},
        {"extendedWaitUntil": {"visible": {"css": "a, button", "text": "Cart.*"}, "timeout": 10000}},
        {"takeScreenshot": {"path": "cart", "cropOn": {"css": "a, button", "text": "Cart.*"}}},
        {"assertVisible": {"css": "body:unheard-of"}},
    ]
    result = await run(browsers, web_shop, steps, FakeEvidence())
    assert [step.status for step in result.steps] == ["passed"] * 10 + ["failed"]
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert '"body:unheard-of" is not a CSS selector that the browser knows' in failure_of(result).message


async def test_pictures_of_elements_are_compared_and_the_steps_recorded(browsers: SharedBrowser, web_shop: str) -> None:
    evidence = FakeEvidence()
    field: dict[str, object] = {"path": "email", "cropOn": {"id": "email"}}
    steps: list[object] = [
        "launchApp",
        {"startRecording": "log in"},
        {"takeScreenshot": field},
        {"assertScreenshot": field},
        {"tapOn": {"id": "email"}},
        {"inputRandomText": {"length": 20}},
        {"assertScreenshot": {**field, "thresholdPercentage": 99.9}},
    ]
    result = await run(browsers, web_shop, steps, evidence)
    assert failure_of(result).reason == 'the screen differs from the baseline "email.png"'
    assert [step.status for step in result.steps] == ["passed"] * 6 + ["failed"]
    kept = {name: Image.open(io.BytesIO(content)) for name, content in evidence.kept.items() if "email" in name}
    assert len({picture.size for picture in kept.values()}) == 1
    assert {name.rpartition("-")[2] for name in kept} == {"email.png", "actual.png", "difference.png"}
    recording = Image.open(io.BytesIO(evidence.kept["attempt-1-end-log-in.webp"]))
    assert getattr(recording, "n_frames", 1) >= 2


async def test_a_build_without_a_page_cannot_run_in_a_browser(browsers: SharedBrowser) -> None:
    plan = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=['I see "x"'], build=AppUnderTest(), step_seconds=2
    )
    result = await AttemptRunner(browsers).run(plan)
    assert failure_of(result).category is Category.CONFIG_INVALID


async def test_a_failure_names_the_exception_of_the_page(browsers: SharedBrowser, pages: str) -> None:
    result = await run(browsers, f"{pages}/traps.html", ['Tap "Break"', 'I see "Total"'], FakeEvidence(), seconds=1)
    failure = failure_of(result)
    assert (failure.category, failure.step_index) == (Category.ASSERTION_FAILED, 1)
    exception = "TypeError: Cannot read properties of null (reading 'total'), in traps.html (line "
    assert f"(meanwhile the page did not catch {exception}" in failure.message
    assert failure.reason == (
        "\"Total\" did not appear; TypeError in traps.html: Cannot read properties of null (reading 'total')"
    )


async def test_characters_that_a_page_loses_are_typed_again(browsers: SharedBrowser, pages: str) -> None:
    steps: list[object] = [
        'Type "hello" into "Hasty"',
        'I see "hello" in "Hasty"',
        'Type "hello" into "Short"',
        'Type "12" into "Code"',
        {"tapOn": "Deaf"},
        {"inputText": "hello"},
    ]
    result = await run(browsers, f"{pages}/traps.html", steps, FakeEvidence(), seconds=2)
    failure = failure_of(result)
    assert (failure.category, failure.step_index) == (Category.ASSERTION_FAILED, 5)
    assert 'typed "hello" twice, but field "Deaf" (id deaf) holds "ello"' in failure.message
    assert [step.message for step in result.steps[:4]] == [
        '(field "Hasty" (id hasty) held "ello" at first, so the text was typed again)',
        "",
        '(field "Short" holds "hell": it takes no more of the text)',
        "",
    ]
