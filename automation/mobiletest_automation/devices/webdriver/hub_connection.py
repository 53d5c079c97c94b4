"""HTTP to a WebDriver hub: JSON, bounded in time and size; errors become failures of the device."""

import asyncio
import re
from collections.abc import Mapping
from typing import TypeAlias

import aiohttp
import orjson
from pydantic import JsonValue
from yarl import URL

from mobiletest_automation import logs
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.flows.texts import cut, well_formed
from mobiletest_automation.http_body import BodyTooLarge, read_body
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outside_texts import parse_json
from mobiletest_automation.web_addresses import PUBLIC_ONLY, AddressRefused

log = logs.get(__name__)

Json: TypeAlias = JsonValue

REPLY_LIMIT = 64 * 1024 * 1024
MESSAGE_LIMIT = 500
CONNECT_SECONDS = 10.0
OPEN_ALERT = "unexpected alert open"
# Less than the 5 s of Node.js, so that a connection is not reused while the hub closes it.
KEEP_ALIVE_SECONDS = 4.0

# Categories of the protocol's error codes; every other error is the driver's, and so the device's.
_CATEGORIES: Mapping[str, Category] = {
    "invalid session id": Category.SESSION_LOST,
    "session not created": Category.DEVICE_UNAVAILABLE,
    "no such element": Category.ELEMENT_NOT_FOUND,
    "stale element reference": Category.ELEMENT_NOT_FOUND,
    "no such window": Category.APP_CRASH,
    "timeout": Category.APP_NOT_RESPONDING,
    "script timeout": Category.APP_NOT_RESPONDING,
    "element not interactable": Category.SCRIPT_ERROR,
    "element click intercepted": Category.SCRIPT_ERROR,
    "invalid argument": Category.SCRIPT_ERROR,
    "invalid element state": Category.SCRIPT_ERROR,
    "move target out of bounds": Category.SCRIPT_ERROR,
    "no such context": Category.SCRIPT_ERROR,
    OPEN_ALERT: Category.SCRIPT_ERROR,
    "unknown command": Category.SCRIPT_ERROR,
    "unknown method": Category.SCRIPT_ERROR,
    "unsupported operation": Category.SCRIPT_ERROR,
}

_CRASHED = re.compile(r"tab crashed|page crash|has crashed|app.{0,40}not running", re.IGNORECASE | re.ASCII)
_SESSION_LOST = re.compile(
    r"chrome not reachable|not connected to devtools|target window already closed|instrumentation process"
    r"|socket hang up|could not proxy command|ECONNREFUSED|ECONNRESET"
    r"|session.{0,20}(terminated|not started|does not exist)",
    re.IGNORECASE | re.ASCII,
)
# What chromedriver says of an exception in a script, and of a page that has replaced what returns its value.
BROKEN_BY_PAGE = re.compile(
    r"javascript error|call function result|callFunctionOn threw|cannot deserialize the result value", re.ASCII
)

MASK = "(hub)"
_ADDRESS = re.compile(
    r"""(https?://)[^\s"'<>()]+|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])(?::\d{1,5})?|\[[0-9a-f:]+\](?::\d{1,5})?""",
    re.ASCII,
)


class DriverError(DeviceFailure):
    """The hub reported an error. `code` is the protocol's error code ("no such element")."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(
            category_of(code, message), message if message.startswith(code) else f"{code}: {message}".removesuffix(": ")
        )
        self.code = code


class HubUnreachable(DeviceFailure):
    """The hub cannot be reached, does not answer in time, or does not speak WebDriver."""

    def __init__(self, message: str) -> None:
        super().__init__(Category.NETWORK_ERROR, message)


def category_of(code: str, message: str) -> Category:
    """The category of a driver's error; drivers report crashed browsers and apps under several codes."""
    if _CRASHED.search(message):
        return Category.APP_CRASH
    if _SESSION_LOST.search(message):
        return Category.SESSION_LOST
    if BROKEN_BY_PAGE.search(f"{code}: {message}"):
        return Category.SCRIPT_ERROR
    return _CATEGORIES.get(code, Category.DEVICE_UNAVAILABLE)


class HubConnection:
    """Connections to one hub. Close it after use."""

    def __init__(self, url: str, *, reply_limit: int = REPLY_LIMIT) -> None:
        self._url = url.rstrip("/")
        self._reply_limit = reply_limit
        self._http = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS),
            connector=aiohttp.TCPConnector(limit=4, keepalive_timeout=KEEP_ALIVE_SECONDS),
            auto_decompress=True,
        )

    @property
    def display_url(self) -> str:
        """The URL without user and password, for logs: failures are shown to organisations."""
        return str(URL(self._url).with_user(None).with_password(None))

    async def call(self, method: str, path: str, body: Mapping[str, Json] | None = None, *, seconds: float) -> Json:
        """The `value` of the reply.

        Raises:
            DriverError: for a reported error.
            HubUnreachable: without a valid reply.
        """
        if self._http.closed:
            raise DeviceFailure(Category.SESSION_LOST, "the session is closed")
        try:
            async with asyncio.timeout(seconds):
                status, content = await self._send(method, path, body)
        except TimeoutError as error:
            raise HubUnreachable(
                f"the hub did not answer {method} {_path_without_ids(path)} within {seconds:g} s"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            reason = str(error) or type(error).__name__
            log.info("hub_unreachable", hub=self.display_url, error=cut(reason, MESSAGE_LIMIT))
            raise HubUnreachable(f"the hub cannot be reached ({type(error).__name__})") from error
        return self._value(status, content)

    async def close(self) -> None:
        await self._http.close()

    async def _send(self, method: str, path: str, body: Mapping[str, Json] | None) -> tuple[int, bytes]:
        sent = None if method == "GET" else orjson.dumps(body or {})
        headers = {"Content-Type": "application/json; charset=utf-8"} if sent is not None else {}
        url = URL(self._url + path, encoded=True)
        # A redirect would lead the worker to an address that no operator has configured.
        async with self._http.request(method, url, data=sent, headers=headers, allow_redirects=False) as reply:
            try:
                return reply.status, await read_body(reply, self._reply_limit)
            except BodyTooLarge as error:
                raise HubUnreachable(f"a reply of the hub is larger than {self._reply_limit} bytes") from error

    def _value(self, status: int, content: bytes) -> Json:
        try:
            reply = parse_json(content)
        except ValueError as error:
            start = self._without_addresses(cut(well_formed(content.decode(errors="replace")), 80))
            raise HubUnreachable(f"the hub answered {status} without JSON: {start!r}") from error
        if not isinstance(reply, dict) or "value" not in reply:
            raise HubUnreachable(f"the hub answered {status} without a value: not WebDriver")
        value: Json = reply["value"]
        if status >= 400:
            raise self._driver_error(value, status)
        return value

    def _driver_error(self, value: Json, status: int) -> DriverError:
        details = value if isinstance(value, dict) else {}
        code, message = details.get("error"), details.get("message")
        text = message.strip() if isinstance(message, str) else ""
        first = next(iter(text.splitlines()), "")
        shown = self._without_addresses(cut(text, min(len(first), MESSAGE_LIMIT)))
        return DriverError(code if isinstance(code, str) else f"status {status}", shown)

    def _without_addresses(self, text: str) -> str:
        """The driver's text, which tests' authors read, without the addresses of the hub and of private networks."""
        url, text = URL(self._url), _ADDRESS.sub(_mask_private, text)
        for named in filter(None, (url.authority, url.host)):
            text = re.sub(rf"(?<![\w.-])(?:https?://)?{re.escape(named)}(?![\w-])", MASK, text, flags=re.ASCII)
        return text


def _mask_private(match: re.Match[str]) -> str:
    try:
        PUBLIC_ONLY.check(match[0] if match[1] else f"http://{match[0]}")
    except AddressRefused:
        return MASK
    return match[0]


def _path_without_ids(path: str) -> str:
    """The path without the session's id."""
    return re.sub(r"/session/[^/]+", "", path) or "session"
