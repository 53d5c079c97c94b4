"""Sends the HTTP requests of scripts: to the hosts that a test may call, and to the addresses that it may reach.

Names are resolved where they are connected to, so a name cannot mean another address a moment later, and each redirect
is checked as the first request.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urljoin

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from mobiletest_automation.flows.texts import shorten, well_formed
from mobiletest_automation.http_body import BodyTooLarge, read_body
from mobiletest_automation.scripting.http import (
    FIELDS_LIMIT,
    REQUEST_BYTES,
    FormField,
    HttpFailed,
    HttpRequest,
    HttpResponse,
)
from mobiletest_automation.web_addresses import AddressPolicy, AddressRefused, web_host

# For a request with its redirects.
SECONDS = 30.0
# Of one attempt.
REQUESTS_LIMIT = 50
RESPONSE_BYTES = 2**20
HEADERS_LIMIT = 50
HEADER_BYTES = 16 * 2**10
RESPONSE_HEADERS_LIMIT = 100
RESPONSE_HEADER_BYTES = 64 * 2**10
REDIRECTS_LIMIT = 5
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")
_OURS = frozenset(("host", "content-length", "transfer-encoding", "connection", "upgrade", "proxy-authorization", "te"))
_REDIRECTS = (300, 301, 302, 303, 307, 308)
_SAME_METHOD = (307, 308)
_CHARSETS = frozenset(
    (
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "koi8-r", "koi8-u", "mac-roman", "cp866"),
        *("iso8859-1", *(f"iso8859-{number}" for number in (*range(2, 9), 9, 10, 11, 13, 14, 15, 16))),
        *(f"cp{number}" for number in (874, *range(1250, 1259))),
        *(
            "gbk",
            "gb2312",
            "gb18030",
            "big5",
            "big5hkscs",
            "euc_jp",
            "iso2022_jp",
            "shift_jis",
            "cp932",
            "euc_kr",
            "cp949",
        ),
    )
)
# Headers of a script that go along to another origin; any other one may be a credential, such as X-Shop-Key.
_FOR_ANY_ORIGIN = frozenset(
    (
        *("accept", "accept-charset", "accept-encoding", "accept-language"),
        *("cache-control", "content-encoding", "content-language", "content-type", "user-agent"),
    )
)
# Headers that say something about a body, and do not go along without it (RFC 9110, section 15.4).
_OF_CONTENT = frozenset(
    (
        *("content-encoding", "content-language", "content-location", "content-type"),
        *("content-digest", "digest", "last-modified"),
    )
)

# The names of the hosts that a test may call now, as `AddressPolicy.names`.
ReadHosts = Callable[[], Awaitable[Iterable[str]]]


class ScriptHttp:
    """The http module of one attempt's scripts."""

    def __init__(self, read_hosts: ReadHosts, addresses: AddressPolicy) -> None:
        """`addresses` are those that tests may reach beside the public ones."""
        self._read_hosts = read_hosts
        self._addresses = addresses
        self._left = REQUESTS_LIMIT

    async def send(self, request: HttpRequest) -> HttpResponse:
        """The response.

        Raises:
            HttpFailed: there is none; the message has no path, of which a part may be a secret.
        """
        hosts = AddressPolicy(frozenset(await self._read_hosts()))
        if not hosts.names:
            raise HttpFailed("not available here: the organisation has no hosts (limit script_hosts)")
        if self._left <= 0:
            raise HttpFailed(f"a test may send at most {REQUESTS_LIMIT} requests")
        self._left -= 1
        _check_size(request)
        try:
            request = replace(request, url=_encode_blanks(request.url))
            host = self._check(request.url, hosts)
        except AddressRefused as error:
            raise HttpFailed(str(error)) from None
        try:
            async with asyncio.timeout(SECONDS), self._open_session() as session:
                return await self._follow(session, request, hosts)
        except TimeoutError:
            raise HttpFailed(f"{host} did not answer within {SECONDS:g} s") from None
        except BodyTooLarge:
            raise HttpFailed(f"the response of {host} has more than {RESPONSE_BYTES} bytes") from None
        except AddressRefused as error:
            raise HttpFailed(str(error)) from None
        except aiohttp.ClientResponseError as error:  # whose text has the URL
            raise HttpFailed(f"the response of {host} cannot be read: {shorten(error.message, 300)}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise HttpFailed(f"{host} cannot be reached: {_cause(error)}") from None

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Without cookies, proxies of the environment, and connections that outlive it."""
        # The addresses are checked when the connection is made: a name may resolve differently a moment later.
        connector = aiohttp.TCPConnector(resolver=_CheckedResolver(self._addresses), use_dns_cache=False)
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(connector=connector, cookie_jar=jar, trust_env=False) as session:
            yield session

    async def _follow(self, session: aiohttp.ClientSession, request: HttpRequest, hosts: AddressPolicy) -> HttpResponse:
        """The response to a request whose URL is checked, after redirects."""
        method, url, has_body = request.method.upper(), request.url, True
        ours = _OURS | {"content-type"} if request.form else _OURS
        headers = {name: value for name, value in request.headers.items() if name.lower() not in ours}
        unsaid = ("Accept",) if request.form else ("Accept", "Content-Type")
        for _ in range(REDIRECTS_LIMIT + 1):
            data = _data_of(request) if has_body else None
            sent = session.request(
                method, url, headers=headers, data=data, allow_redirects=False, skip_auto_headers=unsaid
            )
            async with sent as response:
                _check_headers(response)
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or location is None:
                    return await _read(response)
            before, url = url, _encode_blanks(urljoin(url, location))
            # Each redirect as strictly as the first address: a listed host may lead to one that is not.
            self._check(url, hosts)
            if response.status not in _SAME_METHOD and method not in ("GET", "HEAD"):
                method, has_body = "GET", False
                headers = {name: value for name, value in headers.items() if name.lower() not in _OF_CONTENT}
            headers = redirected_headers(headers, before, url)
        raise HttpFailed(f"{web_host(request.url)} redirects more than {REDIRECTS_LIMIT} times")

    def _check(self, url: str, hosts: AddressPolicy) -> str:
        """The host. Raise HttpFailed and AddressRefused."""
        host = web_host(url)
        if host is None:
            raise HttpFailed("expected an http or https URL")
        if not hosts.lists(host):
            raise HttpFailed(f"{host} is not among the hosts that the organisation may call (limit script_hosts)")
        self._addresses.check(url)
        return host


class _CheckedResolver(AbstractResolver):
    """Resolves the names that are connected to; one private address among those of a name refuses it."""

    def __init__(self, addresses: AddressPolicy) -> None:
        self._addresses = addresses
        self._resolver = ThreadedResolver()

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        addresses = await self._resolver.resolve(host, port, family)  # type: ignore[arg-type]
        for each in addresses:
            self._addresses.check_address(host, each["host"])
        return addresses

    async def close(self) -> None:
        await self._resolver.close()


def _check_size(request: HttpRequest) -> None:
    if request.method.upper() not in METHODS:
        raise HttpFailed(f"unknown method {shorten(request.method, 20)!r}; known: {', '.join(METHODS)}")
    if len(request.body or "") > REQUEST_BYTES:
        raise HttpFailed(f"the body of a request has at most {REQUEST_BYTES} bytes")
    if len(request.form) > FIELDS_LIMIT or sum(each.size for each in request.form) > REQUEST_BYTES:
        raise HttpFailed(f"a form has at most {FIELDS_LIMIT} fields of {REQUEST_BYTES} bytes together")
    headers = [*request.headers, *request.headers.values()]
    if len(request.headers) > HEADERS_LIMIT or sum(map(len, headers)) > HEADER_BYTES:
        raise HttpFailed(f"a request has at most {HEADERS_LIMIT} headers of {HEADER_BYTES} bytes together")


def _check_headers(response: aiohttp.ClientResponse) -> None:
    headers = response.raw_headers
    if len(headers) > RESPONSE_HEADERS_LIMIT or sum(len(name) + len(value) for name, value in headers) > (
        RESPONSE_HEADER_BYTES
    ):
        most = f"{RESPONSE_HEADERS_LIMIT} headers of {RESPONSE_HEADER_BYTES} bytes together"
        raise HttpFailed(f"the response of {response.url.host} has more than {most}")


def _encode_blanks(url: str) -> str:
    """As Maestro does."""
    return url.strip(" ").replace(" ", "%20")


def redirected_headers(headers: Mapping[str, str], before: str, after: str) -> dict[str, str]:
    """What goes along with a redirect: to another scheme, host or port no header that may be a credential."""
    same = _origin(before) == _origin(after)
    return {name: value for name, value in headers.items() if same or name.lower() in _FOR_ANY_ORIGIN}


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parsed = URL(url)
    return parsed.scheme, parsed.host, parsed.port


def _data_of(request: HttpRequest) -> bytes | aiohttp.FormData | None:
    """The body; a form is read while it is sent, so that each request needs its own."""
    if not request.form:
        return request.body.encode() if request.body is not None else None
    form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
    for each in request.form:
        _add(form, each)
    return form


def _add(form: aiohttp.FormData, field: FormField) -> None:
    if field.file is None:
        form.add_field(field.name, field.value)
    else:
        kind = field.media_type or "application/octet-stream"
        form.add_field(field.name, field.content, filename=field.file, content_type=kind)


async def _read(response: aiohttp.ClientResponse) -> HttpResponse:
    body = await read_body(response, RESPONSE_BYTES)
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        value = well_formed(value)  # bytes that are not UTF-8 are lone surrogates
        headers[key] = f"{headers[key]},{value}" if key in headers else value
    text = body.decode(_charset(response.charset), errors="replace")
    return HttpResponse(status=response.status, body=well_formed(text.removeprefix("\ufeff")), headers=headers)


def _charset(name: str | None) -> str:
    """The encoding of this name if browsers know it. Others take Python minutes (punycode), or are no texts."""
    try:
        return codec if name and (codec := codecs.lookup(name).name) in _CHARSETS else "utf-8"
    except (LookupError, ValueError):  # ValueError: a name with NUL
        return "utf-8"


def _cause(error: Exception) -> str:
    """Why a connection failed; of a name that resolves to a refused address, that."""
    cause = error.__cause__
    return (
        str(cause)
        if isinstance(cause, AddressRefused)
        else shorten(well_formed(str(error)), 300) or type(error).__name__
    )
