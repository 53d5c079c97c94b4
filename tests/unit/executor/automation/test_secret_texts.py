"""What is masked in an attempt, and what a model may type although it is not shown it."""

import json
from typing import Any

import pytest

from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.secret_texts import SecretTexts
from services.executor.model.attempts import AttemptResult
from tests.fakes.devices import FakeEvidence

CANARY = 'k4n"a&r<y'


def secrets(**variables: str) -> SecretTexts:
    found = SecretTexts()
    found.add_variables(variables)
    return found


@pytest.mark.parametrize(
    "name",
    ["PASSWORD", "userPassword", "passwd", "API_KEY", "apiKey", "TOKEN", "github_token", "PIN", "user_pin", "otp_1"],
)
def test_the_value_of_a_secret_variable_is_shown_as_its_template(name: str) -> None:
    assert secrets(**{name: "s3cret"}).mask("typed s3cret") == f"typed ${{{name}}}"


@pytest.mark.parametrize("name", ["USER", "EMAIL", "PINBALL", "KEYBOARD", "shopping"])
def test_other_variables_are_shown(name: str) -> None:
    assert secrets(**{name: "s3cret"}).mask("typed s3cret") == "typed s3cret"


def test_texts_are_masked_in_every_spelling() -> None:
    mask = secrets(PASSWORD=CANARY).mask
    for spelled in (CANARY, json.dumps(CANARY), "k4n&quot;a&amp;r&lt;y", 'k4n"a&amp;r&lt;y', "k4n%22a%26r%3Cy"):
        assert "${PASSWORD}" in mask(f"<{spelled}>")


def test_the_longest_secret_is_masked_first() -> None:
    found = secrets(PIN="1234", TOKEN="123456")
    assert found.mask("123456 1234") == "${TOKEN} ${PIN}"


def test_texts_of_two_characters_are_too_common_to_be_masked() -> None:
    assert secrets(PIN="12").mask("12 items") == "12 items"


def test_what_a_model_was_shown_masked_can_be_put_back() -> None:
    found = secrets(PASSWORD=CANARY)
    found.add_typed("hunter2")
    shown = found.mask_json({"messages": [{"content": f"Type {CANARY} and hunter2", "n": 1}]})
    assert CANARY not in str(shown)
    assert found.reveal_json(shown) == {"messages": [{"content": f"Type {CANARY} and hunter2", "n": 1}]}


def test_what_is_stored_for_later_attempts_has_only_the_templates_of_variables() -> None:
    found = secrets(PASSWORD="s3cret")
    found.add_typed("hunter2")
    assert found.as_template('Type "s3cret" and "hunter2"') == 'Type "${PASSWORD}" and "hunter2"'


def test_values_of_one_name_and_names_of_one_value_are_put_back_as_they_were() -> None:
    found = secrets(PASSWORD="first-pw", CONFIRM_PASSWORD="first-pw")
    found.add_variables({"PASSWORD": "second-pw"})
    for text in ("type first-pw", "type second-pw"):
        assert found.reveal_json(found.mask(text)) == text
    assert found.mask("second-pw") == "${PASSWORD 2}"


def test_a_stored_template_is_filled_with_the_present_values() -> None:
    found = secrets(PASSWORD="first-pw")
    stored = found.as_template('Type "first-pw"')
    found.add_variables({"PASSWORD": "second-pw"})
    assert (stored, found.fill_template(stored)) == ('Type "${PASSWORD}"', 'Type "second-pw"')


async def attempt(platform: str, *steps: Any) -> tuple[AttemptResult, str]:
    """The result of an attempt on the built-in app, and everything that left it."""
    evidence, reports = FakeEvidence(), []

    async def progress(*report: Any) -> None:
        reports.append(repr(report))

    request = AttemptRequest(run_id="r", attempt=1, platform=platform, steps=list(steps))
    runner = AttemptRunner(PooledDevices.load(None))
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
    assert result.failure is not None
    assert "${API_TOKEN}" in result.failure.message


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
