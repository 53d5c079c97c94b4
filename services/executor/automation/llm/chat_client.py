"""Asks an OpenAI-compatible endpoint for chat completions, patiently and within bounds."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from services.chassis import logs
from services.chassis.retry import backoff_seconds
from services.executor import telemetry
from services.executor.automation.llm.budget import BudgetTracker, tokens_of
from services.executor.automation.llm.endpoint import ModelEndpoint
from services.executor.automation.llm.tool_protocol import JsonObject, MalformedReply, Reply, read_body, read_message
from services.executor.automation.ports import ModelFailed
from services.executor.model.failures import Category

log = logs.get(__name__)

MAX_TRIES = 4
"""How often a question is asked when the endpoint is busy, in trouble or away."""
MAX_TRIES_AFTER_TIMEOUT = 2
"""How often when it does not answer in time."""
MAX_RETRY_AFTER_SECONDS = 30.0
"""Who asks us to wait longer is not waited for."""
REPLY_LIMIT = 2 * 1024 * 1024
ERROR_TEXT_LIMIT = 300
"""So much of what an endpoint says of an error is told, once the key is masked in it."""
ANSWER_TOKENS = 1_000
PICTURE_TOKENS = 1_500
"""What a picture is taken to cost where the endpoint does not say."""

_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
_OPTIONAL_PARAMETERS = ("parallel_tool_calls", "tool_choice", "temperature", "max_tokens")
"""What some endpoints do not know, and what can be left out then."""

Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked: messages and tools in the form of the protocol; it has to call one of the tools."""

    model: str
    messages: Sequence[JsonObject]
    tools: Sequence[JsonObject]

    def body(self, spared: frozenset[str], answer_tokens: int) -> JsonObject:
        asked: JsonObject = {
            "model": self.model,
            "messages": list(self.messages),
            "tools": list(self.tools),
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "temperature": 0,
            "max_tokens": answer_tokens,
        }
        kept = {name: value for name, value in asked.items() if name not in spared}
        return {**kept, "max_completion_tokens": answer_tokens} if "max_tokens" in spared else kept

    def estimate(self) -> int:
        """About how many tokens it has: a quarter of its characters, and what pictures cost."""
        text, pictures = _size_of([*self.messages, *self.tools])
        return text // 4 + pictures * PICTURE_TOKENS


class _RetryableError(Exception):
    """It may answer if it is asked again, after so many seconds if it said so. Not more often than `tries`."""

    def __init__(self, what: str, *, after: float | None = None, tries: int = MAX_TRIES) -> None:
        super().__init__(what)
        self.after = after
        self.tries = tries


class ChatClient:
    """Raises ModelFailed; its messages never show the key."""

    def __init__(
        self, endpoint: ModelEndpoint, session: aiohttp.ClientSession, *, pause: Pause = asyncio.sleep
    ) -> None:
        self.endpoint = endpoint
        self._session = session
        self._pause = pause
        self._spared: dict[str, frozenset[str]] = {}

    async def ask(self, question: ChatRequest, spending: BudgetTracker) -> Reply:
        """The reply, counted; asked again while the endpoint is busy, as long as the budget allows."""
        estimate = question.estimate()
        spending.check(estimate)
        async with spending.timed():
            tried = 0
            while True:
                tried += 1
                spending.count_call()
                try:
                    reply = await self._once(question, spending, estimate)
                except _RetryableError as again:
                    telemetry.model_calls.labels("tried_again").inc()
                    log.warning("model_asked_again", model=question.model, tried=tried, why=str(again))
                    await self._wait(again, tried)
                except ModelFailed:
                    telemetry.model_calls.labels("failed").inc()
                    raise
                else:
                    telemetry.model_calls.labels("answered").inc()
                    telemetry.model_tokens.inc(reply.tokens)
                    return reply

    async def _wait(self, again: _RetryableError, tried: int) -> None:
        if tried >= again.tries:
            raise self._unavailable(f"{again}, {tried} times")
        if again.after is not None and again.after > MAX_RETRY_AFTER_SECONDS:
            raise self._unavailable(f"{again}, and asks to be left alone for {again.after:g} s")
        await self._pause(backoff_seconds(tried + 2) if again.after is None else again.after)

    async def _once(self, question: ChatRequest, spending: BudgetTracker, estimate: int) -> Reply:
        answer_tokens = max(1, min(ANSWER_TOKENS, spending.tokens_left - estimate))
        spared = self._spared.get(question.model, frozenset())
        status, headers, body = await self._post(question.body(spared, answer_tokens))
        if status == 400 and (unknown := _rejected_parameter(body, spared)):
            self._spared[question.model] = spared | {unknown}
            spending.count_call()
            return await self._once(question, spending, estimate)
        if status != 200:
            self._refused(status, headers, body, question.model)
        try:
            completion = read_body(body)
            told = tokens_of(completion.get("usage"), 0)
            spending.add_tokens(told)
            text, calls = read_message(completion)
        except MalformedReply as error:
            raise _RetryableError(f"it answers with what is no chat completion: {error}") from error
        guessed = 0 if told else estimate + len(body) // 4
        spending.add_tokens(guessed)
        return Reply(text, calls, told + guessed)

    async def _post(self, asked: JsonObject) -> tuple[int, Mapping[str, str], bytes]:
        key = self.endpoint.key.get_secret_value()
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        seconds = self.endpoint.timeout_seconds
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._session.post(
                self.endpoint.url, data=orjson.dumps(asked), headers=headers, timeout=limit, allow_redirects=False
            ) as response:
                return response.status, response.headers, await self._read(response)
        except TimeoutError as error:
            raise _RetryableError(f"it does not answer within {seconds:g} s", tries=MAX_TRIES_AFTER_TIMEOUT) from error
        except aiohttp.InvalidURL as error:
            raise self._misconfigured("MOBILETEST_LLM_BASE_URL is no address") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _RetryableError(f"it cannot be reached ({type(error).__name__})") from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for part in response.content.iter_any():
            body += part
            if len(body) > REPLY_LIMIT:
                raise self._unavailable(f"its answer is longer than {REPLY_LIMIT} bytes")
        return bytes(body)

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes, model: str) -> None:
        if status >= 500 or status in _RETRYABLE_STATUSES:
            raise _RetryableError(f"it answers {status}", after=_retry_after(headers))
        said = self._masked(_error_text(body))[:ERROR_TEXT_LIMIT]
        match status:
            case 401 | 403:
                raise self._misconfigured(f"{status}: check MOBILETEST_LLM_API_KEY. {said}")
            case 404:
                raise self._misconfigured(
                    f'404: check the name of the model "{model}" (llm_config, or MOBILETEST_LLM_PRIMARY_MODEL and its '
                    f"like) and the address in MOBILETEST_LLM_BASE_URL. {said}"
                )
            case _ if 300 <= status < 400:
                raise self._misconfigured(f"{status}: MOBILETEST_LLM_BASE_URL leads elsewhere; set the final address")
            case _:
                raise self._misconfigured(f'{status}, for the model "{model}". {said}')

    def _masked(self, text: str) -> str:
        key = self.endpoint.key.get_secret_value()
        return logs.redact_text(text.replace(key, "[hidden]") if key else text)

    def _unavailable(self, what: str) -> ModelFailed:
        return ModelFailed(Category.LLM_UNAVAILABLE, f"the model's endpoint is no help: {what}")

    def _misconfigured(self, what: str) -> ModelFailed:
        return ModelFailed(Category.CONFIG_INVALID, f"the model's endpoint refuses the question with {what}".strip())


@asynccontextmanager
async def open_client(endpoint: ModelEndpoint) -> AsyncIterator[ChatClient]:
    """A client with connections of its own, closed at the end."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield ChatClient(endpoint, session)


def _size_of(value: object) -> tuple[int, int]:
    """Characters and pictures in it."""
    match value:
        case str():
            return (0, 1) if value.startswith("data:image/") else (len(value), 0)
        case dict():
            parts = [_size_of(part) for part in value.values()]
        case list():
            parts = [_size_of(part) for part in value]
        case _:
            return 4, 0
    return sum(text for text, _ in parts) + 4 * len(parts), sum(pictures for _, pictures in parts)


def _rejected_parameter(body: bytes, spared: frozenset[str]) -> str | None:
    """The parameter of ours that the endpoint does not take, if that is what it says."""
    said = _error_text(body)
    return next((name for name in _OPTIONAL_PARAMETERS if name not in spared and name in said), None)


def _error_text(body: bytes) -> str:
    """What an error's body tells a person."""
    try:
        read: Any = orjson.loads(body)
        error = read.get("error", read) if isinstance(read, dict) else read
        said = error.get("message", error) if isinstance(error, dict) else error
    except orjson.JSONDecodeError:
        said = body.decode(errors="replace")
    return " ".join(str(said).split())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """In seconds, from seconds or a date."""
    written = headers.get("Retry-After", "")
    if written.strip().replace(".", "", 1).isdecimal():
        return float(written)
    try:
        return max(0.0, (parsedate_to_datetime(written) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
