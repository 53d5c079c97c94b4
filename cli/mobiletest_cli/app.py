"""The command and its groups. Only typer is imported before a command runs, so that --help is fast."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import Annotated, Any, cast

import typer

from mobiletest_cli import __version__
from mobiletest_cli.commands import (
    apps,
    builds,
    comments,
    devices,
    execution_list,
    executions,
    failures,
    keys,
    mcp,
    recheck,
    reports,
    run,
    server,
    tests,
    workflows,
)
from mobiletest_cli.completion import VARIABLE, answer
from mobiletest_cli.errors import INTERRUPTED, MEANINGS, USAGE, CliError

# ClickException, which typer has in one place or another, depending on its version.
_WRONG_USAGE: type[BaseException] = typer.BadParameter.__mro__[2]
_GROUPS = (
    run,
    devices,
    execution_list,
    executions,
    comments,
    reports,
    failures,
    apps,
    builds,
    tests,
    recheck,
    workflows,
    keys,
    mcp,
    server,
)
# Modules with one command or group. It is made without all others if the first argument names it: they take 0.1 s.
_OF_ONE_COMMAND = {
    "run": run,
    "devices": devices,
    "executions": execution_list,
    "failures": failures,
    "apps": apps,
    "builds": builds,
    "tests": tests,
    "recheck": recheck,
    "workflows": workflows,
}
EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())


def build_app(groups: Iterable[ModuleType] = _GROUPS) -> typer.Typer:
    """The typer application with the commands of these modules."""
    app = typer.Typer(
        name="mobiletest",
        help="Run automated tests against builds of mobile apps: mobiletest run app.apk .maestro",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(options)
    for group in groups:
        group.register(app)
    return app


def show_version(wanted: bool) -> None:
    """Print the version and end, if it is wanted."""
    if wanted:
        from mobiletest_cli.output import Output

        Output().text(f"mobiletest {__version__}\n")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=show_version)
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command, and end the process with its exit code."""
    if sys.stdin is None:  # closed by the caller
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    gc.set_threshold(50_000)  # imports make much and drop little: collecting takes a tenth of a short command's time
    for unused in ("httpx._main", "trio", "rich.traceback"):  # HTTPX and structlog do without them, and they are slow
        sys.modules.setdefault(unused, cast("Any", None))
    if shell := os.environ.get(VARIABLE):
        from mobiletest_cli.output import write_completions

        write_completions(answer(_command(), shell, sys.argv[1:]))
        return
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str]) -> int:
    """Run the command with these arguments; its exit code."""
    try:
        groups = tuple(_OF_ONE_COMMAND[name] for name in arguments[:1] if name in _OF_ONE_COMMAND) or _GROUPS
        return cast("int", _command(groups)(args=arguments, prog_name="mobiletest", standalone_mode=False))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except _WRONG_USAGE as error:
        return _refuse(error, as_json="--json" in arguments)


@cache
def _command(groups: tuple[ModuleType, ...] = _GROUPS) -> Any:
    """The command, made once in a process, which takes longer than most of what it does."""
    return typer.main.get_command(build_app(groups))


def _refuse(error: Any, *, as_json: bool) -> int:
    """Say what is wrong with the arguments; the exit code."""
    from mobiletest_automation.flows.printable import one_line
    from mobiletest_cli.output import Output

    if as_json:
        Output(as_json=True).error(CliError(error.format_message(), USAGE, "mobiletest --help"))
    else:
        shown = io.StringIO()
        error.show(shown)
        said = f"Error: {error.format_message()}"
        Output().usage(shown.getvalue().replace(said, one_line(said)))
    return USAGE
