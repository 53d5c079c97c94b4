"""Asks an OpenAI-compatible endpoint for chat completions, with retries, deadlines and a budget."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from mobiletest_automation import logs, telemetry
from mobiletest_automation.flows.texts import cut, well_formed
from mobiletest_automation.http_body import BodyTooLarge, read_body
from mobiletest_automation.llm.budget import BudgetTracker, tokens_of
from mobiletest_automation.llm.chat_protocol import (
    ChatRequest,
    JsonObject,
    MalformedReply,
    Reply,
    parse_completion,
    read_message,
)
from mobiletest_automation.llm.settings import ModelEndpoint
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from mobiletest_automation.outside_texts import parse_json

log = logs.get(__name__)

# Requests per question when the endpoint is busy, fails or cannot be reached.
MAX_TRIES = 4
# Requests per question when the endpoint does not answer in time.
MAX_TRIES_AFTER_TIMEOUT = 2
# A longer Retry-After is treated as unavailable.
MAX_RETRY_AFTER_SECONDS = 30.0
REPLY_LIMIT = 2 * 1024 * 1024
# Characters of an endpoint's error that are shown, with the key masked.
ERROR_TEXT_LIMIT = 300
ANSWER_TOKENS = 1_000

_RETRYABLE_STATUSES = frozenset({408, 409, 425, 429})
# Parameters that some endpoints reject; they are omitted then.
_OPTIONAL_PARAMETERS = ("parallel_tool_calls", "tool_choice", "temperature", "max_tokens")


class _RetryableError(Exception):
    """Another try may succeed, after `after` seconds if the endpoint said so; at most `tries` in all."""

    def __init__(self, what: str, *, after: float | None = None, tries: int = MAX_TRIES) -> None:
        super().__init__(what)
        self.after = after
        self.tries = tries


class ChatClient:
    """Asks a model over HTTP.

    Raises:
        ModelFailed: the model cannot be asked; the message never shows the key.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        session: aiohttp.ClientSession,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoint = endpoint
        self._session = session
        self._pause = pause
        self._omitted: dict[str, frozenset[str]] = {}

    async def ask(self, request: ChatRequest, budget: BudgetTracker) -> Reply:
        """The reply, counted; transient errors are retried as long as the budget allows."""
        estimate = request.estimate_tokens()
        budget.check(estimate)
        async with budget.timed():
            tried = 0
            while True:
                tried += 1
                try:
                    await budget.start_call(estimate)
                    reply = await self._try_once(request, budget, estimate)
                except _RetryableError as error:
                    telemetry.model_calls.labels("tried_again").inc()
                    log.warning("model_asked_again", model=request.model, tried=tried, why=str(error))
                    await self._wait(error, tried)
                except ModelFailed:
                    telemetry.model_calls.labels("failed").inc()
                    raise
                else:
                    telemetry.model_calls.labels("answered").inc()
                    telemetry.model_tokens.inc(reply.tokens)
                    return reply

    async def _wait(self, error: _RetryableError, tried: int) -> None:
        if tried >= error.tries:
            raise self._unavailable(f"{error}, {tried} times")
        if error.after is not None and error.after > MAX_RETRY_AFTER_SECONDS:
            raise self._unavailable(f"{error}, and asks to retry only after {error.after:g} s")
        await self._pause(_backoff(tried) if error.after is None else error.after)

    async def _try_once(self, request: ChatRequest, budget: BudgetTracker, estimate: int) -> Reply:
        answer_tokens = max(1, min(ANSWER_TOKENS, budget.tokens_left - estimate))
        omitted = self._omitted.get(request.model, frozenset())
        status, headers, body = await self._post(request.body(omitted, answer_tokens))
        if status == 400 and (rejected := _rejected_parameter(body, omitted)):
            self._omitted[request.model] = omitted | {rejected}
            await budget.start_call(estimate)
            return await self._try_once(request, budget, estimate)
        if status != 200:
            self._raise_for_status(status, headers, body, request.model)
        try:
            completion = parse_completion(body)
            reported = tokens_of(completion.get("usage"))
            budget.add_tokens(reported)
            text, calls = read_message(completion)
        except MalformedReply as error:
            raise _RetryableError(f"its answer is not a chat completion: {error}") from error
        estimated = 0 if reported else estimate + len(body) // 4
        budget.add_tokens(estimated)
        return Reply(text, calls, reported + estimated)

    async def _post(self, content: JsonObject) -> tuple[int, Mapping[str, str], bytes]:
        key = self.endpoint.key.get_secret_value()
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        seconds = self.endpoint.timeout_seconds
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._session.post(
                self.endpoint.url, data=orjson.dumps(content), headers=headers, timeout=limit, allow_redirects=False
            ) as response:
                return response.status, response.headers, await read_body(response, REPLY_LIMIT)
        except TimeoutError as error:
            raise _RetryableError(f"it does not answer within {seconds:g} s", tries=MAX_TRIES_AFTER_TIMEOUT) from error
        except BodyTooLarge as error:
            raise self._unavailable(f"its answer is longer than {REPLY_LIMIT} bytes") from error
        except aiohttp.InvalidURL as error:
            raise self._misconfigured("MOBILETEST_LLM_BASE_URL is not a URL") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _RetryableError(f"it cannot be reached ({type(error).__name__})") from error

    def _raise_for_status(self, status: int, headers: Mapping[str, str], body: bytes, model: str) -> None:
        if status >= 500 or status in _RETRYABLE_STATUSES:
            raise _RetryableError(f"it answers {status}", after=_retry_after(headers))
        said = cut(self._masked(_error_text(body)), ERROR_TEXT_LIMIT)
        match status:
            case 401 | 403:
                raise self._misconfigured(f"{status}: check MOBILETEST_LLM_API_KEY. {said}")
            case 404:
                raise self._misconfigured(
                    f'404: check the name of the model "{model}" (llm_config, or MOBILETEST_LLM_PRIMARY_MODEL and its '
                    f"like) and MOBILETEST_LLM_BASE_URL. {said}"
                )
            case _ if 300 <= status < 400:
                raise self._misconfigured(f"{status}: MOBILETEST_LLM_BASE_URL redirects; set the final URL")
            case _:
                raise self._misconfigured(f'{status}, for the model "{model}". {said}')

    def _masked(self, text: str) -> str:
        key = self.endpoint.key.get_secret_value()
        return logs.redact_text(text.replace(key, "[hidden]") if key else text)

    def _unavailable(self, what: str) -> ModelFailed:
        return ModelFailed(Category.LLM_UNAVAILABLE, f"the model's endpoint is unavailable: {what}")

    def _misconfigured(self, what: str) -> ModelFailed:
        return ModelFailed(Category.CONFIG_INVALID, f"the model's endpoint refuses the request: {what}".strip())


def _backoff(tried: int) -> float:
    """Seconds to pause after so many tries: 0.4 after the first, doubling up to 30, with jitter of a quarter."""
    return min(30.0, 0.2 * 2.0 ** min(tried, 10)) * random.uniform(0.75, 1.25)  # noqa: S311 (jitter)


@asynccontextmanager
async def open_client(endpoint: ModelEndpoint) -> AsyncIterator[ChatClient]:
    """A client with its own connections, which are closed at the end."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield ChatClient(endpoint, session)


def _rejected_parameter(body: bytes, omitted: frozenset[str]) -> str | None:
    """The optional parameter that the endpoint's error names, if it does."""
    said = _error_text(body)
    return next((name for name in _OPTIONAL_PARAMETERS if name not in omitted and name in said), None)


def _error_text(body: bytes) -> str:
    """The message in the body of an error."""
    try:
        read: Any = parse_json(body)
        error = read.get("error", read) if isinstance(read, dict) else read
        said = error.get("message", error) if isinstance(error, dict) else error
    except ValueError:
        said = well_formed(body.decode(errors="replace"))
    return " ".join(str(said).split())


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, from a number or a date; None if there is none."""
    written = headers.get("Retry-After", "")
    digits = written.strip().replace(".", "", 1)
    if digits.isascii() and digits.isdecimal():
        return float(written)
    try:
        return max(0.0, (parsedate_to_datetime(written) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
