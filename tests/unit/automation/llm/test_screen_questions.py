"""What a model is sent with a question about the screen, and which answers are taken."""

from base64 import b64decode
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from mobiletest_automation.devices.simulated.renderer import draw_screen
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.model_ports import Judgement, ModelFailed, ModelOptions, ModelSession, ScreenView
from mobiletest_automation.screen.elements import Bounds
from mobiletest_automation.secret_texts import SecretTexts
from tests.fakes.devices import button, screen
from tests.fakes.models import ScriptedModel

TREE = screen(button("Pay lovelace", bounds=Bounds(10, 10, 100, 40)))
VIEW = ScreenView(TREE, draw_screen(TREE))


def session(model: ScriptedModel, **variables: str) -> ModelSession:
    secrets = SecretTexts()
    secrets.add_variables({"PASSWORD": "lovelace", **variables})
    options = ModelOptions(config=LlmConfig(), app_prompt="A shop.", vision=False, grid=True, secrets=secrets)
    return LanguageModels(model, ModelBudget()).open_session(options)


async def test_the_model_sees_the_screen_as_a_picture_and_as_a_list_without_secrets() -> None:
    model = ScriptedModel(("verdict", '{"outcome": "true", "why": "it is there"}'))
    assert await session(model).check_assertion("It can be paid", VIEW) == Judgement(True, "it is there")
    (request,) = model.asked
    text = str(request.messages)
    assert "data:image/png;base64," in text
    assert ("Pay ${PASSWORD}" in text, "lovelace" in text) == (True, False)
    assert ("It can be paid" in text, "A shop." in text, request.model) == (True, True, "sees")


@pytest.mark.parametrize("value", ["user", "text", "image", "iVBOR", "AAA"])
async def test_a_secret_breaks_no_request(value: str) -> None:
    """Roles and kinds of messages, and pictures in Base64, have short texts of every kind."""
    model = ScriptedModel(("verdict", '{"outcome": "true", "why": "it is there"}'))
    await session(model, PIN=value).check_assertion(f"{value} is there", VIEW)
    (request,) = model.asked
    shown = [part for each in request.messages if isinstance(each["content"], list) for part in each["content"]]
    assert {each["role"] for each in request.messages} == {"system", "user", "assistant"}
    assert {part["type"] for part in shown} == {"text", "image_url"}
    (url,) = [part["image_url"]["url"] for part in shown if part["type"] == "image_url"]
    Image.open(BytesIO(b64decode(url.removeprefix("data:image/png;base64,"), validate=True))).load()
    assert "${PIN} is there" in str(request.messages)


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        ([("report", '{"defects": []}')], []),
        ([("report", '{"defects": [" The title is cut off "]}')], ["The title is cut off"]),
        ([("report", '{"defects": [""]}'), ("report", '{"defects": "none"}'), ("report", '{"defects": []}')], []),
        ([("found", '{"text": "$12"}')], "$12"),
        ([("not_found", "{}")], None),
        ([("found", '{"text": ""}'), ("found", '{"text": "${PASSWORD}"}')], "lovelace"),
    ],
)
async def test_defects_are_sentences_and_a_text_is_found_or_not(calls: list[tuple[str, str]], answer: Any) -> None:
    asked = session(ScriptedModel(*calls))
    about_defects = calls[0][0] == "report"
    assert await (asked.find_defects(VIEW) if about_defects else asked.extract_text("the price", VIEW)) == answer


async def test_an_unclear_verdict_is_none() -> None:
    model = ScriptedModel(*[("verdict", '{"outcome": "maybe", "why": "unclear"}')] * 3)
    with pytest.raises(ModelFailed) as failed:
        await session(model).check_assertion("It is free", VIEW)
    assert failed.value.category is Category.GOAL_NOT_REACHED


async def test_a_screen_without_a_picture_is_not_judged() -> None:
    with pytest.raises(ModelFailed, match="cannot see the screen"):
        await session(ScriptedModel()).find_defects(ScreenView(TREE, b""))
