"""What every command has: its options for the server and the output, and the connection that they lead to."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from mobiletest_cli.completion import complete_parameter
from mobiletest_cli.configuration import Profiles, Project, Server, ServerFlags, find_server, profiles_of, read_project
from mobiletest_cli.errors import NO_VERDICT, OK, USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import App
    from mobiletest_cli.ci.attribution import Attribution
    from mobiletest_cli.output import Output

DEFAULT_FOLDER = Path(".maestro")
PLATFORMS = ("Android", "iOS")

_COMMON: dict[str, tuple[Any, Any]] = {
    "url": (Annotated[str, typer.Option("--url", help="Address of the server (MOBILETEST_URL).")], ""),
    "profile": (Annotated[str, typer.Option(help="Profile of `mobiletest login` (MOBILETEST_PROFILE).")], ""),
    "api_key_stdin": (Annotated[bool, typer.Option("--api-key-stdin", help="Read the API key from stdin.")], False),
    "ca_file": (Annotated[str, typer.Option(help="Certificates of a private CA (MOBILETEST_CA_FILE).")], ""),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print one JSON document, errors too.")], False),
    "patience": (
        Annotated[float, typer.Option(min=0, help="Seconds to try again when the server is away or busy.")],
        60.0,
    ),
    "quiet": (Annotated[bool, typer.Option("--quiet", "-q", help="Print the result only.")], False),
}


class Context:
    """One call of the command. The server is looked up, and connected to, when it is needed first."""

    def __init__(self, flags: ServerFlags, output: Output, patience: float) -> None:
        self.flags = flags
        self.patience = patience
        self.output = output
        self.environ = os.environ

    @cached_property
    def profiles(self) -> Profiles:
        return profiles_of(self.environ)

    @cached_property
    def project(self) -> Project:
        return read_project(Path.cwd())

    @cached_property
    def server(self) -> Server:
        return find_server(self.flags, self.environ, self.profiles)

    @cached_property
    def api(self) -> Api:
        from mobiletest_cli.api import Api

        return Api(self.server, patience=self.patience, on_wait=self.output.say)

    def find_app(self, wanted: str | None) -> App:
        """The app that is named, or that of the project, or the only one.

        Raises:
            CliError: it does not exist, or there are several.
        """
        from mobiletest_cli.lookup import app_candidates, find_app

        name = wanted or self.project.app
        if name:
            return find_app(self.api, name)
        apps, candidates = app_candidates(self.api)
        if len(apps) != 1:
            hint = f"Name it with --app, or as app in mobiletest.yaml. There are {candidates or 'none yet'}"
            raise CliError("no app is named", USAGE, hint)
        return apps[0]

    def base_branch(self, wanted: str | None, detected: Attribution | None = None) -> str | None:
        """The branch that is named, or that of the project, or the one that CI says; None leaves it to the server.

        `detected` is what CI says, if that is known already.
        """
        from mobiletest_cli.ci import detect

        named = wanted or self.project.base_branch
        return named or (detected or detect(self.environ, Path.cwd())).base_branch

    def flow_paths(self, paths: Sequence[Path] | None) -> Sequence[Path]:
        """The paths that are given, or the folder of the project, or the usual one.

        Raises:
            CliError: there is none.
        """
        if paths:
            return paths
        if self.project.folder and self.project.path:
            return [self.project.path.parent / self.project.folder]
        if DEFAULT_FOLDER.is_dir():
            return [DEFAULT_FOLDER]
        hint = f"Name a folder of flows, or make {DEFAULT_FOLDER}"
        raise CliError(f"there is no folder {DEFAULT_FOLDER}", USAGE, hint)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask, unless it was confirmed.

        Raises:
            CliError: nobody can be asked, or the answer is no.
        """
        if yes:
            return
        if not sys.stdin.isatty():
            raise CliError("cannot ask for confirmation without a terminal", USAGE, "Confirm it with --yes")
        if not self.output.confirm(question):
            raise CliError("nothing was changed", USAGE)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if "api" in self.__dict__:
            self.api.close()


def command(group: typer.Typer, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
    """Register a function as a command that also has the common options.

    It is called with a Context and its own options, and may return an exit code. A CliError is shown, and ends the
    process with its code.
    """

    def register(function: Callable[..., int | None]) -> Callable[..., int | None]:
        @wraps(function)
        def run(**values: Any) -> None:
            common = {key: values.pop(key) for key in _COMMON}
            raise typer.Exit(_run(function, common, _grouped(declared, values)))

        hints = {**inspect.get_annotations(function, eval_str=True)}
        declared = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        own = [parameter for each in declared for parameter in _options_of(each)]
        for parameter in own:
            _complete_values(parameter)
        common = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for key, (kind, default) in _COMMON.items()
        ]
        kept = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = inspect.Signature([*kept, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: hints.get(p.name, p.annotation) for p in [*kept, *common]}
        del run.__wrapped__
        group.command(name, **options)(run)
        return function

    return register


def _options_of(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The options of a dataclass, or the parameter itself if it is one option."""
    group = parameter.annotation
    if not is_dataclass(group):
        return [parameter]
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(x.name, kind, default=x.default, annotation=hints[x.name]) for x in fields(group)]


def _grouped(parameters: Sequence[inspect.Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function, of the values of its options."""
    groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}
    grouped = {name: group(**{x.name: values[x.name] for x in fields(group)}) for name, group in groups.items()}
    return {each.name: grouped[each.name] if each.name in grouped else values[each.name] for each in parameters}


def _complete_values(parameter: inspect.Parameter) -> None:
    """Let shells complete the values of the parameter, if they know any."""
    for described in getattr(parameter.annotation, "__metadata__", ()):
        described.autocompletion = complete_parameter(parameter.name)


def _run(function: Callable[..., int | None], common: dict[str, Any], values: dict[str, Any]) -> int:
    from mobiletest_cli.output import Output

    output = Output(common["as_json"], common["quiet"])
    context: Context | None = None
    try:
        context = Context(_server_flags(common), output, common["patience"])
        code = function(context, **values) or OK
        output.flush()
    except CliError as error:
        output.error(error)
        return error.exit_code
    except OSError as error:
        if error.filename is not None:
            return _defect(output, error)
        return output.lose(error)
    except (typer.Abort, typer.Exit):
        raise
    except Exception as error:
        return _defect(output, error)
    else:
        return code
    finally:
        if context is not None:
            context.close()


def _defect(output: Output, error: Exception) -> int:
    """Say what went wrong inside of the command, which is no failed test; the exit code."""
    if os.environ.get("MOBILETEST_DEBUG"):
        output.traceback(error)
    hint = "This is a defect of the command: report it with the traceback, which MOBILETEST_DEBUG=1 shows"
    output.error(CliError(f"{type(error).__name__}: {error}", NO_VERDICT, hint))
    return NO_VERDICT


def platform_name(text: str) -> str:
    """The platform as the server spells it.

    Raises:
        CliError: there is no such platform.
    """
    for platform in PLATFORMS:
        if text.lower() == platform.lower():
            return platform
    raise CliError(f'"{text}" is not a platform', USAGE, " or ".join(PLATFORMS))


def app_option(help_text: str) -> Any:
    """The option that names an app, the same in all commands."""
    return typer.Option("--app", "--app-id", help=help_text)


def read_text(read: Callable[[], str]) -> str:
    """What is read from stdin.

    Raises:
        CliError: it is no text.
    """
    try:
        text = read()
        text.encode()
    except UnicodeError:
        raise CliError("stdin is not text in UTF-8", USAGE) from None
    return text


def _server_flags(common: dict[str, Any]) -> ServerFlags:
    key = None
    if common["api_key_stdin"]:
        key = read_text(sys.stdin.readline).strip()
        if not key:
            raise CliError("--api-key-stdin: no API key on stdin", USAGE)
    return ServerFlags(common["url"] or None, key, common["profile"] or None, common["ca_file"] or None)
