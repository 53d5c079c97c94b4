"""login, whoami, doctor, completion and --help; and servers and keys that do not work."""

import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web
from aiohttp.test_utils import TestServer

from mobiletest_cli import __version__
from mobiletest_cli.errors import (
    AUTHENTICATION,
    INVALID_FILE,
    MEANINGS,
    NO_VERDICT,
    NOT_FOUND,
    OK,
    RATE_LIMITED,
    UNREACHABLE,
    USAGE,
)
from tests.e2e.cli.conftest import Shell
from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN
from tests.eventually import eventually


@asynccontextmanager
async def answering(
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: ssl.SSLContext | None = None
) -> Any:
    """The address of a server that is not mobiletest."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(application, scheme="https" if tls else "http")
    await server.start_server(ssl=tls)
    async with server:
        yield str(server.make_url("")).rstrip("/")


async def test_help_lists_commands_and_exit_codes(shell: Shell) -> None:
    ended = await shell.run("--help")
    assert ended.code == OK
    assert all(f" {code}  " in ended.out for code in MEANINGS)
    assert "whoami" in ended.out


async def test_the_version_is_printed(shell: Shell) -> None:
    ended = await shell.run("--version")
    assert (ended.code, ended.out) == (OK, f"mobiletest {__version__}\n")


async def test_a_login_is_used_by_later_commands(shell: Shell) -> None:
    url, key = shell.environ.pop("MOBILETEST_URL"), shell.environ.pop("MOBILETEST_API_KEY")
    without = await shell.run("whoami")
    assert (without.code, without.err) == (
        USAGE,
        "error: no server is known\n  Set MOBILETEST_URL, or run: mobiletest login\n",
    )
    login = await shell.run("login", "--url", url, "--api-key-stdin", stdin=f"{key}\n")
    assert (login.code, login.err) == (OK, f'Logged in to {url} with the key "bootstrap".\n')
    me = await shell.run("whoami", "--json")
    assert (me.document["url"], me.document["name"], me.document["key_source"]) == (url, "bootstrap", "profile")
    assert (await shell.run("logout")).code == OK
    assert (await shell.run("whoami")).code == USAGE


async def test_a_login_with_a_wrong_key_stores_nothing(shell: Shell, tmp_path: Path) -> None:
    ended = await shell.run("login", "--api-key-stdin", stdin="mt_wrong\n")
    assert (ended.code, ended.err.splitlines()[0]) == (AUTHENTICATION, "error: Invalid API key")
    assert not (tmp_path / "config" / "profiles.json").exists()


async def test_doctor_finds_nothing_wrong(shell: Shell) -> None:
    ended = await shell.run("doctor")
    assert ended.code == OK, ended.out
    assert "PROBLEM" not in ended.out
    assert f"address: {shell.environ['MOBILETEST_URL']}" in ended.out


async def test_doctor_names_an_older_server_and_a_wrong_clock(shell: Shell) -> None:
    async def older(_: web.Request) -> web.Response:
        document = {"info": {"version": "0.0.9"}, "paths": {"/x": {"get": {"operationId": "ImportTests"}}}}
        return web.json_response(document, headers={"Date": "Mon, 01 Jan 2024 00:00:00 GMT"})

    async with answering(older) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("doctor")
    assert "server 0.0.9 is older than this command: it cannot run a folder, show the key" in ended.out
    assert "s ahead of the server" in ended.out
    assert ended.code == UNREACHABLE


async def test_doctor_names_what_is_not_mobiletest(shell: Shell) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>Welcome</html>", content_type="text/html")

    async with answering(page) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("doctor", "--json")
        other = await shell.run("whoami")
    assert ended.code == UNREACHABLE
    assert [each["name"] for each in ended.document["items"] if not each["passed"]] == ["connection"]
    assert other.code == UNREACHABLE


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[]", "null", "{"])
async def test_answers_that_are_no_documents_are_no_verdict(shell: Shell, body: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    async with answering(answer) as shell.environ["MOBILETEST_URL"]:
        for arguments in (["status", UNKNOWN], ["apps", "create", "Shop", "--platform", "Android"]):
            ended = await shell.run(*arguments, "--json", "--patience", "0")
            assert (ended.code, ended.document["error"]["exit_code"]) == (UNREACHABLE, UNREACHABLE), arguments


async def test_a_redirection_is_said(shell: Shell) -> None:
    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "https://sso.example.com/"})

    async with answering(redirect) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list", "--patience", "0")
    assert (ended.code, "It redirects to https://sso.example.com/" in ended.err) == (UNREACHABLE, True)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "ftp://x:1", "http://[::1"])
async def test_a_proxy_that_cannot_be_used_is_said(shell: Shell, proxy: str) -> None:
    shell.environ["HTTP_PROXY"] = proxy
    shell.environ["MOBILETEST_URL"] = "http://mobiletest.invalid"
    for command in (["apps", "list", "--patience", "0"], ["doctor"]):
        ended = await shell.run(*command)
        assert ended.code in (USAGE, UNREACHABLE)
        assert "the proxy of the environment cannot be used" in ended.err + ended.out
        assert "Traceback" not in ended.err


async def test_a_defect_of_the_command_is_no_verdict(shell: Shell) -> None:
    """An answer with other types than those of the API, say."""

    async def other(_: web.Request) -> web.Response:
        return web.json_response({"items": [{"id": 7}], "has_next": False})

    async with answering(other) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list")
    assert (ended.code, "This is a defect of the command" in ended.err) == (NO_VERDICT, True), ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("status", [404, 502])
async def test_answers_of_something_else_are_no_verdict(shell: Shell, status: int) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status, text="nginx")

    async with answering(refuse) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("status", UNKNOWN, "--json", "--patience", "0")
    error = ended.document["error"]
    assert (ended.code, error["status"]) == ({404: NOT_FOUND, 502: UNREACHABLE}[status], status)
    assert f"HTTP {status}" in error["message"]


async def test_a_rate_limit_that_stays_is_said(shell: Shell) -> None:
    async def busy(_: web.Request) -> web.Response:
        body = {"detail": "requests: the organisation has used all of 5", "code": "LIMIT_REACHED"}
        return web.json_response(body, status=429, headers={"Retry-After": "30"})

    async with answering(busy) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list", "--patience", "1")
    assert (ended.code, ended.err) == (RATE_LIMITED, "error: requests: the organisation has used all of 5\n")


async def test_a_server_that_is_away_for_a_moment_is_asked_again(shell: Shell) -> None:
    asked = []

    async def away(_: web.Request) -> web.Response:
        asked.append(1)
        if len(asked) < 3:
            return web.json_response({"detail": "Stopping", "code": "STOPPING"}, status=503)
        return web.json_response({"items": [], "has_next": False})

    async with answering(away) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list", "--json")
    assert (ended.code, ended.document, len(asked)) == (OK, {"items": []}, 3)


async def test_a_key_without_a_scope_says_so(shell: Shell, api: Api) -> None:
    key = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))
    shell.environ["MOBILETEST_API_KEY"] = key["key"]
    ended = await shell.run("apps", "create", "Shop", "--platform", "Android")
    assert ended.code == AUTHENTICATION
    assert "mobiletest whoami shows the scopes of the key" in ended.err
    assert "scopes read," in (await shell.run("whoami")).out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nonsense"], USAGE),
        (["apps", "list", "--page", "3"], USAGE),
        (["apps", "show", "Nowhere"], NOT_FOUND),
        (["status", UNKNOWN], NOT_FOUND),
        (["status", "not-an-id"], USAGE),
        (["keys", "delete", "Nobody", "--yes"], NOT_FOUND),
        (["apps", "list", "--url", "nonsense"], USAGE),
        (["apps", "list", "--ca-file", "missing.pem"], INVALID_FILE),
        (["apps", "list", "--url", "http://127.0.0.1:1", "--patience", "0"], AUTHENTICATION),
        (["completion", "tcsh"], USAGE),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_mistakes_have_exit_codes(shell: Shell, arguments: list[str], code: int) -> None:
    if "--url" in arguments:
        del shell.environ["MOBILETEST_API_KEY"]
        code = USAGE if "nonsense" in arguments else code
    ended = await shell.run(*arguments)
    assert ended.code == code, ended.err
    assert "Traceback" not in ended.err


async def test_a_key_that_has_expired_is_refused(shell: Shell, api: Api) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    key = created(await api.post("/settings/api-keys", {"name": "brief", "expires_at": soon}))["key"]
    shell.environ["MOBILETEST_API_KEY"] = key

    async def refused() -> bool:
        ended = await shell.run("run", ".")
        return (ended.code, "mobiletest login" in ended.err) == (AUTHENTICATION, True)

    shell.write({"flow.yaml": "appId: a\n---\n- launchApp\n"})
    await eventually(refused, within=60)


async def test_a_server_of_an_older_version_cannot_run_a_folder(shell: Shell) -> None:
    """Which the command says, instead of a failed test."""

    async def older(request: web.Request) -> web.Response:
        if request.path == "/api/v1/apps":
            return web.json_response({"items": [], "has_next": False})
        return web.json_response({"detail": "There is no such path", "code": "PATH_UNKNOWN"}, status=404)

    shell.write({"flow.yaml": "appId: a\n---\n- launchApp\n"})
    async with answering(older) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("run", "flow.yaml")
    assert ended.code == NOT_FOUND
    assert "the address of mobiletest, in the version of this command? mobiletest doctor" in ended.err


async def test_a_private_authority_is_trusted_if_it_is_named(shell: Shell, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def empty(_: web.Request) -> web.Response:
        return web.json_response({"items": [], "has_next": False})

    async with answering(empty, context) as shell.environ["MOBILETEST_URL"]:
        assert shell.environ["MOBILETEST_URL"].startswith("https://")
        unknown = await shell.run("apps", "list", "--patience", "0")
        assert (unknown.code, "certificate verify failed" in unknown.err) == (UNREACHABLE, True)
        assert "--ca-file FILE" in (await shell.run("doctor")).out
        assert (await shell.run("apps", "list", "--ca-file", str(tmp_path / "ca.pem"))).code == OK
        shell.environ["MOBILETEST_CA_FILE"] = str(tmp_path / "ca.pem")
        assert (await shell.run("apps", "list")).code == OK


async def test_proxies_of_the_environment_are_used(shell: Shell) -> None:
    asked = []

    async def proxy(request: web.Request) -> web.Response:
        asked.append(str(request.url))
        return web.json_response({"items": [], "has_next": False})

    shell.environ["MOBILETEST_URL"] = "http://mobiletest.invalid"
    async with answering(proxy) as shell.environ["HTTP_PROXY"]:
        assert (await shell.run("apps", "list")).code == OK
        assert [address.partition("?")[0] for address in asked] == ["http://mobiletest.invalid/api/v1/apps"]
        shell.environ["NO_PROXY"] = "mobiletest.invalid"
        assert (await shell.run("apps", "list", "--patience", "0")).code == UNREACHABLE
        assert len(asked) == 1


async def test_an_unreachable_server_is_said(shell: Shell) -> None:
    shell.environ["MOBILETEST_URL"] = "http://127.0.0.1:1"
    ended = await shell.run("apps", "list", "--patience", "0")
    assert (ended.code, ended.err.splitlines()[0]) == (
        UNREACHABLE,
        "error: http://127.0.0.1:1 cannot be reached: [Errno 111] Connection refused",
    )


async def test_completion_scripts_are_for_this_command(shell: Shell) -> None:
    for name in ("bash", "zsh", "fish"):
        ended = await shell.run("completion", name)
        assert ended.code == OK
        assert "_MOBILETEST_COMPLETE" in ended.out


async def test_a_key_is_created_shown_once_and_deleted(shell: Shell) -> None:
    made = await shell.run("keys", "create", "ci", "--scope", "read", "--expires", "2099-01-31")
    assert made.out.startswith("mt_")
    listed = await shell.run("keys", "list", "--json")
    [ci] = [key for key in listed.document["items"] if key["name"] == "ci"]
    assert (ci["scopes"], ci["key"], ci["expires_at"][:7]) == (["read"], None, "2099-01")
    assert made.out.strip() not in listed.out
    assert (await shell.run("keys", "delete", "ci")).code == USAGE
    assert (await shell.run("keys", "delete", "ci", "--yes")).code == OK
    assert "ci" not in [key["name"] for key in json.loads((await shell.run("keys", "list", "--json")).out)["items"]]
