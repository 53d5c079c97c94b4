"""What is masked in an attempt, and what a model may type although it is not shown it."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import VirtualTimer
from mobiletest_automation.devices.simulated.app_model import FILLED_LIMIT, TextTemplate
from mobiletest_automation.devices.simulated.running_app import LINE_LIMIT, AppLog
from mobiletest_automation.devices.webdriver.page_snapshot import CUT_AT, describe_node
from mobiletest_automation.flows.nodes import quote as quote_in_message
from mobiletest_automation.flows.texts import cut, splitting_no_secret
from mobiletest_automation.llm import element_list
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.screen.elements import ID_SHOWN, Bounds, Element, Role, walk
from mobiletest_automation.screen.page_source import html_contents
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.secret_spellings import ANY_CASE_LENGTH
from mobiletest_automation.secret_texts import PATTERNS_REACH, SecretTexts
from mobiletest_automation.step_cache.cache import StoredStepCache
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.fakes.devices import FakeDevice, FakeDevices, FakeEvidence, button, screen
from tests.fakes.models import ScriptedModel
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.automation.attempts import REFLECTING, ApprovingModel, failure_of

CANARY = 'k4n"a&r<y'


def secrets(**variables: str) -> SecretTexts:
    texts = SecretTexts()
    texts.add_variables(variables)
    return texts


SECRET = (
    *("PASSWORD", "userPassword", "passwd", "API_KEY", "apiKey", "TOKEN", "github_token", "PIN", "user_pin", "otp_1"),
)


@pytest.mark.parametrize("name", [*SECRET, "USER", "EMAIL", "PINBALL", "KEYBOARD", "shopping"])
def test_the_value_of_a_secret_variable_is_shown_as_its_template(name: str) -> None:
    shown = f"${{{name}}}" if name in SECRET else "s3cret"
    assert secrets(**{name: "s3cret"}).mask("typed s3cret") == f"typed {shown}"


def test_the_longest_secret_is_masked_first_and_two_characters_are_too_common() -> None:
    texts = secrets(PIN="1234", TOKEN="123456", OTP="12")
    assert texts.mask("123456 1234 12") == "${TOKEN} ${PIN} 12"


def test_a_text_that_was_shown_is_masked_once_it_is_known_to_be_secret() -> None:
    texts = secrets(PIN="4711")
    assert texts.mask("0815 4711") == "0815 ${PIN}"
    texts.add_typed("0815")
    assert texts.mask("0815 4711") == "[hidden 1] ${PIN}"


def test_texts_are_masked_in_every_spelling() -> None:
    mask = secrets(PASSWORD=CANARY).mask
    for spelled in (CANARY, json.dumps(CANARY), "k4n&quot;a&amp;r&lt;y", 'k4n"a&amp;r&lt;y', "k4n%22a%26r%3Cy"):
        assert "${PASSWORD}" in mask(f"<{spelled}>")


@pytest.mark.parametrize(
    "spelled", ["p%2Fq+%C3%A9%3D%21", "p%2fq%20%c3%a9%3d%21", "p%2fq+%c3%a9%3d%21", "p%2fq%20%c3%a9%3d!"]
)
def test_percent_encoded_secrets_are_masked_in_both_cases_of_hex_digits(spelled: str) -> None:
    assert secrets(PASSWORD="p/q é=!").mask(f"https://a.b/?p={spelled}") == "https://a.b/?p=${PASSWORD}"


KEY = "-----BEGIN KEY-----\nMIIE'\"abc+/=\nshort\n-----END KEY-----é"


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        " ".join(KEY.split()),
        "MIIE'\"abc+/=",
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        repr(KEY),
        quote(KEY, safe=""),
        escape(KEY),
        escape(KEY, quote=False).replace("\n", "&#10;"),
        escape(KEY, quote=False).replace('"', "&quot;").replace("'", "&apos;").replace("\n", "&#xA;"),
    ],
)
def test_a_secret_of_several_lines_is_masked_in_every_spelling(spelled: str) -> None:
    mask = secrets(PRIVATE_KEY=KEY).mask
    assert "MIIE" not in mask(f"<{spelled}>")


@pytest.mark.parametrize("kept", [4, 30, 59])
def test_the_beginning_of_a_secret_is_masked_where_a_message_was_shortened(kept: int) -> None:
    value = "".join(f"{number:03}-" for number in range(100, 150))
    message = f"{quote_in_message('x' * (60 - kept) + value)} is not visible"
    shown = secrets(TOKEN=value).mask(message)
    assert shown == f'"{"x" * (60 - kept)}${{TOKEN}}..." is not visible'
    assert secrets(TOKEN=value).mask(f'copied "{value[:30]}"') == 'copied "${TOKEN}"'


def test_what_a_model_was_shown_masked_can_be_put_back() -> None:
    texts = secrets(PASSWORD=CANARY)
    texts.add_typed("hunter2")
    shown = texts.mask_json({"messages": [{"content": f"Type {CANARY} and hunter2", "n": 1}]})
    assert CANARY not in str(shown)
    assert texts.reveal_json(shown) == {"messages": [{"content": f"Type {CANARY} and hunter2", "n": 1}]}


def test_what_is_stored_for_later_attempts_has_only_the_templates_of_variables() -> None:
    texts = secrets(PASSWORD="s3cret")
    texts.add_typed("hunter2")
    assert texts.as_template('Type "s3cret" and "hunter2"') == 'Type "${PASSWORD}" and "hunter2"'


def test_values_of_one_name_and_names_of_one_value_are_put_back_as_they_were() -> None:
    texts = secrets(PASSWORD="first-pw", CONFIRM_PASSWORD="first-pw")
    texts.add_variables({"PASSWORD": "second-pw"})
    for text in ("type first-pw", "type second-pw"):
        assert texts.reveal_json(texts.mask(text)) == text
    assert texts.mask("second-pw") == "${PASSWORD 2}"


def test_a_stored_template_is_filled_with_the_present_values() -> None:
    texts = secrets(PASSWORD="first-pw")
    stored = texts.as_template('Type "first-pw"')
    texts.add_variables({"PASSWORD": "second-pw"})
    assert (stored, texts.fill_template(stored)) == ('Type "${PASSWORD}"', 'Type "second-pw"')


async def attempt(platform: str, *steps: Any, **options: Any) -> tuple[AttemptResult, str]:
    """The result of an attempt on the built-in app, and everything that left it."""
    evidence, reports = FakeEvidence(), []

    async def progress(*report: Any) -> None:
        reports.append(repr(report))

    request = AttemptRequest(run_id="r", attempt=1, platform=platform, steps=list(steps), **options)
    runner = AttemptRunner(PooledDevices(DEFAULT_POOLS))
    result = await runner.run(request, evidence=evidence, progress=progress)
    artifacts = "".join(content.decode(errors="replace") for content in evidence.kept.values())
    return result, "\n".join([repr(result), *reports, *evidence.kept, artifacts])


@pytest.mark.parametrize("platform", ["android", "ios"])
async def test_no_trace_of_a_secret_variable_leaves_an_attempt(platform: str) -> None:
    result, left = await attempt(
        platform,
        {"appId": "com.example.demo", "env": {"PASSWORD": CANARY}},
        "launchApp",
        {"tapOn": "Email"},
        {"inputText": "${PASSWORD}"},
        {"assertVisible": "${PASSWORD}"},
        {"takeScreenshot": "with-${PASSWORD}"},
        {"runFlow": {"env": {"API_TOKEN": "in${PASSWORD}side"}, "commands": [{"assertVisible": "${API_TOKEN}"}]}},
    )
    assert "k4n" not in left
    assert [step.text for step in result.steps][2:4] == ['inputText: "${PASSWORD}"', 'assertVisible: "${PASSWORD}"']
    assert "${API_TOKEN}" in failure_of(result).message


@pytest.mark.parametrize("platform", ["android", "ios"])
@pytest.mark.parametrize(
    ("name", "secrets"), [("LOGIN", frozenset({"LOGIN"})), ("PASSWORD", frozenset()), ("pin", frozenset({"pin"}))]
)
async def test_no_trace_of_a_secret_from_outside_leaves_an_attempt(
    platform: str, name: str, secrets: frozenset[str]
) -> None:
    result, left = await attempt(
        platform,
        {"appId": "com.example.demo", "env": {"GREETING": f"Hello ${{{name}}}"}},
        "launchApp",
        {"tapOn": "Email"},
        {"inputText": "${GREETING}"},
        {"takeScreenshot": f"with-${{{name}}}"},
        {"assertVisible": "${GREETING}!"},
        env={name: CANARY, "CITY": "Paris"},
        secrets=secrets,
    )
    assert "k4n" not in left
    assert result.steps[2].text == f'inputText: "Hello ${{{name}}}"'
    assert f"Hello ${{{name}}}!" in failure_of(result).message


async def test_an_error_in_the_env_of_a_flow_does_not_show_a_secret() -> None:
    result, left = await attempt(
        "android",
        {"appId": "com.example.demo", "env": {"NUMBER": "${LOGIN - 1}"}},
        "launchApp",
        env={"LOGIN": CANARY},
        secrets=frozenset({"LOGIN"}),
    )
    assert "env.NUMBER" in failure_of(result).message
    assert "k4n" not in left


@pytest.mark.parametrize("platform", ["android", "ios"])
@pytest.mark.parametrize(
    "steps",
    [
        ['Type "hunter22" into the Password field', 'I see "hunter22"'],
        [{"tapOn": "Password"}, {"inputText": "hunter22"}, {"assertVisible": "hunter22"}],
        [{"tapOn": "Password"}, {"setClipboard": "hunter22"}, "pasteText", {"assertVisible": "hunter22"}],
    ],
    ids=["sentence", "command", "clipboard"],
)
async def test_what_a_password_field_holds_is_not_shown(platform: str, steps: list[Any]) -> None:
    result, _ = await attempt(platform, "launchApp", *steps)
    assert "hunter22" not in repr(result)
    assert "[hidden 1]" in repr(result)


async def test_the_step_cache_stores_nothing_of_a_screen_that_shows_a_secret() -> None:
    """An element is identified by its texts, and a sentence without its values."""
    store = FakeStepCacheStore()
    request = AttemptRequest(
        run_id="r",
        attempt=1,
        platform="android",
        steps=[
            'Type "ada@example.com" into the Email field',
            'Type "lovelace" into the Password field',
            'Tap "${LOGIN}"',
            'Tap "Log out"',
        ],
        config=REFLECTING,
        env={"LOGIN": "Log in"},
        secrets=frozenset({"LOGIN"}),
    )
    result = await AttemptRunner(
        PooledDevices(DEFAULT_POOLS), cache=StoredStepCache(store), model=ApprovingModel()
    ).run(request)
    assert result.failure is None
    assert store.cached
    assert "log in" not in repr(store.cached).casefold()


# A secret of 21 characters, the first two of which are nowhere else.
LONG = "Qz7-horse-battery-21c"


def label(text: str) -> Element:
    return Element(role=Role.TEXT, text=text, bounds=Bounds(0, 0, 100, 20))


def logged(text: str) -> str:
    log = AppLog(VirtualTimer())
    log.add(text)
    return log.text


CUTS: dict[str, tuple[int, Callable[[str], str]]] = {
    "model": (element_list.TEXT_LIMIT, lambda text: element_list.list_elements(screen(label(text))).json),
    "message": (60, quote_in_message),
    "id": (ID_SHOWN, lambda text: button("", label="Pay", id=text).describe()),
    "app model": (FILLED_LIMIT, lambda text: TextTemplate("{a}").fill({"a": text})),
    "device log": (LINE_LIMIT, logged),
    "inner text": (
        html_contents.TEXT_LIMIT,
        lambda text: " ".join(each.text for each in walk(read_source(f"<button>{text}<b>z</b></button>"))),
    ),
    "node of a page": (60, lambda text: describe_node(["div", text])),
    "cut by the page": (CUT_AT[1], lambda text: describe_node(["div", text[: CUT_AT[1]][1_940:].rjust(CUT_AT[1])])),
}


@pytest.mark.parametrize("kept", [1, 2, 12, 20, 21])
@pytest.mark.parametrize("place", CUTS)
def test_no_beginning_of_a_secret_is_shown_where_a_text_is_cut(place: str, kept: int) -> None:
    limit, show = CUTS[place]
    texts = secrets(PASSWORD=LONG)
    with splitting_no_secret(texts):
        shown = texts.mask(show(f"{'x' * (limit - kept)}{LONG}{'y' * 2_000}"))
    assert "x" * 20 in shown
    assert "Q" not in shown


@pytest.mark.parametrize("kept", [1, 3, 12, 20])
async def test_nothing_of_a_secret_that_a_list_for_a_model_cuts_leaves_an_attempt(kept: int) -> None:
    """Of 21 characters, 12 reached the model."""
    model = ScriptedModel(("cannot", json.dumps({"why": "no"})))
    shown = screen(label(f"{'x' * (160 - kept)}{LONG}"), button("Pay"))
    request = AttemptRequest(
        run_id="r", attempt=1, platform="android", steps=["Carefully put it there"], env={"PASSWORD": LONG}
    )
    runner = AttemptRunner(FakeDevices(FakeDevice(shown)), model=LanguageModels(model, ModelBudget()))
    result = await runner.run(request)
    assert "x" * 100 in str(model.asked)
    assert "Q" not in "".join(map(str, (model.asked, result)))


@pytest.mark.parametrize("kept", [1, 12, 20])
@pytest.mark.parametrize(
    ("limit", "step"),
    [
        (2_000, {"evalScript": "${console.log('x'.repeat(N - 0) + PASSWORD)}"}),
        (1_000, {"evalScript": "${(() => { throw new Error('x'.repeat(N - 0) + PASSWORD) })()}"}),
        (200, {"copyTextFrom": {"id": "shown"}}),
        (60, {"assertVisible": "${'x'.repeat(N - 0) + PASSWORD + '!'}"}),
    ],
    ids=["log", "error", "copied", "not found"],
)
async def test_nothing_of_a_secret_that_a_message_cuts_leaves_an_attempt(limit: int, step: Any, kept: int) -> None:
    before = limit - kept
    shown = screen(label(""), Element(role=Role.TEXT, id="shown", text="x" * before + LONG, bounds=Bounds(0, 0, 9, 9)))
    request = AttemptRequest(
        run_id="r",
        attempt=1,
        platform="android",
        steps=[{"appId": "a", "env": {}}, step],
        env={"PASSWORD": LONG, "N": str(before)},
        step_seconds=1,
    )
    result = await AttemptRunner(FakeDevices(FakeDevice(shown))).run(request)
    (recorded,) = result.steps
    assert "x" * min(before, 50) in recorded.message
    assert "Q" not in repr(result)


def json_of(text: str) -> str:
    return json.dumps(text)[1:-1]


def markdown(text: str) -> str:
    return "".join(f"\\{each}" if not each.isalnum() and each.isascii() and each != " " else each for each in text)


def references(text: str) -> str:
    return "".join(each if each.isalnum() and each.isascii() else f"&#{ord(each)};" for each in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "capitals": lambda text: text.upper() if len(text.upper()) == len(text) else text,
    "small letters": lambda text: text.lower() if len(text.lower()) == len(text) else text,
    "JSON in JSON": lambda text: json_of(json_of(text)),
    "JSON of Java": lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    "JSON for HTML": lambda text: json_of(text).translate({ord(each): f"\\u{ord(each):04X}" for each in "<>&'=+"}),
    "percent": lambda text: quote(text, safe=""),
    "percent twice": lambda text: quote(quote(text, safe=""), safe="").lower(),
    "form": quote_plus,
    "HTML twice": lambda text: escape(escape(text)),
    "references": references,
    "Markdown": markdown,
    "Python": repr,
    "other blanks": lambda text: text.replace(" ", "\xa0\n  "),
    "decomposed": lambda text: normalize("NFD", text),
    "Base64": lambda text: b64encode(text.encode()).decode(),
    "Base64 after other bytes": lambda text: b64encode(f"ada:{text}".encode()).decode(),
    "Base64 in a URL": lambda text: urlsafe_b64encode(f"é{text}é".encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex().upper(),
}


VALUES = (
    st.text("aB7 /\\\"'&<>=+_*%é😀ß-", max_size=20)
    .map(lambda text: " ".join(text.split()))
    .filter(lambda text: len(text) >= ANY_CASE_LENGTH)
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(value=VALUES)
@example(value="Pa/ss&wö'rd_1")
@example(value="correct horse battery")
@example(value="a\\b\\\\c\\/d")
@example(value="50%25&amp;x")
def test_a_secret_is_masked_however_it_is_encoded(encoding: str, value: str) -> None:
    spelled = ENCODINGS[encoding](value)
    texts = secrets(PASSWORD=value)
    masked = texts.mask(f"<{spelled}>")
    assert "${PASSWORD}" in masked
    assert value not in masked
    with splitting_no_secret(texts):
        assert texts.mask(cut(f"{'x' * 50}{spelled}", 50 + len(spelled) // 2)).startswith("x" * 40)


def test_secrets_that_overlap_are_masked_to_their_ends() -> None:
    assert secrets(TOKEN="abcdef", PIN="defghi").mask("<abcdefghi>") == "<${TOKEN}${PIN}>"
    assert secrets(TOKEN="abcabc").mask("<abcabcabcab>") == "<${TOKEN}ab>"
    assert secrets(TOKEN="hunter", PASSWORD="hunter2").mask("hunter2 hunter") == "${PASSWORD} ${TOKEN}"


def test_many_secrets_take_no_long_time_to_know() -> None:
    """Patterns are compiled when a text may have the secret, and those of an attempt are bounded."""
    texts = secrets(**{f"KEY_{number}": f"aa{'!@#$%^&*()_+ é' * 5}{number}" for number in range(100)})
    assert all(pattern._expression is None for pattern, _ in texts._patterns)
    assert sum(pattern.reach for pattern, _ in texts._patterns) < 2 * PATTERNS_REACH
    assert "${KEY_99}" in texts.mask(f"<{'!@#$%^&*()_+ é' * 5}99 aa{'!@#$%^&*()_+ é' * 5}99>")


def test_short_secrets_are_words_in_capitals() -> None:
    assert secrets(PIN="abc").mask("abc ABC") == "${PIN} ABC"


def test_a_secret_is_masked_as_sentences_compose_it() -> None:
    assert secrets(PASSWORD="cafe\u0301-key").mask("caf\u00e9-key") == "${PASSWORD}"


def test_a_secret_with_angle_brackets_is_masked_in_the_list_for_a_model() -> None:
    """They are escaped there, so that no text on the screen can end the list."""
    listed = element_list.list_elements(screen(label('typed a<b>"c'))).json
    assert "${PASSWORD}" in secrets(PASSWORD='a<b>"c').mask(listed)
