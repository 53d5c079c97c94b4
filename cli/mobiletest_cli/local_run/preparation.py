"""What a run without a server runs: the flows of a folder, their variables, the app, and the models to ask."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.flows.configuration import properties_of
from mobiletest_automation.flows.environment import (
    Environment,
    InvalidEnvironment,
    check_environment,
    is_secret,
    text_of,
)
from mobiletest_automation.flows.variables import variables_read
from mobiletest_automation.model.variants import dimensions, make_variant
from mobiletest_cli.errors import INVALID_FILE, USAGE, CliError
from mobiletest_cli.local_run.devices import ChosenDevice
from mobiletest_cli.local_run.runner import Plan, PlannedFlow
from mobiletest_cli.local_run.step_selection import select_steps
from mobiletest_cli.output import Output
from mobiletest_cli.selection import read_file, select
from mobiletest_cli.shell_variables import shell_variables
from mobiletest_cli.validation import ERROR, NOTICE, render, validate, warn_of_sentences
from mobiletest_cli.workspace import Workspace, find_files

if TYPE_CHECKING:
    from mobiletest_automation.flows.environment import VariableValue
    from mobiletest_automation.flows.workspace import FoundWorkspace, WorkspaceFlow
    from mobiletest_cli.api_types import ImportTestsResult
    from mobiletest_cli.selection import Selection

_PAGE = ("http://", "https://")


def prepare(
    output: Output, wanted: Selection, device: ChosenDevice, start: str | None = None, end: str | None = None
) -> tuple[Plan, Workspace]:
    """The plan, and the folder that it is of; `start` and `end` are the steps of --from and --until.

    Raises:
        CliError: a flow, a step, a variable or the app cannot be used.
    """
    files = find_files(wanted.paths)
    found_workspace = _checked_flows(output, files, has_models=has_models(os.environ))
    chosen = select(
        _as_imported(found_workspace),
        files.selected,
        names=wanted.tests,
        tags=wanted.tags,
        excluded_tags=wanted.excluded_tags,
    )
    flows = {flow.path: flow for flow in found_workspace.flows}
    env = _environment(output, files, wanted)
    planned = [_planned(flows[test["path"]], files, env, found_workspace.order) for test in chosen]
    if start or end:
        planned = [_select_part(output, planned, files, start, end)]
        if wanted.app_files and device.keeps_apps and planned[0].begins_later:
            hint = "Install it and leave it out, or run the flow from its first step"
            message = f"--from goes on with the app on {device.name} and would not install {wanted.app_files[0]}"
            raise CliError(message, USAGE, hint)
    plan = Plan(
        flows=planned,
        platform=device.platform,
        build=_build(wanted.app_files, device, planned),
        variables={name: _value(name, value, wanted.shell) for name, value in env.items()},
        secrets=frozenset(name for name, value in env.items() if is_secret(name, value)),
        retries=wanted.retries or 0,
        continue_on_failure=found_workspace.continue_on_failure,
    )
    return plan, files


def has_models(environ: Mapping[str, str]) -> bool:
    """Whether the environment names an endpoint of language models."""
    return bool(environ.get("MOBILETEST_LLM_BASE_URL"))


def _checked_flows(output: Output, files: Workspace, *, has_models: bool) -> FoundWorkspace:
    """The flows of the folder, after what is to be noticed was said; of sentences, if there is no model to ask.

    Raises:
        CliError: one of them cannot be run.
    """
    problems = validate(files)
    if not has_models:
        problems += warn_of_sentences(files)
    lines = {
        severity: [
            line
            for problem in problems
            if (problem.severity == ERROR) == (severity == ERROR)
            for line in render(problem, files.text(problem.file), files.display_path(problem.file))
        ]
        for severity in (ERROR, NOTICE)
    }
    for line in lines[NOTICE]:
        output.say(line)
    found_workspace = files.find_flows()
    if lines[ERROR] or found_workspace is None:
        count = len({problem.file for problem in problems if problem.severity == ERROR})
        raise CliError(f"{count} flow{'s' if count > 1 else ''} cannot be run:", INVALID_FILE, details=lines[ERROR])
    return found_workspace


def _as_imported(found_workspace: FoundWorkspace) -> ImportTestsResult:
    """The flows as an import names them: their paths are the ids."""
    tests = [
        {"path": flow.path, "test_id": flow.path, "name": flow.name, "tags": list(flow.tags)}
        for flow in found_workspace.flows
    ]
    answer: Any = {"created": tests, "changed": [], "unchanged": [], "flows_order": list(found_workspace.order)}
    return cast("ImportTestsResult", answer)


def _planned(flow: WorkspaceFlow, files: Workspace, env: Environment, order: Sequence[str]) -> PlannedFlow:
    steps = json.loads(flow.steps)
    return PlannedFlow(
        path=flow.path,
        name=flow.name,
        steps=flow.steps,
        positions=flow.positions,
        files={file.path: files.paths[file.path] for file in flow.files},
        properties=properties_of(steps),
        in_order=flow.path in order,
        variant=make_variant(dimensions(env, variables_read(steps, env.keys()))),
    )


def _select_part(
    output: Output, planned: Sequence[PlannedFlow], files: Workspace, start: str | None, end: str | None
) -> PlannedFlow:
    """The only flow with the steps of --from and --until.

    Raises:
        CliError: there are several, or no such steps.
    """
    if len(planned) > 1:
        hint = "Name one: mobiletest run --local FILE --from STEP"
        raise CliError(f"--from and --until are about one flow, and {len(planned)} are selected", USAGE, hint)
    flow = select_steps(planned[0], files, start, end)
    if flow.part:
        output.say(f"Running only {flow.part} of {files.display_path(flow.path)}.")
    return flow


def _environment(output: Output, files: Workspace, wanted: Selection) -> Environment:
    """The variables from outside.

    Raises:
        CliError: one cannot be used.
    """
    shell = {name: value for name, value in shell_variables(files, wanted.shell).items() if name not in wanted.env}
    if shell:
        output.say(f"From the environment: {', '.join(sorted(shell))}.")
    try:
        return check_environment({**shell, **wanted.env}, "env")
    except InvalidEnvironment as error:
        raise CliError(str(error), USAGE) from None


def _value(name: str, value: VariableValue, environ: Mapping[str, str]) -> str:
    """The text of a variable; that of a secret of a server is the environment's variable of the same name."""
    text = text_of(value)
    if text is not None:
        return text
    if name not in environ:
        secret = cast("Mapping[str, str]", value)["secret"]
        message = f'{name} refers to the secret "{secret}" of a server, and the environment has no {name}'
        raise CliError(message, USAGE, f"Export it: export {name}=...")
    return environ[name]


def _build(app_files: Sequence[Path], device: ChosenDevice, flows: Sequence[PlannedFlow]) -> AppUnderTest:
    """The app to install.

    Raises:
        CliError: the device cannot install it.
    """
    if len(app_files) > 1:
        raise CliError("a run without a server has one app file", USAGE, "Run the platforms one after the other")
    if device.is_browser:
        if app_files:
            raise CliError(
                f"{app_files[0]}: a browser installs no app", USAGE, "The flow names its page: url: https://..."
            )
        return AppUnderTest(static_url=_page_of(flows))
    if not app_files:
        return AppUnderTest()
    [file] = app_files
    read = read_file(file)
    if read.platform and read.platform != device.platform:
        raise CliError(f"{file}: is for {read.platform}, and {device.name} for {device.platform}", INVALID_FILE)
    return AppUnderTest(
        app_name=file.stem,
        version=read.version or "",
        package_name=read.package_name,
        read=_beginning_of(file),
    )


def _page_of(flows: Sequence[PlannedFlow]) -> str | None:
    """The page that the header of the first flow with one names."""
    for flow in flows:
        header = next(iter(json.loads(flow.steps)), None)
        named = [header.get(key) for key in ("url", "appId")] if isinstance(header, dict) else []
        for page in named:
            if isinstance(page, str) and page.startswith(_PAGE):
                return page
    return None


def _beginning_of(file: Path) -> Callable[[int], Awaitable[bytes]]:
    async def read(limit: int) -> bytes:
        with file.open("rb") as opened:
            return opened.read(limit)

    return read
