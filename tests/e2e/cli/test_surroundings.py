"""What surrounds the process of the command: a terminal, pipes and files that it cannot read or write."""

import os
import pty

import pytest

from mobiletest_cli.errors import INTERRUPTED, INVALID_FILE, OK, UNREACHABLE, USAGE
from tests.e2e.cli.conftest import Ended, Shell


async def through(shell: Shell, script: str, stdin: bytes = b"") -> Ended:
    """A script of the shell that ended; "$@" in it is the command."""
    process = await shell.execute("sh", "-c", script, "sh", *shell.program())
    out, err = await process.communicate(stdin)
    return Ended(process.returncode or 0, out.decode(), err.decode())


@pytest.mark.parametrize("encoding", ["C.UTF-8", "C"])
async def test_a_secret_is_text(stranger: Shell, encoding: str) -> None:
    stranger.environ["LC_ALL"] = encoding
    ended = await through(stranger, '"$@" secrets set SHOP', b"\xff\xfe")
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
    await shell.ok("secrets", "set", "SHOP", stdin="lovelace")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        process = await shell.execute(*shell.program("secrets", "delete", "SHOP", "--json"), stdin=theirs)
        out, err = await process.communicate()
    finally:
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, b"Delete the secret SHOP?" in err, b"Traceback" in err) == (code, True, False), err
    assert b"Delete" not in out.partition(b"{")[0]
    secrets = (await shell.document("secrets", "list"))["items"]
    assert [secret["name"] for secret in secrets] == left


@pytest.mark.parametrize("command", ["secrets delete SHOP", "secrets set SHOP", "whoami --api-key-stdin"])
async def test_stdin_may_be_closed(stranger: Shell, command: str) -> None:
    ended = await through(stranger, f'"$@" {command} <&-')
    assert (ended.code, "Traceback" in ended.err) == (USAGE, False), ended.err


async def test_a_closed_output_is_not_a_failed_test(shell: Shell) -> None:
    for option in ("", "--json"):
        ended = await through(shell, f'{{ "$@" keys list {option}; echo $? >code; }} | true')
        assert (ended.code, ended.err) == (OK, "")
        assert int((shell.folder / "code").read_text()) in (OK, UNREACHABLE)


async def test_a_full_disk_is_said(shell: Shell) -> None:
    for option in ("", "--json"):
        ended = await through(shell, f'"$@" keys list {option} >/dev/full')
        assert (ended.code, "Traceback" in ended.err, "No space left" in ended.err) == (INVALID_FILE, False, True)
