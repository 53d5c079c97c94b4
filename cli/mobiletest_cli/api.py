"""Calls of the REST API: authentication, retries, pages, and errors that say what to do."""

from __future__ import annotations

import copy
import random
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import httpx

from mobiletest_cli import __version__
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import (
    AUTHENTICATION,
    INVALID_FILE,
    NOT_FOUND,
    RATE_LIMITED,
    UNREACHABLE,
    USAGE,
    CliError,
    RequestRefused,
    is_transient,
)
from mobiletest_cli.names import check_path, is_id

CONNECT_SECONDS = 10.0
# Longer than the server holds a request that waits for a change (60 s).
READ_SECONDS = 90.0
DOCTOR = "Check address, network, proxy and TLS with: mobiletest doctor"
NO_TLS = "The server answers without TLS: give its address with http:// instead of https://"
CERTIFICATES = "If a private CA has signed the server's certificate: --ca-file FILE, or MOBILETEST_CA_FILE"
# For files.
LONG = httpx.Timeout(600.0, connect=CONNECT_SECONDS)
# Of a list; no organisation has as many items as all these pages hold.
_PAGE_ITEMS, _MOST_PAGES = 100, 1000
_LONGEST_PAUSE = 10.0
# Calls that take longer, because they are repeated, say so.
_LONG_SECONDS = 3.0
# Without what ends a link in Markdown.
_ADDRESS = re.compile(r"https?://[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)


class Api:
    """The server's REST API with one key. `patience`: seconds for which calls that are safe to repeat are repeated.

    Without a `transport` the server is reached over the network. `on_wait` is told once for each call that takes
    long, because it is repeated, why.
    """

    def __init__(
        self,
        server: Server,
        *,
        patience: float,
        transport: httpx.BaseTransport | None = None,
        on_wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.server = server
        self.patience = patience
        self._on_wait = on_wait
        self._public_url = server.url
        self._client = make_client(
            server,
            base_url=f"{server.url}/api/v1/",
            headers={
                "Authorization": f"Bearer {check_key(server.api_key)}",
                "Prefer": "handling=strict",
                "User-Agent": f"mobiletest-cli/{__version__}",
            },
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
            transport=transport,
        )

    def page_url(self, path: str) -> str:
        """The address of a page of the dashboard: below the public address of the server if it names one."""
        return f"{self._public_url}/{path}"

    def start(self, path: str, body: Any, *, key: str, headers: Mapping[str, str] | None = None) -> Any:
        """The answer to a start, which the server attributes to this command; its id is one."""
        named = {**(headers or {}), "X-Service-Client": f"cli/{__version__}"}
        answer = self.post(path, body, key=key, headers=named)
        if not is_id(answer.get("id")):
            raise self._foreign()
        return answer

    def impatient(self) -> Api:
        """The same connections, and nothing is repeated: for callers that wait by themselves."""
        other = copy.copy(self)
        other.patience = 0.0
        return other

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, *, seconds: float | None = None, **query: Any) -> Any:
        """The JSON of a resource, which has to come within `seconds`; a parameter that is None is left out."""
        timeout = httpx.Timeout(seconds or READ_SECONDS, connect=CONNECT_SECONDS)
        return self.document(self.call("GET", path, params=_given(query), timeout=timeout))

    def document(self, response: httpx.Response) -> Any:
        """The JSON object of a response.

        Raises:
            CliError: it has none: portals and proxies answer everything.
        """
        with suppress(ValueError):
            document = response.json()
            if isinstance(document, dict):
                return document
        raise self._foreign()

    def post(self, path: str, body: Any, *, key: str | None = None, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON of the answer. With an idempotency key it is repeated safely."""
        given = {**(headers or {}), **({"Idempotency-Key": key} if key else {})}
        sent = httpx.Headers(given, encoding="utf-8")  # names of branches
        return self.document(self.call("POST", path, json=body, headers=sent, repeatable=key is not None))

    def put(self, path: str, body: Any) -> Any:
        """The JSON of the answer."""
        return self.document(self.call("PUT", path, json=body))

    def patch(self, path: str, body: Any) -> Any:
        """The JSON of the answer."""
        return self.document(self.call("PATCH", path, json=body, repeatable=False))

    def delete(self, path: str) -> None:
        """Delete a resource."""
        self.call("DELETE", path, repeatable=False)

    def pages(self, path: str, limit: int | None = None, **query: Any) -> Iterator[Any]:
        """The items of a paged list, at most `limit`.

        Raises:
            CliError: the list has no end.
        """
        count = 0
        for page in range(1, _MOST_PAGES + 1):
            answer = self.get(path, page=page, page_size=min(limit or _PAGE_ITEMS, _PAGE_ITEMS), **query)
            if not isinstance(answer.get("items"), list):
                raise self._foreign()
            for item in answer["items"]:
                if limit is not None and count >= limit:
                    return
                yield item
                count += 1
            if not (answer["items"] and answer.get("has_next")):
                return
        raise self._foreign()

    def call(
        self, method: str, path: str, *, repeatable: bool = True, slow: bool = False, **options: Any
    ) -> httpx.Response:
        """A successful response.

        What is repeatable is repeated after failures of the network or the server, and after the pauses that a rate
        limit asks for, for as long as the patience lasts; for a `slow` request, from its first failure on.

        Raises:
            CliError: there is none, or an id in the path is not one.
        """
        check_path(path)
        began = None if slow else time.monotonic()
        told, attempt = False, 0
        while True:
            attempt += 1
            try:
                response = self._client.request(method, path, **options)
            except (httpx.InvalidURL, UnicodeError) as error:
                raise CliError(f"{self.server.url} is not an address: {error}", USAGE, DOCTOR) from None
            except httpx.RequestError as error:
                refused: CliError = self.unreachable(error)
                pause: float | None = None
            else:
                if response.is_success:
                    self._learn_public_url(response)
                    return response
                refused, pause = self.refusal(response), retry_after(response)
            if not (repeatable and is_transient(refused)):
                raise refused
            began = time.monotonic() if began is None else began
            wait = _pause(attempt) if pause is None else pause
            if time.monotonic() + wait > began + self.patience:
                raise refused
            if not told and time.monotonic() + wait - began > _LONG_SECONDS:
                told = True
                self._on_wait(f"{refused.message}; still trying, for {self.patience:.0f} s at most")
            time.sleep(wait)

    def _learn_public_url(self, response: httpx.Response) -> None:
        """A proxy, or something else than mobiletest, may answer anything."""
        if _ADDRESS.fullmatch(url := response.headers.get("X-Public-Url", "")):
            self._public_url = url.rstrip("/")

    @contextmanager
    def stream(self, path: str, **options: Any) -> Iterator[httpx.Response]:
        """A successful response whose body has not been read.

        Raises:
            CliError: as in `call`.
        """
        check_path(path)
        try:
            with self._client.stream("GET", path, **options) as response:
                if not response.is_success:
                    response.read()
                    raise self.refusal(response)
                yield response
        except httpx.RequestError as error:
            raise self.unreachable(error) from None

    def content(self, path: str, most: int) -> bytes | None:
        """A file; None as soon as more than `most` bytes of it have come.

        Raises:
            CliError: as in `call`.
        """
        content = bytearray()
        with self.stream(path) as response:
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > most:
                    return None
        return bytes(content)

    def refusal(self, response: httpx.Response) -> RequestRefused:
        """What a response that is no success means."""
        detail, code = _detail(response)
        status = response.status_code
        exit_code, hint = _meaning(status, code)
        if 300 <= status < 400:
            place = response.headers.get("Location", "nowhere")
            hint = f"It redirects to {place}: use the address of mobiletest itself"
        if code in ("PATH_UNKNOWN", "") and status == 404:
            hint = f"Is {self.server.url} the address of mobiletest, in the version of this command? mobiletest doctor"
        return RequestRefused(
            detail,
            exit_code,
            hint,
            status=status,
            code=code,
            request_id=response.headers.get("X-Request-Id", ""),
        )

    def unreachable(self, error: httpx.RequestError) -> CliError:
        """What a failure of the network means."""
        reason = str(error) or type(error).__name__
        hint = tls_advice(reason) or DOCTOR
        return CliError(f"{self.server.url} cannot be reached: {reason}", UNREACHABLE, hint)

    def _foreign(self) -> CliError:
        return CliError(f"{self.server.url} does not answer like a mobiletest server", UNREACHABLE, DOCTOR)


def tls_advice(reason: str) -> str | None:
    """What to do about a handshake that failed; None if that is not what failed."""
    if "wrong_version_number" in reason.lower():
        return NO_TLS
    return CERTIFICATES if "certificate" in reason.lower() else None


def check_key(key: str) -> str:
    """The key.

    Raises:
        CliError: it cannot be sent in a header.
    """
    if not key.isascii() or not key.isprintable() or " " in key:
        raise CliError("the API key contains invalid characters", AUTHENTICATION, "Copy exactly the key")
    return key


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Trusts the system's certificates, those of certifi, and those of `ca_file`.

    Raises:
        CliError: it cannot be read.
    """
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise CliError(f"{ca_file}: no certificates can be read: {error}", INVALID_FILE) from None
    return context


def make_client(server: Server, **options: Any) -> httpx.Client:
    """A client that uses the proxies of the environment.

    Certificates are read only if they are needed, because that takes a sixth of the time of a short command.

    Raises:
        CliError: one of these is not an address of a proxy.
    """
    is_plain = server.url.lower().startswith("http://") and not server.ca_file
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else tls_context(server.ca_file)
    try:
        return httpx.Client(verify=verify, **options)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        hint = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY: such as http://proxy.example.com:3128"
        raise CliError(f"the proxy of the environment cannot be used: {error}", USAGE, hint) from None


@contextmanager
def judging_a_file() -> Iterator[None]:
    """Inside the block, a refusal of the content is one of the file."""
    try:
        yield
    except RequestRefused as refused:
        if refused.status in (413, 422):
            refused.exit_code = INVALID_FILE
        raise


def retry_after(response: httpx.Response) -> float | None:
    """The seconds after which the server wants to be asked again."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() else None


def _pause(attempt: int) -> float:
    """Seconds before the next attempt: 0.2, 0.4, 0.8 and so on, half of it by chance."""
    longest: float = min(_LONGEST_PAUSE, 0.2 * 2 ** min(attempt, 10))
    return longest * (0.5 + random.random() / 2)  # noqa: S311 - no secret


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def _meaning(status: int, code: str) -> tuple[int, str | None]:
    """The exit code of an HTTP status, and what to do."""
    if status == 401:
        return AUTHENTICATION, "Set MOBILETEST_API_KEY to a key that is valid, or run: mobiletest login"
    if status == 403 and code in ("SCOPE_MISSING", "SCOPE_EXCEEDED"):
        return AUTHENTICATION, "mobiletest whoami shows the scopes of the key"
    if status in (403, 429):
        return RATE_LIMITED, None
    if status == 404:
        return NOT_FOUND, None
    if status == 407:
        return UNREACHABLE, "The proxy wants a password: HTTPS_PROXY=http://user:password@..."
    if status >= 500 or status < 400:
        return UNREACHABLE, "The server has a problem; try again later"
    return USAGE, None


def _detail(response: httpx.Response) -> tuple[str, str]:
    """The message and the code of an error; of a proxy's page only the status."""
    try:
        document = response.json()
        detail, code = document["detail"], document.get("code", "")
        if isinstance(detail, list):
            return "; ".join(_violation(issue) for issue in cast("Iterable[Any]", detail)), str(code)
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{response.request.method} {response.request.url.path}: HTTP {response.status_code}", ""
    return str(detail), str(code)


def _violation(issue: Any) -> str:
    """A field and what is wrong with it."""
    place = ".".join(str(part) for part in issue.get("loc", ()) if part not in ("body", "query", "header"))
    return f"{place}: {issue.get('msg', '')}" if place else str(issue.get("msg", ""))
