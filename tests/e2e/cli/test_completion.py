"""The Tab key in bash, zsh and fish."""

import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mobiletest_cli.app import _command
from mobiletest_cli.completion import SECONDS, answer
from tests.conftest import skip_or_fail
from tests.e2e.cli.conftest import Shell
from tests.e2e.cli.terminal import Terminal, terminal
from tests.e2e.client import Api, created

SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(mobiletest completion bash)"'),
    "zsh": (["-f", "-i"], 'eval "$(mobiletest completion zsh)"'),
    "fish": (["--no-config", "-i"], "mobiletest completion fish | source"),
}
SHOWS_ITS_WORDS = """#!/bin/sh
test -n "$_MOBILETEST_COMPLETE" || test "$1" = completion && exec {python} -m mobiletest_cli "$@"
printf '<%s>' "$@"
echo
"""


@contextmanager
def shell_of(name: str, user: Shell, folder: Path) -> Iterator[Terminal]:
    """A shell that has loaded the script; what is then entered shows the words that the command would get."""
    program = shutil.which(name) or skip_or_fail(f"there is no {name}: apt install {name}")
    command = folder / "bin" / "mobiletest"
    command.parent.mkdir()
    command.write_text(SHOWS_ITS_WORDS.format(python=sys.executable))
    command.chmod(0o755)
    arguments, load = SHELLS[name]
    environ = {**user.environment, "PATH": f"{command.parent}:{user.environment['PATH']}", "HOME": str(folder)}
    with terminal([program, *arguments], user.folder, environ) as shown:
        shown.press(f"{load}\n")
        yield shown


def entered(shown: Terminal, keys: str, words: str) -> None:
    """Enter a line with Tabs; the command gets these words."""
    shown.press(f"{keys}\n")
    shown.wait_for(f"<{words.replace('|', '><')}>")


@pytest.mark.parametrize("name", SHELLS)
async def test_tab_completes_commands_options_values_and_files(read_shop: Shell, tmp_path: Path, name: str) -> None:
    with shell_of(name, read_shop, tmp_path) as shown:
        entered(shown, "mobiletest doc\t", "doctor")
        entered(shown, "mobiletest apps li\t", "apps|list")
        entered(shown, "mobiletest run --workf\tx", "run|--workflow|x")
        entered(shown, "mobiletest run --platform A\t", "run|--platform|Android")
        entered(shown, "mobiletest run --platform=A\t", "run|--platform=Android")
        entered(shown, "mobiletest run --local --device ch\t", "run|--local|--device|chrome")
        entered(shown, "mobiletest run --local --interac\tx", "run|--local|--interactive|x")
        entered(shown, "mobiletest run --file ap\t", "run|--file|app.apk")
        entered(shown, "mobiletest run .maes\tlog\t", "run|.maestro/log-in.yaml")
        entered(shown, "mobiletest run --app Sh\t", "run|--app|Shop")
        entered(shown, "mobiletest run --test Op\t", "run|--test|Open the basket")
        entered(shown, 'mobiletest run --test "Open t\t', "run|--test|Open the basket")
        entered(shown, "mobiletest run --test Open\\ \t", "run|--test|Open the basket")
        entered(shown, "mobiletest gate --build 1\t", "gate|--build|1.0")
        entered(shown, "mobiletest failures li\t--state kn\t", "failures|list|--state|known")
        entered(shown, "mobiletest executions --result no\t", "executions|--result|no_verdict")


@pytest.mark.parametrize("name", SHELLS)
async def test_names_with_special_characters_stay_one_word(shell: Shell, api: Api, tmp_path: Path, name: str) -> None:
    names = ["Pay: card & $HOME's", "Größe", 'Buy "$(touch attacked)" `touch attacked` \\now!', "It's 'a'", 'As "b"']
    for each in names:
        created(await api.post("/tests", {"name": each, "steps": ["launchApp"]}))
    with shell_of(name, shell, tmp_path) as shown:
        entered(shown, "mobiletest tests show Pay\t", f"tests|show|{names[0]}")
        entered(shown, "mobiletest tests show Gr\t", f"tests|show|{names[1]}")
        for quote in ("", '"', "'"):
            entered(shown, f"mobiletest tests show {quote}Pa\t", f"tests|show|{names[0]}")
            entered(shown, f"mobiletest tests show {quote}Bu\t", f"tests|show|{names[2]}")
            entered(shown, f"mobiletest tests show {quote}It\t", f"tests|show|{names[3]}")
            entered(shown, f"mobiletest tests show {quote}As\t", f"tests|show|{names[4]}")
    assert not (shell.folder / "attacked").exists()


@pytest.mark.parametrize("name", SHELLS)
async def test_completion_is_silent_while_the_server_is_unreachable(stranger: Shell, tmp_path: Path, name: str) -> None:
    stranger.environ["MOBILETEST_URL"] = "http://127.0.0.1:9"
    with shell_of(name, stranger, tmp_path) as shown:
        entered(shown, "mobiletest doc\t", "doctor")
        shown.press("mobiletest run --app Sh\t\n")
        assert "cannot be reached" not in shown.wait_for("<run><--app><Sh>")


def test_tab_waits_for_a_silent_server_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MOBILETEST_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("MOBILETEST_API_KEY", "mt_key")
        assert answer(_command(), "zsh", ["run", "--app", ""]) == ""
    assert SECONDS <= 3
