"""Scripts reach the hosts that their organisation may call, at public addresses, and nothing else."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mobiletest_automation.scripting import http_client as script_http
from mobiletest_automation.scripting.engine import Script, ScriptEngine
from mobiletest_automation.scripting.http import FormField, HttpFailed, HttpRequest
from mobiletest_automation.scripting.http_client import ScriptHttp, redirected_headers
from mobiletest_automation.scripting.limits import ScriptError
from mobiletest_automation.web_addresses import PUBLIC_ONLY, AddressPolicy

HERE = AddressPolicy.parse(["127.0.0.0/8"])
SECRET_HEADERS = {
    "Authorization": "Bearer x",
    "Cookie": "a=b",
    "X-API-Key": "x",
    "X-Shop-Token": "x",
    "Referer": "http://x/",
}


async def echo(request: web.Request) -> web.Response:
    text = f"{request.method} {await request.text()} {request.headers.get('X-Name')} {request.headers.get('Host')}"
    return web.Response(text=text, headers={"X-Answer": "yes", "Set-Cookie": "a=b"})


async def redirect(request: web.Request) -> web.Response:
    return web.Response(status=int(request.query.get("status", 302)), headers={"Location": request.query["to"]})


async def received(request: web.Request) -> web.Response:
    """What arrived, apart from what every client sends."""
    said = {name.lower(): value for name, value in request.headers.items()}
    headers = {name: said[name] for name in ("accept", "content-type", "x-name") if name in said}
    body = {"method": request.method, "query": dict(request.query), "headers": headers, "body": await request.text()}
    return web.Response(text="\ufeff" + json.dumps(body), content_type="application/json")


async def form(request: web.Request) -> web.Response:
    def describe(value: object) -> str:
        if isinstance(value, web.FileField):
            return f"{value.filename} {value.content_type} {len(value.file.read())}"
        return str(value)

    return web.Response(text=" ".join(f"{name}={describe(value)}" for name, value in (await request.post()).items()))


async def loop(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": "/loop"})


async def large(request: web.Request) -> web.Response:
    return web.Response(body=b"x" * (script_http.RESPONSE_BYTES + 1))


async def credentials(request: web.Request) -> web.Response:
    """What arrived, apart from what every client sends."""
    sent = {name.lower(): value for name, value in request.headers.items()}
    usual = ("host", "accept-encoding", "user-agent")
    return web.json_response({name: value for name, value in sent.items() if name not in usual}, status=404)


async def everything(request: web.Request) -> web.Response:
    """What arrived; `body` only if there is one."""
    sent = {name.lower(): value for name, value in request.headers.items()}
    body = await request.text()
    return web.json_response({"method": request.method, **sent, **({"body": body} if body else {})})


async def headers(request: web.Request) -> web.Response:
    count, size = int(request.query["count"]), int(request.query["size"])
    return web.Response(headers={f"X-{number}": "x" * size for number in range(count)})


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    app = web.Application()
    app.router.add_route("*", "/echo", echo)
    app.router.add_route("*", "/received", received)
    app.router.add_route("*", "/redirect", redirect)
    app.router.add_post("/form", form)
    app.router.add_get("/loop", loop)
    app.router.add_get("/large", large)
    app.router.add_get("/credentials", credentials)
    app.router.add_get("/headers", headers)
    app.router.add_route("*", "/all", everything)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    yield server
    await server.close()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """api.example.test and other.example.test are this machine; metadata.example.test is a cloud's metadata service."""
    resolve = socket.getaddrinfo

    def fake(host: str, *arguments: object, **more: object) -> object:
        private = "169.254.169.254" if host == "metadata.example.test" else "127.0.0.1"
        return resolve(private if host.endswith(".example.test") else host, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", fake)


pytestmark = pytest.mark.usefixtures("names")


def http(*hosts: str, addresses: AddressPolicy = HERE) -> ScriptHttp:
    async def read_hosts() -> tuple[str, ...]:
        return hosts

    return ScriptHttp(read_hosts, addresses)


def url(server: TestServer, path: str, host: str = "api.example.test") -> str:
    return f"http://{host}:{server.port}{path}"


async def test_a_request_is_sent(server: TestServer) -> None:
    headers = {"X-Name": "Ada", "Host": "forged", "Content-Length": "1"}
    request = HttpRequest(method="POST", url=url(server, "/echo"), headers=headers, body="böse")
    response = await http("*.example.test").send(request)
    assert (response.status, response.ok, response.headers["x-answer"]) == (200, True, "yes")
    assert response.body == f"POST böse Ada api.example.test:{server.port}"


async def test_invalid_utf_8_is_replaced() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nContent-Length: 5\r\n\r\ncaf\xe9\0")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as served:
        port = served.sockets[0].getsockname()[1]
        request = HttpRequest(method="GET", url=f"http://api.example.test:{port}/")
        response = await http("*.example.test").send(request)
    assert (response.headers["x-name"], response.body) == ("caf\ufffd", "caf\ufffd")


@pytest.mark.parametrize(
    ("charset", "body", "expected"),
    [
        ("ISO-8859-1", b"caf\xe9", "caf\xe9"),
        ("windows-1252", b"\x80", "\u20ac"),
        ("utf-16le", b"a\0\xe9\0", "a\xe9"),
        ("Shift_JIS", b"\x83\x4a", "\u30ab"),
        ("punycode", b"caf-dma", "caf-dma"),
        ("idna", b"xn--caf-dma", "xn--caf-dma"),
        ("unicode_escape", rb"\u0041", r"\u0041"),
        ("utf-7", b"+AEE-", "+AEE-"),
        ("base64", b"YQ==", "YQ=="),
        ("none of ours", b"caf\xc3\xa9", "caf\xe9"),
    ],
)
async def test_a_body_is_read_in_the_encodings_of_browsers_only(charset: str, body: bytes, expected: str) -> None:
    """Others are Python's own: a megabyte of Punycode would hold up all attempts of the worker for minutes."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Type": f'text/plain; charset="{charset}"'})

    app = web.Application()
    app.router.add_get("/", answer)
    async with TestServer(app, host="127.0.0.1") as served:
        response = await http("*.example.test").send(HttpRequest(method="GET", url=url(served, "/")))
    assert response.body == expected


@pytest.mark.parametrize(
    ("target", "hosts", "message"),
    [
        ("http://api.example.test/", (), "the organisation has no hosts"),
        ("http://evil.example.org/", ("api.example.test",), "evil.example.org is not among the hosts"),
        ("http://metadata.example.test/", ("*.example.test",), "is not a public address"),
        ("http://169.254.169.254/latest", ("api.example.test",), "169.254.169.254 is not among the hosts"),
        ("http://[::ffff:127.0.0.1]/", ("api.example.test",), "is not among the hosts"),
        ("http://2130706433/", ("*.example.test",), "write an IPv4 address as four decimal numbers"),
        ("http://localhost/", ("localhost.example.test",), "localhost is not among the hosts"),
        ("http://api.example.test@evil.org/", ("api.example.test",), "no user or password"),
        ("file:///etc/passwd", ("api.example.test",), "file: links are refused"),
        ("shop://cart", ("api.example.test",), "expected an http or https URL"),
        ("nonsense", ("api.example.test",), "expected a URL"),
    ],
)
async def test_other_hosts_and_private_addresses_are_refused(target: str, hosts: tuple[str, ...], message: str) -> None:
    with pytest.raises(HttpFailed) as error:
        await http(*hosts).send(HttpRequest(method="GET", url=target))
    assert message in str(error.value)


async def test_an_address_can_be_a_host(server: TestServer) -> None:
    """Also what is neither a name nor an address does no harm among the hosts."""
    request = HttpRequest(method="GET", url=url(server, "/echo", "127.0.0.1"))
    assert (await http("127.0.0.1", "1.2.3").send(request)).ok
    for host in ("127.0.0.1", "api.example.test"):
        request = HttpRequest(method="GET", url=url(server, "/echo", host))
        with pytest.raises(HttpFailed, match="is not a public address"):
            await http(host, addresses=PUBLIC_ONLY).send(request)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("http://169.254.169.254/", "169.254.169.254 is not among the hosts"),
        ("http://metadata.example.test/", "is not a public address"),
        ("//evil.example.org/", "evil.example.org is not among the hosts"),
        ("file:///etc/passwd", "file: links are refused"),
        ("/loop", "redirects more than 5 times"),
    ],
)
async def test_each_redirect_is_checked(server: TestServer, target: str, message: str) -> None:
    allowed = http("api.example.test", "metadata.example.test")
    with pytest.raises(HttpFailed, match=message):
        await allowed.send(HttpRequest(method="GET", url=url(server, f"/redirect?to={target}")))


async def test_redirects_are_followed_with_the_form(server: TestServer) -> None:
    request = HttpRequest(method="GET", url=url(server, "/redirect?to=/echo"))
    assert (await http("api.example.test").send(request)).body.startswith("GET")
    fields = (FormField(name="a", value="1"),)
    target = url(server, "/redirect?to=/form&status=307")
    response = await http("api.example.test").send(HttpRequest(method="POST", url=target, form=fields))
    assert response.body == "a=1"


async def test_credentials_stay_with_their_host_and_port(server: TestServer) -> None:
    app = web.Application()
    app.router.add_get("/credentials", credentials)
    async with TestServer(app, host="127.0.0.1") as other_port:
        for target in (url(server, "/credentials", "other.example.test"), url(other_port, "/credentials")):
            begin = url(server, f"/redirect?to={target}")
            request = HttpRequest(method="GET", url=begin, headers={**SECRET_HEADERS, "accept": "text/plain"})
            response = await http("*.example.test").send(request)
            assert (response.ok, response.status, json.loads(response.body)) == (False, 404, {"accept": "text/plain"})
        same = HttpRequest(method="GET", url=url(server, "/redirect?to=/credentials"), headers=SECRET_HEADERS)
        kept = json.loads((await http("*.example.test").send(same)).body)
        assert {name.lower(): value for name, value in SECRET_HEADERS.items()}.items() <= kept.items()


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("http://api.test/a", "http://api.test/b?c", True),
        ("http://api.test/", "http://API.test:80/", True),
        ("https://api.test:443/", "https://api.test/", True),
        ("http://api.test/", "https://api.test/", False),
        ("https://api.test/", "http://api.test/", False),
        ("http://api.test:443/", "https://api.test/", False),
        ("http://api.test/", "http://api.test:8080/", False),
        ("http://api.test/", "http://www.api.test/", False),
        ("http://api.test/", "http://api.test./", False),
    ],
)
@pytest.mark.parametrize("name", [*SECRET_HEADERS, "cookie", "X-Csrf-Token", "Origin", "Private-Token"])
def test_a_credential_goes_along_only_to_the_same_origin(name: str, before: str, after: str, same: bool) -> None:
    """Maestro's client (OkHttp) knows the same origins, but leaves out only Authorization."""
    kept = redirected_headers({name: "x", "Accept": "a"}, before, after)
    assert kept == ({name: "x", "Accept": "a"} if same else {"Accept": "a"})


async def test_what_was_left_out_does_not_come_back(server: TestServer) -> None:
    back = quote(url(server, "/credentials"))
    away = quote(url(server, f"/redirect?to={back}", "other.example.test"))
    request = HttpRequest(method="GET", url=url(server, f"/redirect?to={away}"), headers=SECRET_HEADERS)
    assert json.loads((await http("*.example.test").send(request)).body) == {}


async def test_headers_for_a_proxy_are_never_sent(server: TestServer) -> None:
    request = HttpRequest(method="GET", url=url(server, "/credentials"), headers={"Proxy-Authorization": "Basic x"})
    assert "proxy-authorization" not in json.loads((await http("*.example.test").send(request)).body)


@pytest.mark.parametrize(
    ("status", "method", "sent"),
    [
        *((status, "GET", {"x-name"}) for status in (300, 301, 302, 303)),
        *((status, "POST", {"x-name", "content-type", "content-language", "body"}) for status in (307, 308)),
    ],
)
async def test_headers_of_a_body_go_along_with_it_only(
    server: TestServer, status: int, method: str, sent: set[str]
) -> None:
    """RFC 9110, section 15.4."""
    headers = {"Content-Type": "text/plain", "Content-Language": "en", "X-Name": "a"}
    address = url(server, f"/redirect?to=/all&status={status}")
    request = HttpRequest(method="POST", url=address, body="b", headers=headers)
    arrived = json.loads((await http("*.example.test").send(request)).body)
    assert (arrived["method"], {name for name in arrived if name in {*sent, "content-type", "content-language"}}) == (
        method,
        sent,
    )


@pytest.mark.parametrize(("count", "size"), [(101, 1), (300, 1), (20, 4000), (1, 9000)])
async def test_the_headers_of_a_response_are_limited(server: TestServer, count: int, size: int) -> None:
    """Also those of a redirect; the message has no part of the path."""
    target = url(server, f"/headers?count={count}&size={size}")
    for address in (target, url(server, f"/redirect?to={quote(target)}")):
        with pytest.raises(HttpFailed, match=r"^the response of api\.example\.test ") as error:
            await http("api.example.test").send(HttpRequest(method="GET", url=address))
        assert "count" not in str(error.value)
    assert (
        await http("api.example.test").send(HttpRequest(method="GET", url=url(server, "/headers?count=90&size=9")))
    ).ok


@pytest.mark.parametrize("path", ["/large", "/loop"])
async def test_messages_have_no_part_of_a_path(server: TestServer, path: str) -> None:
    target = url(server, f"{path}?pad={'x' * 150}&token=hunter2-hunter2-hunter2-hunter2")
    with pytest.raises(HttpFailed) as error:
        await http("api.example.test").send(HttpRequest(method="GET", url=target))
    assert "api.example.test" in str(error.value)
    assert "hunter" not in str(error.value)


async def test_requests_and_responses_are_limited(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sender = http("api.example.test")
    with pytest.raises(HttpFailed, match="has more than"):
        await sender.send(HttpRequest(method="GET", url=url(server, "/large")))
    for request, message in (
        (HttpRequest(method="CONNECT", url=url(server, "/echo")), "unknown method"),
        (HttpRequest(method="POST", url=url(server, "/echo"), body="x" * (2**20 + 1)), "the body of a request"),
        (HttpRequest(method="GET", url=url(server, "/echo"), headers={"a": "x" * 20_000}), "headers"),
        (HttpRequest(method="GET", url=url(server, "/echo"), headers={"a": "x\r\nb: y"}), "cannot be reached"),
    ):
        with pytest.raises(HttpFailed, match=message):
            await sender.send(request)
    monkeypatch.setattr(sender, "_left", 0)
    with pytest.raises(HttpFailed, match="at most 50 requests"):
        await sender.send(HttpRequest(method="GET", url=url(server, "/echo")))


async def test_scripts_have_the_http_module_of_maestro(server: TestServer) -> None:
    async with ScriptEngine(http=http("api.example.test").send) as engine:

        async def run(source: str) -> str:
            script = Script(source=source, place="a.js", fuel=10**9, variables={"URL": url(server, "/echo")})
            return (await engine.evaluate(script)).text

        assert (await run("http.post(URL, {body: '1', headers: {'X-Name': 7}}).body")).startswith("POST 1 7 ")
        assert await run("const r = http.get(URL); r.ok + r.headers['x-answer'] + r.status") == "trueyes200"
        assert (await run("http.request(URL, {method: 'PUT', body: 'x'}).body")).startswith("PUT x")
        assert (await run("http.get(URL, {body: {a: 1}}).body")).startswith("GET  None")
        for source, message in (
            ("http.get('http://evil.example.org/')", r"a\.js, line 1, .*http: evil\.example\.org is not among"),
            ("http.post(URL, {multipartForm: {}})", "multipartForm needs an object with fields"),
            ("http.post(URL, {multipartForm: {a: {filePath: 'a.png'}}})", r"the file a\.png was not sent along"),
            ("http.get()", "http: expected a URL"),
        ):
            with pytest.raises(ScriptError, match=message):
                await run(source)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("post(URL, {body: 'x'})", {"method": "POST", "body": "x"}),
        ("post(URL, {body: ''})", {"method": "POST"}),
        ("get(` ${URL}?name=Ada L ö `)", {"query": {"name": "Ada L ö"}}),
        ("get(URL, {headers: {'X-Name': undefined}})", {"headers": {"x-name": "null"}}),
        ("delete(URL, {body: 'x'})", {"method": "DELETE", "body": "x"}),
        ("put(MOVED, {body: 'x', headers: {'Content-Type': 'a/b'}})", {}),
        ("delete(MOVED)", {}),
    ],
)
async def test_what_is_sent_is_what_maestro_sends(server: TestServer, call: str, expected: dict[str, object]) -> None:
    """No header that the script does not name; what is moved is asked for by GET; and no byte-order mark comes back."""
    there = url(server, "/received")
    async with ScriptEngine(http=http("api.example.test").send) as engine:
        variables = {"URL": there, "MOVED": url(server, f"/redirect?to={there}")}
        script = Script(source=f"http.{call}.body", place="a.js", fuel=10**9, variables=variables)
        body = (await engine.evaluate(script)).text
    assert json.loads(body) == {"method": "GET", "query": {}, "headers": {}, "body": ""} | expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("post(URL)", "POST needs a body, which is a text"),
        ("post(URL, {body: {name: 'Ada'}})", "POST needs a body, which is a text: JSON.stringify makes one"),
        ("put(URL, {body: 5})", "PUT needs a body"),
        ("request(URL, {method: 'PATCH'})", "PATCH needs a body"),
        ("get(URL, {body: 'x'})", "GET takes no body"),
        ("request(URL, {body: 'x'})", "GET takes no body"),
        ("get(URL, {multipartForm: {a: 'x'}})", "GET takes no body"),
    ],
)
async def test_a_body_that_would_get_lost_is_an_error(server: TestServer, call: str, message: str) -> None:
    """Otherwise a server that takes an empty body makes the test pass."""
    async with ScriptEngine(http=http("api.example.test").send) as engine:
        variables = {"URL": url(server, "/received")}
        script = Script(source=f"http.{call}.body", place="a.js", fuel=10**9, variables=variables)
        with pytest.raises(ScriptError, match=message):
            await engine.evaluate(script)


async def test_a_form_has_texts_and_files_of_the_flow(server: TestServer) -> None:
    files = {"media/cat.png": b"\x89PNG\x00picture", "dog.jpg": b"dog", "large.mp4": b"x" * 2**20}

    async def read(path: str) -> bytes | None:
        return files.get(path)

    async with ScriptEngine(http=http("api.example.test").send, read_file=read) as engine:

        async def run(form: str) -> str:
            source = f"http.post(URL, {{multipartForm: {form}, body: 'no', headers: {{'Content-Type': 'x/y'}}}}).body"
            variables = {"URL": url(server, "/form")}
            script = Script(source=source, place="a.js", folder="scripts", fuel=10**9, variables=variables)
            return (await engine.evaluate(script)).text

        assert await run("{name: 'Łucja \"A\"', age: 7}") == 'name=Łucja "A" age=7'
        cat = await run("{'a b': {filePath: '../media/cat.png', mediaType: 'image/png'}}")
        assert cat == "a b=cat.png image/png 12"
        assert await run("{dog: {filePath: 'dog.jpg'}, no: null}") == "dog=dog.jpg application/octet-stream 3 no=null"
        for form, message in (
            ("{a: {filePath: '../../etc/passwd'}}", r"\.\./\.\./etc/passwd was not sent along: multipartForm sends"),
            ("{a: {filePath: '../large.mp4'}}", "at most 1048576 bytes together"),
            ("Object.fromEntries([...Array(101).keys()].map((n) => [`f${n}`, n]))", "at most 100 fields"),
            ("'text'", "needs an object"),
        ):
            with pytest.raises(ScriptError, match=message):
                await run(form)


async def test_closing_ends_a_request() -> None:
    asked = asyncio.Event()

    async def never(request: HttpRequest) -> None:
        asked.set()
        await asyncio.Event().wait()

    engine = ScriptEngine(http=never)  # type: ignore[arg-type]
    script = Script(source="http.get('http://a.b/')", place="a.js", fuel=10**9, variables={})
    running = asyncio.create_task(engine.evaluate(script))
    await asked.wait()
    await engine.close()
    with pytest.raises(ScriptError, match=r"a\.js"):
        await running
