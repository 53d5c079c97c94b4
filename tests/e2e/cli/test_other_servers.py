"""Servers that are not mobiletest, or not now: proxies, portals, certificates, and what is between."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from mobiletest_cli.errors import FAILED, INVALID_FILE, NO_VERDICT, NOT_FOUND, RATE_LIMITED, UNREACHABLE, USAGE
from tests.e2e.cli.conftest import BROKEN, Shell
from tests.e2e.cli.terminal import terminal
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import UNKNOWN
from tests.fakes.workspaces import zip_files

ZIP = {"Content-Type": "application/zip"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def answering(handler: Handler, tls: ssl.SSLContext | None = None) -> Any:
    """The address of a server that is not mobiletest."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(application, scheme="https" if tls else "http")
    await server.start_server(ssl=tls)
    async with server:
        yield str(server.make_url("")).rstrip("/")


def always(body: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Handler:
    """Gives this answer to every request."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body, status=status, headers={"Content-Type": "application/json", **(headers or {})})

    return answer


NO_ITEMS = always('{"items": [], "has_next": false}')
FOREIGN = "does not answer like a mobiletest server"
BUSY = '{"detail": "requests: the organisation has used all of 5", "code": "LIMIT_REACHED"}'
ANSWERS: dict[str, tuple[Handler, str, int, str]] = {
    **{f"{body} as list": (always(body), "apps list", UNREACHABLE, FOREIGN) for body in ("{}", '{"items": 1}')},
    "redirection": (
        always("", 301, {"Location": "https://sso.invalid/"}),
        "apps list",
        UNREACHABLE,
        "redirects to https://sso.invalid/",
    ),
    "wrong encoding": (always("no gzip", 200, {"Content-Encoding": "gzip"}), "apps list", UNREACHABLE, "reached"),
    "no path": (always("nginx", 404), f"status {UNKNOWN}", NOT_FOUND, "HTTP 404"),
    "bad gateway": (always("nginx", 502), f"status {UNKNOWN}", UNREACHABLE, "HTTP 502"),
    "rate limit": (always(BUSY, 429, {"Retry-After": "30"}), "apps list", RATE_LIMITED, "has used all of 5"),
    "no server": (always(""), "apps list --url http://127.0.0.1:1", UNREACHABLE, "127.0.0.1:1 cannot be reached"),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_answers_of_other_servers_are_not_a_verdict(stranger: Shell, name: str) -> None:
    handler, line, code, message = ANSWERS[name]
    async with answering(handler) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run(*line.split(), "--patience", "0")
        structured = await stranger.run(*line.split(), "--patience", "0", "--json")
    assert (ended.code, message in ended.err, "Traceback" in ended.err) == (code, True, False), ended.err
    assert structured.document["error"]["exit_code"] == code


async def test_an_internal_error_of_the_command_is_not_a_verdict(stranger: Shell) -> None:
    """An answer with other types than those of the API, say."""
    async with answering(always('{"items": [{"id": 7}], "has_next": false}')) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run("apps", "list")
    assert (ended.code, "This is a defect of the command" in ended.err) == (NO_VERDICT, True), ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[]", "null", "{"])
async def test_a_success_of_another_server_is_not_accepted(stranger: Shell, body: str) -> None:
    """A portal of a hotel answers everything."""
    stranger.write({"flow.yaml": "appId: a\n---\n- launchApp\n"})
    lines = (
        "apps list",
        "apps create Shop --platform Android",
        f"status {UNKNOWN}",
        "secrets set SHOP",
        "run flow.yaml",
    )
    async with answering(always(body)) as stranger.environ["MOBILETEST_URL"]:
        for line in lines:
            ended = await stranger.run(*line.split(), "--json", "--patience", "0", stdin="value")
            assert (ended.code, "Traceback" in ended.err) == (UNREACHABLE, False), (line, ended.out, ended.err)
            assert FOREIGN in ended.document["error"]["message"]


async def test_lines_that_another_import_moves_before_the_start_are_not_shown(shell: Shell, api: Api) -> None:
    """Another job imports the same steps from another commit, where they are in other lines."""
    shell.write({"e2e/a.yaml": BROKEN, "app.apk": fresh("app")})
    server, others = shell.environ["MOBILETEST_URL"], [{"a.yaml": "# moved\n" + BROKEN}]

    async def forward(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/executions") and others:
            moved, params = zip_files(others.pop()), {"workspace": "shop"}
            imported = created(await api.post("/tests/import", data=moved, headers=ZIP, params=params))
            assert imported["unchanged_count"] == 1
        headers = {name: value for name, value in request.headers.items() if name != "Host"}
        async with (
            ClientSession(server, auto_decompress=False) as session,
            session.request(request.method, request.rel_url, headers=headers, data=await request.read()) as answer,
        ):
            forwarded = web.StreamResponse(status=answer.status, headers=answer.headers)
            await forwarded.prepare(request)
            async for chunk in answer.content.iter_any():
                await forwarded.write(chunk)
            return forwarded

    async with answering(forward) as shell.environ["MOBILETEST_URL"]:
        for line in ("Open the basket", "e2e/a.yaml:5:3"):
            ended = await shell.run("run", "--file", "app.apk", "--build", "1", "--workspace", "shop", "e2e")
            assert (ended.code, line in ended.out) == (FAILED, True), ended.err
            assert ("a.yaml:" in ended.out) == ("a.yaml:" in line)


async def test_a_briefly_unreachable_server_is_retried(stranger: Shell) -> None:
    asked = []

    async def away(request: web.Request) -> web.StreamResponse:
        asked.append(1)
        return await (always('{"detail": "Stopping"}', 503) if len(asked) < 3 else NO_ITEMS)(request)

    async with answering(away) as stranger.environ["MOBILETEST_URL"]:
        assert await stranger.document("apps", "list") == {"items": []}
    assert len(asked) == 3


async def test_a_call_that_is_repeated_for_long_says_so(stranger: Shell) -> None:
    stranger.environ["MOBILETEST_URL"] = "http://127.0.0.1:1"
    process = await stranger.start("apps", "list", "--patience", "60")
    assert process.stderr is not None
    said = (await process.stderr.readline()).decode()
    process.kill()
    await process.communicate()
    assert said.startswith("http://127.0.0.1:1 cannot be reached: ")
    assert said.endswith("; still trying, for 60 s at most\n")


async def test_the_progress_line_says_that_the_server_is_unreachable(stranger: Shell) -> None:
    """On a terminal, as soon as it is, and the wait goes on to the end."""
    execution = {
        "id": UNKNOWN,
        "status": "running",
        "success": None,
        "counts": {"total": 3, "passed": 3, "failed": 0},
        "workflow_name": "Nightly",
    }
    is_away = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if is_away.is_set():
            request.transport and request.transport.abort()
        if request.path.endswith("/events"):
            return await always("", 503)(request)
        return await (NO_ITEMS if request.path.endswith("/runs") else always(json.dumps(execution)))(request)

    async with answering(answer) as stranger.environ["MOBILETEST_URL"]:
        environ = stranger.environment
        with terminal(stranger.program("wait", UNKNOWN, "--no-gate"), stranger.folder, environ) as shown:
            await asyncio.to_thread(shown.wait_for, "3 waiting of 3 runs")
            is_away.set()
            await asyncio.to_thread(shown.wait_for, "3 waiting of 3 runs; no answer for ")
            await asyncio.to_thread(shown.wait_for, " s, still trying")
            execution |= {"status": "completed", "success": True, "execution_time_seconds": 1.0}
            is_away.clear()
            await asyncio.to_thread(shown.wait_for, "Nightly: passed in 1.0 s")


async def test_a_server_of_an_older_version_cannot_run_a_folder(stranger: Shell) -> None:
    """Which the command says, instead of a failed test."""

    async def older(request: web.Request) -> web.StreamResponse:
        no_path = always('{"detail": "There is no such path", "code": "PATH_UNKNOWN"}', 404)
        return await (NO_ITEMS if request.path == "/api/v1/apps" else no_path)(request)

    stranger.write({"flow.yaml": "appId: a\n---\n- launchApp\n"})
    async with answering(older) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run("run", "flow.yaml")
    assert ended.code == NOT_FOUND
    assert "the address of mobiletest, in the version of this command? mobiletest doctor" in ended.err


async def test_doctor_names_an_older_server_and_a_wrong_clock(stranger: Shell) -> None:
    document = '{"info": {"version": "0.0.9"}, "paths": {"/x": {"get": {"operationId": "ImportTests"}}}}'
    older = always(document, headers={"Date": "Mon, 01 Jan 2024 00:00:00 GMT"})
    async with answering(older) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run("doctor")
    assert "server 0.0.9 is older than this command: it cannot run a folder, show the key" in ended.out
    assert "s ahead of the server" in ended.out
    assert ended.code == UNREACHABLE


async def test_doctor_names_what_is_not_mobiletest(stranger: Shell) -> None:
    async with answering(always("<html>Welcome</html>")) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run("doctor", "--json")
    assert ended.code == UNREACHABLE
    assert [each["name"] for each in ended.document["items"] if not each["passed"]] == ["connection"]


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://x:1", "socks5://127.0.0.1:1", "http://[::1", "http://a:port"])
async def test_a_proxy_that_cannot_be_used_is_said(stranger: Shell, proxy: str) -> None:
    stranger.environ["HTTP_PROXY"] = proxy
    for line in ("apps list --patience 0", "doctor"):
        ended = await stranger.run(*line.split())
        assert ended.code in (USAGE, UNREACHABLE)
        assert ("the proxy of the environment cannot be used" in ended.err + ended.out) == (proxy != "nonsense")
        assert "Traceback" not in ended.err


async def test_proxies_of_the_environment_are_used(stranger: Shell) -> None:
    asked = []

    async def proxy(request: web.Request) -> web.StreamResponse:
        asked.append(str(request.url).partition("?")[0])
        return await NO_ITEMS(request)

    async with answering(proxy) as stranger.environ["HTTP_PROXY"]:
        await stranger.ok("apps", "list")
        stranger.environ["NO_PROXY"] = "mobiletest.invalid"
        assert (await stranger.run("apps", "list", "--patience", "0")).code == UNREACHABLE
    assert asked == ["http://mobiletest.invalid/api/v1/apps"]


async def test_tls_goes_through_the_proxy_as_it_is(stranger: Shell) -> None:
    """The proxy is asked for a tunnel, and sees no key."""
    asked = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        stranger.environ |= {"MOBILETEST_URL": "https://mobiletest.invalid", "HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        ended = await stranger.run("apps", "list", "--patience", "0")
    assert (ended.code, "407" in ended.err) == (UNREACHABLE, True), ended.err
    assert [head.partition(" HTTP/")[0] for head in asked] == ["CONNECT mobiletest.invalid:443"]
    assert stranger.environ["MOBILETEST_API_KEY"] not in asked[0]


async def test_a_server_without_tls_is_named_as_such(stranger: Shell) -> None:
    async with answering(NO_ITEMS) as url:
        stranger.environ["MOBILETEST_URL"] = url.replace("http:", "https:")
        refused = await stranger.run("apps", "list", "--patience", "0")
        assert (refused.code, "with http:// instead of https://" in refused.err) == (UNREACHABLE, True)
        assert "with http:// instead of https://" in (await stranger.run("doctor")).out


async def test_a_private_authority_is_trusted_if_it_is_named(stranger: Shell, tmp_path: Path) -> None:
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    other.cert_pem.write_to_path(str(tmp_path / "other.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    line = ("apps", "list", "--patience", "0")
    async with answering(NO_ITEMS, context) as stranger.environ["MOBILETEST_URL"]:
        for more in ((), ("--ca-file", str(tmp_path / "other.pem"))):
            unknown = await stranger.run(*line, *more, "--json")
            error = unknown.document["error"]
            assert (unknown.code, "certificate verify failed" in error["message"]) == (UNREACHABLE, True)
            assert "--ca-file" in error["hint"]
        assert "--ca-file FILE" in (await stranger.run("doctor")).out
        await stranger.ok(*line, "--ca-file", str(tmp_path / "ca.pem"))
        stranger.environ["MOBILETEST_CA_FILE"] = str(tmp_path / "ca.pem")
        await stranger.ok(*line)


async def test_a_file_without_certificates_is_said(stranger: Shell) -> None:
    stranger.write({"ca.pem": "nothing"})
    ended = await stranger.run("apps", "list", "--ca-file", "ca.pem")
    assert (ended.code, "ca.pem: no certificates can be read" in ended.err) == (INVALID_FILE, True)


async def test_an_interrupted_download_leaves_no_file(stranger: Shell) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/download"):
            return web.json_response({"id": UNKNOWN, "version": "1.0"})
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"begun")
        assert request.transport is not None
        request.transport.close()
        return response

    stranger.write({"kept.apk": "before"})
    async with answering(cut) as stranger.environ["MOBILETEST_URL"]:
        ended = await stranger.run("builds", "download", UNKNOWN, "--output", "kept.apk", "--patience", "0")
    assert (ended.code, "Traceback" in ended.err) == (UNREACHABLE, False), ended.err
    assert {path.name: path.read_text() for path in stranger.folder.iterdir()} == {"kept.apk": "before"}
