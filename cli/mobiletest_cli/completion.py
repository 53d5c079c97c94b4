"""Completion of the command by shells: the scripts that they load, and the answers to what these ask at each Tab."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from mobiletest_automation.flows.printable import printable
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api import Api

# Names the shell that asks. Bash gives its line, the others their words, the last of which is to be completed.
VARIABLE = "_MOBILETEST_COMPLETE"
# How long a Tab waits for names of the server.
SECONDS = 2.0
_MOST = 100
# From what the command line says before, and the beginning of a value: values with descriptions.
_Values = Callable[[Any, str], Iterable[tuple[str, str]]]
# Stands for the cursor: an ordinary character.
_END = "$"
_SCRIPTS = {
    "bash": """\
_mobiletest_complete() {
    local value
    COMPREPLY=()
    while IFS= read -r value; do
        COMPREPLY+=("$value")
    done < <(_MOBILETEST_COMPLETE=bash "${1/#\\~/$HOME}" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o bashdefault -o default -F _mobiletest_complete mobiletest
""",
    "zsh": """\
_mobiletest_complete() {
    local line
    local -a values shown
    while IFS= read -r line; do
        values+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done < <(_MOBILETEST_COMPLETE=zsh ${~words[1]} "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    if (( $#values )); then
        compset -P '--*='
        compadd -l -d shown -a values
    else
        compset -P '--*='
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _mobiletest_complete mobiletest
""",
    "fish": """\
function __mobiletest_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (_MOBILETEST_COMPLETE=fish $words[1] $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c mobiletest -f -a '(__mobiletest_complete)'
""",
}


def script(shell: str) -> str:
    """The script of a shell.

    Raises:
        CliError: it is not known.
    """
    if shell not in _SCRIPTS:
        raise CliError(f'"{shell}" is not a shell that can be completed', USAGE, ", ".join(_SCRIPTS))
    return _SCRIPTS[shell]


def answer(command: Any, shell: str, arguments: Sequence[str]) -> str:
    """The lines for the script of a shell: values, with descriptions after a tab where the shell shows them.

    Whatever goes wrong, there are none: a Tab says no errors.
    """
    with suppress(Exception):
        words, quote = [*arguments], ""
        if shell == "bash":
            (_, *words), quote = _split(arguments[0])
        return "".join(f"{line}\n" for line in _lines(command, shell, words, quote))
    return ""


def _lines(command: Any, shell: str, words: Sequence[str], quote: str) -> Iterable[str]:
    from typer._completion_classes import BashComplete

    completed, incomplete = [*words[:-1]], words[-1]
    if shell == "fish":  # gives the word as it was typed
        incomplete = re.sub(r"\\(.)", r"\1", incomplete.lstrip("\"'"))
    prefix = incomplete.partition("=")[0] + "=" if incomplete.startswith("-") and "=" in incomplete else ""
    for item in BashComplete(command, {}, "mobiletest", VARIABLE).get_completions(completed, incomplete):
        value, help_text = str(item.value), printable(" ".join((item.help or "").split()))
        if not value.isprintable():
            continue
        if shell == "bash":
            yield _for_bash(value, incomplete.removeprefix(prefix), quote)
        else:
            yield f"{prefix if shell == 'fish' else ''}{value}" + (f"\t{help_text}" if help_text else "")


def _for_bash(value: str, incomplete: str, quote: str) -> str:
    """What bash puts in the place of its word, which begins after the last colon or inside of a quote.

    It stays one word, and nothing in it is run: in double quotes "$(...)" would be, and "!" is literal in single ones
    only. Bash closes the quote, unless the word ends with one.
    """
    if quote:
        doubled = re.sub(r'(["$`\\])', r"\\\1", value).replace("!", "\"'!'\"")
        escaped = value.replace("'", r"'\''") if quote == "'" else doubled
        return f"{escaped}{quote}" if escaped.endswith(quote) else escaped
    return re.sub(r"([^\w@%+=:,./~^-])", r"\\\1", value[incomplete.rfind(":") + 1 :], flags=re.UNICODE)


def _split(line: str) -> tuple[list[str], str]:
    """The words of a line of the shell, the last of which may be empty, and the quote in which that is: "" for none."""
    lexer = shlex.shlex(f"{line}{_END}", posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words += lexer
    except ValueError:  # the line ends inside of a quote
        words.append(lexer.token)
        return [*words[:-1], words[-1].removesuffix(_END)], str(lexer.state)  # type: ignore[attr-defined]
    return [*words[:-1], words[-1].removesuffix(_END)], ""


def complete_parameter(name: str) -> Callable[[typer.Context, str], Iterable[tuple[str, str]]] | None:
    """What completes the values of a parameter: names mean the same in all commands. None: nothing does."""
    values = _VALUES.get(name)
    if values is None:
        return None

    def complete(ctx: typer.Context, incomplete: str) -> Iterable[tuple[str, str]]:
        return values(ctx.params, incomplete)

    return complete


def _fixed(*texts: str) -> _Values:
    return lambda _, __: [(text, "") for text in texts]


def _of_server(read: Callable[[Api, Any, str], Iterable[tuple[str, str]]]) -> _Values:
    """Values that the server knows. Without one, or one that answers in time, there are none."""

    def values(params: Any, incomplete: str) -> Iterable[tuple[str, str]]:
        suggestions: list[tuple[str, str]] = []

        def fetch() -> None:
            with suppress(Exception):
                api = _connect(params)
                suggestions.extend(read(api, params, incomplete))

        thread = threading.Thread(target=fetch, daemon=True)  # the name of a host may take longer than any timeout
        thread.start()
        thread.join(SECONDS)
        return [] if thread.is_alive() else suggestions

    return values


def _connect(params: Any) -> Api:
    from mobiletest_cli.configuration import ServerFlags
    from mobiletest_cli.context import Context
    from mobiletest_cli.output import Output

    flags = [params.get(name) or None for name in ("url", "profile", "ca_file")]
    return Context(ServerFlags(flags[0], None, flags[1], flags[2]), Output(quiet=True), patience=0).api


def _named(collection: str, description: str) -> _Values:
    """Names of a collection, and what they are told apart by."""

    def read(api: Api, _: Any, incomplete: str) -> Iterable[tuple[str, str]]:
        for item in api.pages(collection, limit=_MOST, search=incomplete or None):
            yield item["name"], str(item.get(description) or "")

    return _of_server(read)


def _builds(api: Api, params: Any, _: str) -> Iterable[tuple[str, str]]:
    from mobiletest_cli.lookup import find_app, only_app

    named = params.get("app")
    app = find_app(api, named[0] if isinstance(named, (list, tuple)) else named) if named else only_app(api)
    for build in api.pages(f"apps/{app['id']}/builds", limit=_MOST) if app else ():
        yield build["version"], str(build["uploaded_at"])


def _failures(api: Api, _: Any, __: str) -> Iterable[tuple[str, str]]:
    for failure in api.pages("failures", limit=20):
        yield failure["fingerprint"], f"{failure['app_name']}: {failure['sample_message'][:60]}"


def _executions(api: Api, _: Any, __: str) -> Iterable[tuple[str, str]]:
    from mobiletest_cli.presentation import state

    for execution in api.pages("executions", limit=20):
        name = execution["workflow_name"] or execution.get("name") or execution["kind"]
        yield execution["id"], f"{name}: {state(execution)}"


_VALUES: dict[str, _Values] = {
    "app": _named("apps", "platform"),
    "test": _named("tests", "workspace"),
    "workflow": _named("workflows", "description"),
    "build": _of_server(_builds),
    "execution": _of_server(_executions),
    "fingerprint": _of_server(_failures),
    "result": _fixed("passed", "failed", "no_verdict", "flaky", "cancelled", "running"),
    "sort": _fixed("newest", "oldest", "longest"),
    "state": _fixed("open", "known", "fixed"),
    "platform": _fixed("Android", "iOS"),
    "device": _fixed("chrome", "simulated", "simulated:ios"),
    "shell": _fixed(*_SCRIPTS),
}
