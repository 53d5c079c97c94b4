"""`mobiletest run`: from an app file and a folder of flows to a verdict."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import DEFAULT_FOLDER, Context, app_option, command, platform_name
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_automation.flows.environment import VariableValue
    from mobiletest_cli.output import Output
    from mobiletest_cli.results.files import Destinations
    from mobiletest_cli.selection import Selection

EPILOG = """\b
Exit codes:
  0 passed                         6 --timeout passed
  1 tests failed, or gate blocks   7 no verdict (infrastructure, configuration)
  2 usage                          8 server unreachable
  3 authentication                 9 limit exhausted
  4 not found                     10 invalid file
  5 cancelled               130, 143 interrupted, terminated (the execution is cancelled)
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "run", epilog=EPILOG)(run)


@dataclass(frozen=True)
class WhatToRun:
    """What to run, and with which variables."""

    paths: Annotated[
        list[Path] | None, typer.Argument(help="Folder of flows, or flow files in it; app files, as with --file.")
    ] = None
    file: Annotated[list[Path] | None, typer.Option(help="App file to upload (.apk, .ipa); one for each platform.")] = (
        None
    )
    app: Annotated[list[str] | None, app_option("App, by name or id; one for each platform.")] = None
    platform: Annotated[str | None, typer.Option(help="Android or iOS.")] = None
    test: Annotated[list[str] | None, typer.Option(help="Only this test, by name, path or id.")] = None
    tag: Annotated[list[str] | None, typer.Option(help="Only tests with this tag.")] = None
    exclude_tag: Annotated[list[str] | None, typer.Option(help="No tests with this tag.")] = None
    name: Annotated[str | None, typer.Option(help="Name of the execution; the workspace's without it.")] = None
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", help="Variable NAME=VALUE; NAME takes it from the environment."),
    ] = None
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", "-s", help="Variable NAME whose value, that of the environment, is shown nowhere."),
    ] = None
    retries: Annotated[int | None, typer.Option(min=0, max=5, help="Further attempts at tests that fail.")] = None


@dataclass(frozen=True)
class ServerOptions:
    """What only a server can do."""

    build: Annotated[str | None, typer.Option(help="Version of the build: to test, or to upload the file as.")] = None
    workflow: Annotated[str | None, typer.Option(help="Start this workflow, by name or id.")] = None
    workspace: Annotated[
        str | None, typer.Option(help="Name of the folder on the server; the app's name without it.")
    ] = None
    shard: Annotated[str | None, typer.Option(help="Only a part of the tests, such as 2/5.")] = None
    cancel_previous: Annotated[
        bool, typer.Option("--cancel-previous", help="Cancel earlier executions of this change.")
    ] = False
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end.")] = True
    gate: Annotated[bool | None, typer.Option("--gate/--no-gate", help="Let the gate decide, not every failure.")] = (
        None
    )
    base_branch: Annotated[str | None, typer.Option(help="Branch that the gate compares with.")] = None
    fail_on_cancellation: Annotated[bool, typer.Option(help="Exit code 5 when the execution was cancelled.")] = True
    local_server: Annotated[
        bool, typer.Option("--local-server", help="Start a server on this machine for this command only.")
    ] = False
    verbose: Annotated[bool, typer.Option("--verbose", help="Print each step as it ends.")] = False
    open_: Annotated[bool, typer.Option("--open", help="Open the execution in the browser.")] = False


@dataclass(frozen=True)
class CiOptions:
    """Which change is tested, if CI does not say it."""

    ci_branch: Annotated[str | None, typer.Option(help="Branch under test, if CI does not say it.")] = None
    ci_commit: Annotated[str | None, typer.Option(help="Commit under test.")] = None
    ci_pr: Annotated[int | None, typer.Option(help="Number of the pull request.")] = None
    ci_repository: Annotated[str | None, typer.Option(help="Repository, such as team/app.")] = None

    @property
    def given(self) -> dict[str, str | int]:
        """What is given, by the fields of an attribution."""
        values = {
            "branch": self.ci_branch,
            "commit_sha": self.ci_commit,
            "pr_number": self.ci_pr,
            "repository": self.ci_repository,
        }
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class WaitLimits:
    """How long the command waits."""

    timeout: Annotated[int | None, typer.Option(min=1, help="Seconds to wait at most.")] = None
    fail_on_timeout: Annotated[bool, typer.Option(help="Exit code 6 when --timeout has passed.")] = True


@dataclass(frozen=True)
class ResultFileOptions:
    """Which files to write."""

    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None
    junit_strict: Annotated[bool, typer.Option("--junit-strict", help="JUnit without properties of testcases.")] = False
    report: Annotated[Path | None, typer.Option(help="Write a Markdown report to this file.")] = None
    artifacts: Annotated[
        Path | None, typer.Option(help="Download screenshots, trees and logs of failures to this folder.")
    ] = None

    @property
    def destinations(self) -> Destinations:
        from mobiletest_cli.results.files import Destinations

        return Destinations(self.junit, self.junit_strict, self.report, self.artifacts)


@dataclass(frozen=True)
class LocalOptions:
    """Runs in this process."""

    local: Annotated[bool, typer.Option("--local", help="Run in this process, without a server.")] = False
    device: Annotated[
        str | None,
        typer.Option(help="With --local: simulated, a serial or udid, chrome, or the URL of an Appium server."),
    ] = None
    capability: Annotated[
        list[str] | None, typer.Option(help="With --local: capability NAME=VALUE of the session.")
    ] = None
    from_: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="With --local: begin at this step, 3 or flow.yaml:12.")
    ] = None
    until: Annotated[
        str | None, typer.Option(metavar="STEP", help="With --local: end with this step, 5 or flow.yaml:17.")
    ] = None
    watch: Annotated[bool, typer.Option("--watch", help="With --local: run again after changes.")] = False
    interactive: Annotated[
        bool, typer.Option("--interactive", help="With --local: try steps where one fails, and write them to the file.")
    ] = False


def run(
    context: Context,
    what: WhatToRun,
    server: ServerOptions,
    ci: CiOptions,
    limits: WaitLimits,
    results: ResultFileOptions,
    here: LocalOptions,
) -> int:
    """Upload the build, import the flows, run them, and report."""
    if here.local:
        if given := _given(server) + _given(ci):
            hint = f"Leave out {', '.join(given)}"
            raise CliError(f"{given[0]} needs a server, and --local has none", USAGE, hint)
        return _run_here(context, what, limits, results, here)
    if given := _given(here):
        raise CliError(f"{given[0]} is for runs in this process", USAGE, "Run with --local")
    from mobiletest_cli.ci import detect, missing_branch
    from mobiletest_cli.test_run import TestRun, WaitOptions

    project = context.project
    selection = _selection(context, what)
    attribution = replace(detect(os.environ, *selection.paths[:1], Path.cwd()), **ci.given)  # type: ignore[arg-type]
    attribution = replace(attribution, base_branch=context.base_branch(server.base_branch, attribution))
    options = WaitOptions(
        wait=server.wait,
        timeout=limits.timeout or project.timeout,
        gate=server.gate if server.gate is not None else project.gate is not False,
        base_branch=attribution.base_branch,
        fail_on_timeout=limits.fail_on_timeout,
        fail_on_cancellation=server.fail_on_cancellation,
        open_browser=server.open_,
        verbose=server.verbose,
    )
    destinations = results.destinations
    destinations.check(wait=server.wait)
    selection = _on_server(context, selection, server, attribution.commit_sha, has_tags=bool(what.tag))
    if missing := missing_branch(attribution):
        context.output.warn(". ".join(missing))
    with _server(context) if server.local_server else nullcontext():
        return TestRun(context.api, context.output, attribution, destinations).run(selection, options)


def _run_here(
    context: Context,
    what: WhatToRun,
    limits: WaitLimits,
    results: ResultFileOptions,
    here: LocalOptions,
) -> int:
    """Run without a server. The exit code.

    Raises:
        CliError: it could not be started.
    """
    from mobiletest_cli.local_requirements import check_installed, import_structlog

    what = replace(what, file=[*(what.file or ()), *map(Path, what.app or ())], app=None)
    selection = _selection(context, what)
    selection = replace(selection, paths=context.flow_paths(selection.paths))
    check_installed()
    import_structlog()
    from mobiletest_cli.local_run.command import LocalTestRun

    if not here.interactive:  # that of the project is for runs that nobody attends
        limits = replace(limits, timeout=limits.timeout or context.project.timeout)
    return LocalTestRun(context.output, results.destinations).run(selection, here, limits)


def _given(options: ServerOptions | CiOptions | LocalOptions) -> list[str]:
    """The options that are given, as they are written."""
    values = [(each, getattr(options, each.name)) for each in fields(options)]
    return [
        f"--{'no-' if value is False else ''}{each.name.strip('_').replace('_', '-')}"
        for each, value in values
        if value != each.default and value != []
    ]


def _selection(context: Context, what: WhatToRun) -> Selection:
    """What to run, as far as it does not depend on a server."""
    from mobiletest_cli.selection import Selection

    project, environ = context.project, os.environ
    files, apps, paths = app_files(context.output, what.file or (), what.app or (), what.paths or ())
    platform = what.platform or project.platform
    env = {**(project.env or {}), **_variables(what.env or (), environ)}
    return Selection(
        app_files=files,
        apps=apps,
        platform=platform_name(platform) if platform else None,
        paths=paths,
        tests=what.test or (),
        tags=what.tag or project.tags or (),
        excluded_tags=what.exclude_tag or (),
        name=what.name,
        env=_with_secrets(env, what.secret or (), environ),
        shell=environ,
        retries=project.retries if what.retries is None else what.retries,
    )


def _on_server(
    context: Context, selection: Selection, server: ServerOptions, revision: str | None, *, has_tags: bool
) -> Selection:
    """The selection with what a server has: apps, builds and workflows."""
    project = context.project
    has_tests = selection.paths or selection.tests or has_tags
    selection = replace(
        selection,
        apps=selection.apps or ([project.app] if project.app else ()),
        version=server.build,
        workspace=server.workspace or project.workspace,
        workflow=server.workflow or (None if has_tests else project.workflow),
        shard=_shard(server.shard),
        cancel_previous=server.cancel_previous,
        revision=revision,
    )
    return _with_folder(selection, context, has_tags=has_tags)


@contextmanager
def _server(context: Context) -> Iterator[None]:
    """During the block, a server on this machine, which the context uses."""
    from mobiletest_cli.interruption import interruption
    from mobiletest_cli.local_server import local_server

    with interruption(), local_server(context.output) as server:
        context.server = server
        yield


def _with_folder(wanted: Selection, context: Context, *, has_tags: bool) -> Selection:
    """The selection with the folder of the project, or the usual one, if nothing else says what to run."""
    if wanted.workflow:
        if any((wanted.paths, wanted.tests, has_tags, wanted.excluded_tags, wanted.name)):
            hint = "Leave out PATHS, --test, --tag, --exclude-tag and --name"
            raise CliError("--workflow starts the tests of the workflow", USAGE, hint)
        return wanted
    if wanted.paths or ((wanted.tests or wanted.tags) and not _has_folder(context)):
        return wanted
    return replace(wanted, paths=context.flow_paths(None))


def _has_folder(context: Context) -> bool:
    return bool(context.project.folder) or DEFAULT_FOLDER.is_dir()


def app_files(
    output: Output, files: Sequence[Path], apps: Sequence[str], paths: Sequence[Path]
) -> tuple[Sequence[Path], Sequence[str], list[Path]]:
    """App files, names of apps, and paths of flows; app files may stand among the paths, and, as before, in --app."""
    from mobiletest_cli.selection import is_app_file

    named_as_apps = [name for name in apps if is_app_file(Path(name)) or os.path.isfile(name)]
    for name in named_as_apps:
        output.warn(f"--app is the name or id of an app: give the file {name} as --file {shlex.quote(name)}")
    among_paths = [path for path in paths if is_app_file(path)]
    return (
        [*files, *map(Path, named_as_apps), *among_paths],
        [name for name in apps if name not in named_as_apps],
        [path for path in paths if path not in among_paths],
    )


def _shard(text: str | None) -> tuple[int, int] | None:
    """Index and count of "2/5"."""
    if text is None:
        return None
    index, _, count = text.partition("/")
    is_number = all(part.isascii() and part.isdecimal() for part in (index, count))
    if not (is_number and 1 <= int(index) <= int(count) <= 100):
        raise CliError(f'--shard "{text}" is not a part of the whole', USAGE, "Such as 2/5: the second of five")
    return int(index), int(count)


def _with_secrets(
    env: Mapping[str, VariableValue], names: Sequence[str], environ: Mapping[str, str]
) -> Mapping[str, VariableValue]:
    """The variables, and those of --secret declared so, with the value of the environment, or else of the variable."""
    from mobiletest_automation.flows.environment import override, text_of

    variables = dict(env)
    for name in names:
        if "=" in name:
            name = name.partition("=")[0]
            hint = f"Export {name}, and give --secret {name}"
            raise CliError("--secret takes a name: everyone on this machine can read a value there", USAGE, hint)
        value = environ.get(name) or text_of(variables.get(name, {}))
        if value is None:
            raise CliError(f"--secret {name}: the environment has no {name}", USAGE, f"Export it: export {name}=...")
        variables |= override({name: variables.get(name, "")}, {name: {"value": value, "secret": True}})
    return variables


def _variables(texts: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Names and values of --env."""
    variables: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name:
            raise CliError(f'--env "{text}" has no name', USAGE, "Such as --env USER=ada")
        if not equals and name not in environ:
            raise CliError(f"--env {name}: the environment has no {name}", USAGE, f"Give a value: --env {name}=...")
        variables[name] = value if equals else environ[name]
    return variables
