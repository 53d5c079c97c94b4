"""What surrounds the command: servers that are not ours, proxies, certificates, stdin and stdout."""

import asyncio
import os
import pty
import ssl
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from mobiletest_cli.errors import INTERRUPTED, INVALID_FILE, OK, UNREACHABLE, USAGE
from tests.e2e.cli.conftest import Ended, Shell
from tests.e2e.cli.test_server_commands import answering


async def through(shell: Shell, script: str, stdin: bytes = b"") -> Ended:
    """A script of the shell that ended; "$@" in it is the command."""
    process = await shell.execute("sh", "-c", script, "sh", *shell.program())
    out, err = await process.communicate(stdin)
    return Ended(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[]", "null"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("apps", "list"),
        ("apps", "create", "Shop", "--platform", "Android"),
        ("status", "00000000-0000-4000-8000-000000000000"),
        ("secrets", "set", "SHOP"),
        ("run", "flow.yaml"),
    ],
    ids=" ".join,
)
async def test_success_of_something_else_is_none(shell: Shell, arguments: tuple[str, ...], body: str) -> None:
    """A portal of a hotel answers everything."""

    async def welcome(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    shell.write({"flow.yaml": "appId: a\n---\n- launchApp\n"})
    async with answering(welcome) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run(*arguments, "--json", "--patience", "0", stdin="value")
    assert (ended.code, "Traceback" in ended.err) == (UNREACHABLE, False), (ended.out, ended.err)
    assert "does not answer as mobiletest does" in ended.document["error"]["message"]


@pytest.mark.parametrize("body", ["{}", '{"items": 1}'])
async def test_a_list_has_items(shell: Shell, body: str) -> None:
    async def other(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    async with answering(other) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list")
    assert (ended.code, "does not answer as mobiletest does" in ended.err) == (UNREACHABLE, True), ended.err


async def test_a_redirection_is_said(shell: Shell) -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": "https://mobiletest.invalid/"})

    async with answering(elsewhere) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list")
    assert (ended.code, "redirects to https://mobiletest.invalid/" in ended.err) == (UNREACHABLE, True), ended.err


async def test_a_body_that_cannot_be_decoded_is_said(shell: Shell) -> None:
    async def broken(_: web.Request) -> web.Response:
        return web.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"})

    async with answering(broken) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list", "--patience", "0")
    assert (ended.code, "Traceback" in ended.err) == (UNREACHABLE, False), ended.err


@pytest.mark.parametrize("proxy", ["nonsense", "ftp://127.0.0.1:1", "socks5://127.0.0.1:1", "http://127.0.0.1:port"])
async def test_a_proxy_that_cannot_be_used_is_said(shell: Shell, proxy: str) -> None:
    shell.environ |= {"MOBILETEST_URL": "http://mobiletest.invalid", "HTTP_PROXY": proxy}
    ended = await shell.run("apps", "list", "--patience", "0")
    assert (ended.code in (USAGE, UNREACHABLE), "Traceback" in ended.err) == (True, False), ended.err
    assert "proxy" in ended.err.lower() or "cannot be reached" in ended.err
    assert "Traceback" not in (await shell.run("doctor")).err


async def test_tls_goes_through_the_proxy_as_it_is(shell: Shell) -> None:
    """The proxy is asked for a tunnel, and sees no key."""
    asked = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        shell.environ |= {"MOBILETEST_URL": "https://mobiletest.invalid", "HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        ended = await shell.run("apps", "list", "--patience", "0")
    assert (ended.code, "407" in ended.err) == (UNREACHABLE, True), ended.err
    assert [head.partition(" HTTP/")[0] for head in asked] == ["CONNECT mobiletest.invalid:443"]
    assert shell.environ["MOBILETEST_API_KEY"] not in asked[0]


async def test_a_certificate_of_a_private_authority_has_a_hint(shell: Shell, tmp_path: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))

    async def empty(_: web.Request) -> web.Response:
        return web.json_response({"items": [], "has_next": False})

    async with answering(empty, context) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("apps", "list", "--patience", "0", "--json")
        other = await shell.run("apps", "list", "--patience", "0", "--ca-file", str(tmp_path / "other.pem"))
    assert (ended.code, "--ca-file" in ended.document["error"]["hint"]) == (UNREACHABLE, True), ended.out
    assert (other.code, "certificate verify failed" in other.err) == (UNREACHABLE, True)


async def test_a_file_without_certificates_is_said(shell: Shell) -> None:
    shell.write({"ca.pem": "nothing"})
    ended = await shell.run("apps", "list", "--ca-file", "ca.pem")
    assert (ended.code, "ca.pem: no certificates can be read" in ended.err) == (INVALID_FILE, True)


async def test_a_secret_is_text(shell: Shell) -> None:
    for encoding in ("C.UTF-8", "C"):
        shell.environ["LC_ALL"] = encoding
        ended = await through(shell, '"$@" secrets set SHOP', b"\xff\xfe")
        assert (ended.code, "Traceback" in ended.err) == (USAGE, False), ended.err


@pytest.mark.parametrize(
    ("typed", "code", "left"),
    [(b"y\n", OK, []), (b"n\n", USAGE, ["SHOP"]), (b"\x04", INTERRUPTED, ["SHOP"])],
    ids=["yes", "no", "end of input"],
)
async def test_people_are_asked_before_something_is_deleted(
    shell: Shell, typed: bytes, code: int, left: list[str]
) -> None:
    """On a terminal; the question is no part of the document."""
    await shell.run("secrets", "set", "SHOP", stdin="lovelace")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        process = await asyncio.create_subprocess_exec(
            *shell.program("secrets", "delete", "SHOP", "--json"),
            cwd=shell.folder,
            env=shell.environment,
            stdin=theirs,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    finally:
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, b"Delete the secret SHOP?" in err, b"Traceback" in err) == (code, True, False), err
    assert b"Delete" not in out.partition(b"{")[0]
    secrets = (await shell.run("secrets", "list", "--json")).document["items"]
    assert [secret["name"] for secret in secrets] == left


@pytest.mark.parametrize("command", ["secrets delete SHOP", "secrets set SHOP", "whoami --api-key-stdin"])
async def test_stdin_may_be_closed(shell: Shell, command: str) -> None:
    await shell.run("secrets", "set", "SHOP", stdin="ada")
    ended = await through(shell, f'"$@" {command} <&-')
    assert (ended.code, "Traceback" in ended.err) == (USAGE, False), ended.err


async def test_output_that_nobody_reads_is_no_failed_test(shell: Shell) -> None:
    for option in ("", "--json"):
        ended = await through(shell, f'{{ "$@" keys list {option}; echo $? >code; }} | true')
        assert (ended.code, ended.err) == (OK, "")
        assert int((shell.folder / "code").read_text()) in (OK, UNREACHABLE)


async def test_a_full_disk_is_said(shell: Shell) -> None:
    for option in ("", "--json"):
        ended = await through(shell, f'"$@" keys list {option} >/dev/full')
        assert (ended.code, "Traceback" in ended.err, "No space left" in ended.err) == (INVALID_FILE, False, True)
