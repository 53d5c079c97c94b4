"""Whatever texts tests, apps, scripts, models and people give to an attempt, it ends in a verdict."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.flows.texts import well_formed_json
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.chat_protocol import parse_completion, read_message
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.model.failures import Category, Fault
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from mobiletest_automation.scripting.http import HttpRequest, HttpResponse
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.worker.processes.messages import FinishAttempt, decode, encode
from tests.examples import examples
from tests.fakes.llm import call, completion
from tests.fakes.models import ScriptedModel
from tests.fakes.people import FakeHuman
from tests.unit.automation.attempts import failure_of

NASTY = (
    "\ud83d",
    "\ude00\ud83d",
    "\0",
    "a\0b",
    "\ufffe\uffff",
    "\x1b]52;c;x\x07",
    "\u202e",
    "'\"\\</",
    "${",
    "😀" * 300,
)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=30) | st.sampled_from(NASTY)
NEVER = RunConfig(fallback_trigger=FallbackTrigger.NEVER)


async def run(*steps: object, model: Any = None, human: Any = None, http: Any = None, **fields: Any) -> AttemptResult:
    request = AttemptRequest(
        **{"run_id": "r", "attempt": 1, "platform": "android", "config": NEVER, "step_seconds": 1, **fields},
        steps=[{"appId": "com.example.demo"}, "launchApp", *steps],
    )
    return await AttemptRunner(PooledDevices(DEFAULT_POOLS), model=model, http=http).run(request, human=human)


def script(source: str) -> dict[str, object]:
    return {"runScript": {"file": "a.js", "script": source}}


async def step(text: str) -> AttemptResult:
    return await run({"tapOn": "Email"}, {"inputText": text}, {"assertVisible": {"text": text or "x"}})


async def variable(text: str) -> AttemptResult:
    return await run({"tapOn": "Email"}, {"inputText": "${NAME}"}, env={"NAME": text, "PASSWORD": f"{text}-secret"})


async def value(text: str) -> AttemptResult:
    return await run(script(f"output.x = {json.dumps(text)}"), {"tapOn": "Email"}, {"inputText": "${output.x}"})


async def error(text: str) -> AttemptResult:
    return await run(script(f"throw new Error({json.dumps(text)})"))


async def name(text: str) -> AttemptResult:
    return await run(script(f"const e = new Error('x'); e.name = {json.dumps(text)}; throw e"))


async def stack(text: str) -> AttemptResult:
    return await run(script(f"const e = new Error('x'); e.stack = {json.dumps(text)}; throw e"))


async def thrown(text: str) -> AttemptResult:
    return await run(script(f"throw {{a: {json.dumps(text)}}}"))


async def log(text: str) -> AttemptResult:
    return await run(script(f"console.log({json.dumps(text)}, {{a: {json.dumps(text)}}})"))


async def unknown_name(text: str) -> AttemptResult:
    return await run({"assertVisible": f"${{globalThis[{json.dumps(text)}]}}"})


async def fake_value(text: str) -> AttemptResult:
    return await run(script(f"faker.expression({json.dumps(text)}); faker.regexify({json.dumps(text)})"))


async def request(text: str) -> AttemptResult:
    async def answer(asked: HttpRequest) -> HttpResponse:
        assert asked.body is not None
        asked.body.encode()
        return HttpResponse(status=200, body=text, headers={"x": text})

    source = f"const a = http.post('http://a.b', {{body: {json.dumps(text)}, headers: {{x: {json.dumps(text)}}}}});"
    return await run(script(f"{source} console.log(a.body, a.headers.x)"), http=answer)


async def app(text: str) -> AttemptResult:
    shown = json.dumps(text.replace("{", "{{").replace("}", "}}"))
    elements = f"[{{type: button, text: {shown}}}]"
    model = f"app_model: 1\napp: {{id: com.example.demo}}\nstart: s\nscreens: {{s: {{elements: {elements}}}}}"

    async def read(limit: int) -> bytes:
        return model.encode()[:limit]

    return await run({"takeScreenshot": "a"}, {"assertVisible": "never"}, build=AppUnderTest(read=read))


def of_model(name: str, **arguments: object) -> ScriptedModel:
    """It answers as an endpoint does, whose JSON is read."""
    body = json.dumps(completion(call(name, **arguments))).encode()
    _, calls = read_message(parse_completion(body))
    return ScriptedModel(*[(each.name, each.arguments) for each in calls] * 3)


async def model_reason(text: str) -> AttemptResult:
    models = LanguageModels(of_model("cannot", why=text), ModelBudget())
    return await run("Carefully do it", model=models, config=RunConfig())


async def model_text(text: str) -> AttemptResult:
    models = LanguageModels(of_model("found", text=text or "x"), ModelBudget())
    extract = {"extractTextWithAI": {"query": "the price", "outputVariable": "price"}}
    return await run(extract, {"tapOn": "Email"}, {"inputText": "${price}"}, model=models, config=RunConfig())


async def human_answer(text: str) -> AttemptResult:
    return await run({"tapOn": "Nothing"}, human=FakeHuman(text, "fail"))


ENTRANCES: tuple[Callable[[str], Awaitable[AttemptResult]], ...] = (
    *(step, variable, value, error, name, stack, thrown, log, unknown_name, fake_value, request, app),
    *(model_reason, model_text, human_answer),
)
_RESULT = TypeAdapter(AttemptResult)


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__name__)
@settings(max_examples=examples(50))
@given(text=TEXTS)
@example(text="\ud83d")
@example(text="a\0b")
def test_any_text_ends_in_a_verdict(entrance: Callable[[str], Awaitable[AttemptResult]], text: str) -> None:
    result = asyncio.run(entrance(text))
    if result.failure is not None:
        assert result.failure.category.fault is Fault.TEST or result.failure.category is Category.ARTIFACT_INVALID
    stored = json.loads(_RESULT.dump_json(result))
    assert stored == well_formed_json(stored)


STACKS = {
    "object": "e.stack = {}",
    "null": "e.stack = null",
    "symbol": "e.stack = Symbol('x')",
    "throws": "Object.defineProperty(e, 'stack', {get() { throw 1 }})",
    "throws as text": "e.stack = {toString() { throw 1 }}",
    "huge": "e.stack = 'x'.repeat(3e6)",
    "digits": "e.stack = '<input>:' + '9'.repeat(5000) + ':1'",
    "other digits": "e.stack = '<input>:\u0663:\u0663'",
    "prepared": "Error.prepareStackTrace = () => ({}); e.stack",
}


@pytest.mark.parametrize("forged", STACKS.values(), ids=STACKS)
async def test_a_forged_stack_costs_no_verdict_and_no_message(forged: str) -> None:
    failure = failure_of(await run(script(f"const e = new Error('it is late'); {forged}; throw e")))
    assert failure.category is Category.SCRIPT_ERROR
    assert failure.message.endswith("it is late")
    assert len(failure.message) < 200


async def test_a_loop_with_a_stack_that_is_not_a_text_is_ended() -> None:
    failure = failure_of(await run(script("Error.prepareStackTrace = () => ({}); for (;;) {}")))
    assert "computes too long" in failure.message


def test_a_malformed_text_in_a_result_does_not_lose_the_verdict() -> None:
    finished = FinishAttempt(result=AttemptResult(device="a\ud83d"))
    read = decode(encode(finished)).parse(FinishAttempt)
    assert read.result == AttemptResult(device="a\ufffd")
