"""The chat client: requests, retries, permanent errors, and the budget."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from mobiletest_automation.llm.budget import BudgetTracker, ModelBudget
from mobiletest_automation.llm.chat_client import (
    MAX_RETRY_AFTER_SECONDS,
    MAX_TRIES,
    REPLY_LIMIT,
    ChatClient,
    ModelEndpoint,
)
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.worker.model_quota import DailyModelQuota
from tests.fakes.llm import USAGE, Reaction, answers, body, call, floods, never, refuses, resets, says
from tests.fakes.model_usage import FakeModelUsage, FixedLimits
from tests.integration.executor.llm.conftest import KEY, World

TOOL = {"type": "function", "function": {"name": "done", "parameters": {"type": "object"}}}
QUESTION = ChatRequest(model="main", messages=[{"role": "user", "content": "hello " * 100}], tools=[TOOL])


async def ask(client: ChatClient, spending: BudgetTracker | None = None) -> Reply:
    return await client.ask(QUESTION, spending or BudgetTracker(ModelBudget()))


async def failed(client: ChatClient, spending: BudgetTracker | None = None) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        await ask(client, spending)
    assert KEY not in caught.value.message
    return caught.value


async def test_requests_follow_the_protocol(world: World) -> None:
    world.endpoint.add(call("done", why="x"))
    reply = await ask(await world.client())
    [asked] = world.endpoint.asked
    assert {name: asked[name] for name in ("model", "temperature", "tool_choice")} == {
        "model": "main",
        "temperature": 0,
        "tool_choice": "required",
    }
    assert (asked["tools"], asked["max_tokens"] > 0, world.endpoint.keys) == ([TOOL], True, [f"Bearer {KEY}"])
    assert (reply.calls[0].name, json.loads(reply.calls[0].arguments), reply.tokens) == ("done", {"why": "x"}, 110)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://models:8000", "http://models:8000/v1/chat/completions"),
        ("http://models:8000/", "http://models:8000/v1/chat/completions"),
        ("https://models/openai/v1/", "https://models/openai/v1/chat/completions"),
    ],
)
def test_usual_base_urls_are_accepted(base: str, url: str) -> None:
    assert ModelEndpoint(base_url=base).url == url


@pytest.mark.parametrize(
    "trouble",
    [refuses(429), refuses(500), refuses(503), resets(), body(b"<html>"), body(b'{"choices": []}'), body(b"[1]")],
)
async def test_transient_errors_are_retried(world: World, trouble: Reaction) -> None:
    world.endpoint.add(trouble, trouble, call("done"))
    spending = BudgetTracker(ModelBudget())
    assert (await ask(await world.client(), spending)).calls[0].name == "done"
    assert (len(world.paused), spending.spent.calls, spending.spent.tokens) == (2, 3, 110)


@pytest.mark.parametrize("trouble", [refuses(429), refuses(500), resets(), body(b"<html>")])
async def test_retries_end_after_the_last_try(world: World, trouble: Reaction) -> None:
    world.endpoint.add(*[trouble] * 10)
    error = await failed(await world.client())
    assert (error.category, len(world.endpoint.asked)) == (Category.LLM_UNAVAILABLE, MAX_TRIES)


async def test_retry_after_is_honoured(world: World) -> None:
    dated = "Wed, 21 Oct 2015 07:28:00 GMT"
    world.endpoint.add(refuses(429, Retry_After="7"), refuses(503, Retry_After=dated), call("done"))
    await ask(await world.client())
    assert world.paused == [7.0, 0.0]
    world.endpoint.add(refuses(429, Retry_After=str(MAX_RETRY_AFTER_SECONDS + 1)))
    error = await failed(await world.client())
    assert (error.category, len(world.paused)) == (Category.LLM_UNAVAILABLE, 2)


async def test_an_unreachable_endpoint_is_unavailable(world: World) -> None:
    error = await failed(await world.client(base_url="http://127.0.0.1:1/v1"))
    assert (error.category, len(world.paused)) == (Category.LLM_UNAVAILABLE, MAX_TRIES - 1)


async def test_timeouts_are_retried_once(world: World) -> None:
    world.endpoint.add(never(), never(), call("done"))
    world.timeout = 0.1
    error = await failed(await world.client())
    assert (error.category, "within 0.1 s" in error.message) == (Category.LLM_UNAVAILABLE, True)


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "MOBILETEST_LLM_API_KEY"),
        (403, "MOBILETEST_LLM_API_KEY"),
        (404, "MOBILETEST_LLM_BASE_URL"),
        (400, "the model's words"),
        (422, '"main"'),
        (307, "MOBILETEST_LLM_BASE_URL"),
    ],
)
async def test_permanent_errors_say_what_to_check_and_are_not_retried(world: World, status: int, hint: str) -> None:
    world.endpoint.add(refuses(status, f"the model's words, and {KEY} and Bearer abc", Location="http://elsewhere/"))
    error = await failed(await world.client())
    assert (error.category, len(world.endpoint.asked)) == (Category.CONFIG_INVALID, 1)
    assert hint in error.message
    assert "abc" not in error.message


async def test_rejected_parameters_are_omitted(world: World) -> None:
    for name in ("parallel_tool_calls", "max_tokens", "temperature"):
        world.endpoint.add(refuses(400, f"Unsupported parameter: '{name}'"))
    world.endpoint.add(call("done"), call("done"))
    client = await world.client()
    await ask(client)
    await ask(client)
    for asked in world.endpoint.asked[-2:]:
        assert not {"parallel_tool_calls", "max_tokens", "temperature"} & asked.keys()
        assert asked["max_completion_tokens"] > 0
    assert len(world.endpoint.asked) == 5


async def test_an_endless_reply_is_an_error(world: World) -> None:
    world.endpoint.add(floods(REPLY_LIMIT + 1))
    error = await failed(await world.client())
    assert (error.category, "longer than" in error.message) == (Category.LLM_UNAVAILABLE, True)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "many",
        {"prompt_tokens": -5, "completion_tokens": 1},
        {"prompt_tokens": "1", "completion_tokens": 2},
        {"prompt_tokens": 10**12, "completion_tokens": 0},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": True, "completion_tokens": False},
        {"total_tokens": 3},
    ],
)
async def test_implausible_usage_is_replaced_by_an_estimate(world: World, usage: object) -> None:
    world.endpoint.add(answers(call("done"), usage))
    assert 150 <= (await ask(await world.client())).tokens <= 600


async def test_the_token_budget_is_checked_before_a_request(world: World) -> None:
    world.endpoint.add(*[call("done")] * 10)
    spending = BudgetTracker(ModelBudget(tokens=380))
    client = await world.client()
    await ask(client, spending)
    await ask(client, spending)
    error = await failed(client, spending)
    assert (error.category, len(world.endpoint.asked)) == (Category.LLM_BUDGET_EXCEEDED, 2)
    assert world.endpoint.asked[1]["max_tokens"] < world.endpoint.asked[0]["max_tokens"]
    assert USAGE["total_tokens"] * 2 == spending.spent.tokens


async def test_the_quota_of_an_organisation_covers_all_its_attempts(world: World) -> None:
    """A call that fails counts too; other organisations have their own."""
    world.endpoint.add(refuses(500), *[call("done")] * 3)
    limits = FixedLimits(OrganisationLimits(model_calls_per_day=3))
    quota, client = DailyModelQuota(FakeModelUsage(), limits), await world.client()
    for _ in range(2):
        await ask(client, BudgetTracker(ModelBudget(), quota, "org"))
    error = await failed(client, BudgetTracker(ModelBudget(), quota, "org"))
    assert (error.category, "model_calls_per_day (3)" in error.message) == (Category.LLM_BUDGET_EXCEEDED, True)
    assert len(world.endpoint.asked) == 3
    await ask(client, BudgetTracker(ModelBudget(), quota, "another"))


async def test_the_time_budget_covers_all_calls(world: World) -> None:
    world.endpoint.add(never())
    error = await failed(await world.client(), BudgetTracker(ModelBudget(seconds=0.1)))
    assert (error.category, "MOBILETEST_LLM_SECONDS_LIMIT" in error.message) == (Category.LLM_BUDGET_EXCEEDED, True)


@pytest.mark.parametrize(
    "message",
    [
        says("I would tap it"),
        {"role": "assistant", "tool_calls": [None, {"function": None}, {"id": 3, "function": {"name": 7}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "done", "arguments": {"why": "an object"}}}]},
        {"role": "assistant", "tool_calls": "no list"},
    ],
)
async def test_malformed_calls_are_read(world: World, message: Any) -> None:
    world.endpoint.add(message)
    reply = await ask(await world.client())
    assert all(isinstance(each.name, str) and isinstance(each.arguments, str) for each in reply.calls)


def test_the_key_is_not_in_the_repr() -> None:
    assert KEY not in repr(ModelEndpoint(base_url="http://x", key=SecretStr(KEY)))


async def test_a_truncated_error_does_not_leak_part_of_the_key(world: World) -> None:
    world.endpoint.add(refuses(401, "x" * 290 + " " + KEY))
    assert KEY[:6] not in (await failed(await world.client())).message


async def test_malformed_replies_count_against_the_budget(world: World) -> None:
    spending = BudgetTracker(ModelBudget())
    world.endpoint.add(body(json.dumps({"choices": [], "usage": USAGE}).encode()), call("done"))
    await ask(await world.client(), spending)
    assert (spending.spent.calls, spending.spent.tokens) == (2, 220)
