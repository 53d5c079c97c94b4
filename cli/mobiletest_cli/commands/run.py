"""`mobiletest run`: from an app file and a folder of flows to a verdict."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import DEFAULT_FOLDER, Context, app_option, command, platform_name
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_automation.flows.environment import VariableValue
    from mobiletest_cli.output import Output
    from mobiletest_cli.results.files import Destinations
    from mobiletest_cli.start import Selection

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


def run(
    context: Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Folder of flows, or flow files in it; app files, as with --file.")
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="App file to upload (.apk, .ipa); one for each platform.")
    ] = None,
    app: Annotated[list[str] | None, app_option("App, by name or id; one for each platform.")] = None,
    build: Annotated[str | None, typer.Option(help="Version of the build: to test, or to upload the file as.")] = None,
    workflow: Annotated[str | None, typer.Option(help="Start this workflow, by name or id.")] = None,
    test: Annotated[list[str] | None, typer.Option(help="Only this test, by name, path or id.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only tests with this tag.")] = None,
    exclude_tag: Annotated[list[str] | None, typer.Option(help="No tests with this tag.")] = None,
    platform: Annotated[str | None, typer.Option(help="Android or iOS.")] = None,
    workspace: Annotated[
        str | None, typer.Option(help="Name of the folder on the server; the app's name without it.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the execution; the workspace's without it.")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", help="Variable NAME=VALUE; NAME takes it from the environment."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", "-s", help="Variable NAME whose value, that of the environment, is shown nowhere."),
    ] = None,
    retries: Annotated[int | None, typer.Option(min=0, max=5, help="Further attempts at tests that fail.")] = None,
    shard: Annotated[str | None, typer.Option(help="Only a part of the tests, such as 2/5.")] = None,
    cancel_previous: Annotated[
        bool, typer.Option("--cancel-previous", help="Cancel earlier executions of this change.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end.")] = True,
    timeout: Annotated[int | None, typer.Option(min=1, help="Seconds to wait at most.")] = None,
    gate: Annotated[
        bool | None, typer.Option("--gate/--no-gate", help="Let the gate decide, not every failure.")
    ] = None,
    base_branch: Annotated[str | None, typer.Option(help="Branch that the gate compares with.")] = None,
    fail_on_timeout: Annotated[bool, typer.Option(help="Exit code 6 when --timeout has passed.")] = True,
    fail_on_cancellation: Annotated[bool, typer.Option(help="Exit code 5 when the execution was cancelled.")] = True,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    junit_strict: Annotated[
        bool, typer.Option("--junit-strict", help="JUnit without properties of testcases.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write a Markdown report to this file.")] = None,
    artifacts: Annotated[
        Path | None, typer.Option(help="Download screenshots, trees and logs of failures to this folder.")
    ] = None,
    ci_branch: Annotated[str | None, typer.Option(help="Branch under test, if CI does not say it.")] = None,
    ci_commit: Annotated[str | None, typer.Option(help="Commit under test.")] = None,
    ci_pr: Annotated[int | None, typer.Option(help="Number of the pull request.")] = None,
    ci_repository: Annotated[str | None, typer.Option(help="Repository, such as team/app.")] = None,
    local: Annotated[bool, typer.Option("--local", help="Run in this process, without a server.")] = False,
    device: Annotated[
        str | None,
        typer.Option(help="With --local: simulated, a serial or udid, chrome, or the URL of an Appium server."),
    ] = None,
    capability: Annotated[
        list[str] | None, typer.Option(help="With --local: capability NAME=VALUE of the session.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="With --local: begin at this step, 3 or flow.yaml:12.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="STEP", help="With --local: end with this step, 5 or flow.yaml:17.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="With --local: run again after changes.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="With --local: try steps where one fails, and write them to the file.")
    ] = False,
    local_server: Annotated[
        bool, typer.Option("--local-server", help="Start a server on this machine for this command only.")
    ] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the execution in the browser.")] = False,
) -> int:
    """Upload the build, import the flows, run them, and report."""
    from mobiletest_cli.ci import detect, missing_branch
    from mobiletest_cli.results.files import Destinations
    from mobiletest_cli.start import Selection
    from mobiletest_cli.test_run import TestRun, WaitOptions

    project = context.project
    said: dict[str, Any] = {"branch": ci_branch, "commit_sha": ci_commit, "pr_number": ci_pr}
    said["repository"] = ci_repository
    local_only: dict[str, Any] = {"--device": device, "--capability": capability, "--from": from_, "--until": until}
    local_only |= {"--watch": watch, "--interactive": interactive}
    if local:
        server_only = {
            "--workflow": workflow,
            "--build": build,
            "--workspace": workspace,
            "--shard": shard,
            "--cancel-previous": cancel_previous,
            "--no-wait": not wait,
            "--gate": gate,
            "--base-branch": base_branch,
            "--local-server": local_server,
            "--open": open_,
            "--no-fail-on-cancellation": not fail_on_cancellation,
        }
        refuse_without_server([option for option, value in server_only.items() if value])
        file, app = [*(file or ()), *map(Path, app or ())], None
    elif given := [option for option, value in local_only.items() if value]:
        raise CliError(f"{given[0]} is for runs in this process", USAGE, "Run with --local")
    files, apps, paths = app_files(context.output, file or (), app or (), paths or ())
    if local:
        selection = Selection(
            app_files=files,
            platform=platform_name(chosen) if (chosen := platform or project.platform) else None,
            paths=context.flow_paths(paths),
            tests=test or (),
            tags=tag or project.tags or (),
            excluded_tags=exclude_tag or (),
            name=name,
            env=_with_secrets({**(project.env or {}), **_variables(env or (), os.environ)}, secret or (), os.environ),
            shell=os.environ,
            retries=project.retries if retries is None else retries,
        )
        return _run_here(
            context,
            selection,
            Destinations(junit, junit_strict, report, artifacts),
            device=device,
            capabilities=capability or (),
            timeout=timeout or project.timeout,
            fail_on_timeout=fail_on_timeout,
            start=from_,
            end=until,
            watch=watch,
            interactive=interactive,
        )
    found = detect(os.environ, *paths[:1], Path.cwd())
    attribution = replace(found, **{name: value for name, value in said.items() if value is not None})
    attribution = replace(attribution, base_branch=context.base_branch(base_branch, attribution))
    wanted = Selection(
        app_files=files,
        apps=apps or ([project.app] if project.app else ()),
        version=build,
        platform=platform_name(chosen) if (chosen := platform or project.platform) else None,
        paths=paths,
        workspace=workspace or project.workspace,
        workflow=workflow or (None if paths or test or tag else project.workflow),
        tests=test or (),
        tags=tag or project.tags or (),
        excluded_tags=exclude_tag or (),
        name=name,
        env=_with_secrets({**(project.env or {}), **_variables(env or (), os.environ)}, secret or (), os.environ),
        shell=os.environ,
        retries=project.retries if retries is None else retries,
        shard=_shard(shard),
        cancel_previous=cancel_previous,
        revision=attribution.commit_sha,
    )
    options = WaitOptions(
        wait=wait,
        timeout=timeout or project.timeout,
        gate=gate if gate is not None else project.gate is not False,
        base_branch=attribution.base_branch,
        fail_on_timeout=fail_on_timeout,
        fail_on_cancellation=fail_on_cancellation,
        open_browser=open_,
    )
    destinations = Destinations(junit, junit_strict, report, artifacts)
    destinations.check(wait=wait)
    wanted = _with_folder(wanted, context, has_tags=bool(tag))
    if missing := missing_branch(attribution):
        context.output.warn(". ".join(missing))
    if local_server:
        from mobiletest_cli.interruption import interruption
        from mobiletest_cli.local_server import local_server as start_server

        with interruption(), start_server(context.output) as server:
            context.server = server
            return TestRun(context.api, context.output, attribution, destinations).run(wanted, options)
    return TestRun(context.api, context.output, attribution, destinations).run(wanted, options)


def refuse_without_server(options: Sequence[str]) -> None:
    """CliError: there is an option among them, which are those that are given and only a server can do."""
    if options:
        raise CliError(f"{options[0]} needs a server, and --local has none", USAGE, f"Leave out {', '.join(options)}")


def _run_here(
    context: Context,
    selection: Selection,
    destinations: Destinations,
    *,
    device: str | None,
    capabilities: Sequence[str],
    timeout: float | None,
    fail_on_timeout: bool,
    start: str | None,
    end: str | None,
    watch: bool,
    interactive: bool,
) -> int:
    """Run without a server. The exit code; CliError: it could not be started."""
    from mobiletest_cli.local_requirements import check_installed

    check_installed()
    from mobiletest_cli.local_run.command import LocalOptions, LocalTestRun

    options = LocalOptions(device, capabilities, timeout, fail_on_timeout, start, end, watch, interactive)
    return LocalTestRun(context.output, destinations).run(selection, options)


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
    from mobiletest_cli.build_upload import is_app_file

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

    found = dict(env)
    for name in names:
        if "=" in name:
            name = name.partition("=")[0]
            hint = f"Export {name}, and give --secret {name}"
            raise CliError("--secret takes a name: everyone on this machine can read a value there", USAGE, hint)
        value = environ.get(name) or text_of(found.get(name, {}))
        if value is None:
            raise CliError(f"--secret {name}: the environment has no {name}", USAGE, f"Export it: export {name}=...")
        found |= override({name: found.get(name, "")}, {name: {"value": value, "secret": True}})
    return found


def _variables(texts: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Names and values of --env."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name:
            raise CliError(f'--env "{text}" has no name', USAGE, "Such as --env USER=ada")
        if not equals and name not in environ:
            raise CliError(f"--env {name}: the environment has no {name}", USAGE, f"Give a value: --env {name}=...")
        found[name] = value if equals else environ[name]
    return found
