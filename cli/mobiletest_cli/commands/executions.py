"""Commands about one execution: status, wait, logs, cancel, rerun, gate, heal, open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mobiletest_cli.context import Context, app_option, command
from mobiletest_cli.errors import FAILED, OK, USAGE, CliError, exit_code_of_gate

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run


def _check_id(text: str) -> str:
    from mobiletest_cli.names import is_id

    if not is_id(text):
        raise typer.BadParameter(f'"{text}" is not the id of an execution: mobiletest executions')
    return text


def _check_optional_id(text: str | None) -> str | None:
    return None if text is None else _check_id(text)


ExecutionArgument = Annotated[str, typer.Argument(metavar="EXECUTION", help="Id of the execution.", callback=_check_id)]
TimeoutOption = Annotated[int | None, typer.Option("--timeout", min=1, help="Seconds to wait at most.")]
GateOption = Annotated[bool, typer.Option("--gate/--no-gate", help="Let the gate decide, not every failure.")]
BaseBranchOption = Annotated[
    str | None, typer.Option(help="Branch that the gate compares with; without it, as in `run`.")
]
JunitOption = Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")]
ReportOption = Annotated[Path | None, typer.Option(help="Write a Markdown report to this file.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    named = {
        "status": status,
        "wait": wait,
        "logs": logs,
        "cancel": cancel,
        "rerun": rerun,
        "gate": gate,
        "heal": heal,
        "open": open_execution,
    }
    for name, function in named.items():
        command(app, name)(function)


def status(context: Context, execution: ExecutionArgument) -> None:
    """Show an execution and its runs as they are now."""
    from mobiletest_cli import presentation

    execution_details = context.api.get(f"executions/{execution}")
    runs = list(context.api.pages(f"executions/{execution}/runs"))
    if context.output.as_json:
        context.output.document({"execution": execution_details, "runs": runs})
        return
    presentation.show_runs(context.output, runs)
    presentation.show_headline(context.output, execution_details, runs)
    if count := sum(run.get("comment_count", 0) for run in runs):
        context.output.result(f"{count} comment{'' if count == 1 else 's'}: mobiletest comments {execution}")


def wait(
    context: Context,
    execution: ExecutionArgument,
    timeout: TimeoutOption = None,
    gate: GateOption = True,
    base_branch: BaseBranchOption = None,
    junit: JunitOption = None,
    report: ReportOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print each step as it ends.")] = False,
) -> int:
    """Wait for the end of an execution, and report as `run` does. Ctrl-C ends the wait only, and reports what ended."""
    from mobiletest_cli.ci import Attribution
    from mobiletest_cli.results.files import Destinations
    from mobiletest_cli.test_run import TestRun, WaitOptions

    run = TestRun(context.api, context.output, Attribution(), Destinations(junit, report=report))
    usual = context.base_branch(None)
    return run.finish(
        execution,
        WaitOptions(timeout=timeout, gate=gate, base_branch=base_branch, usual_base_branch=usual, verbose=verbose),
    )


def logs(
    context: Context,
    execution: ExecutionArgument,
    test: Annotated[str | None, typer.Argument(help="Name or id of a test; all that did not pass without it.")] = None,
    artifacts: Annotated[Path | None, typer.Option(help="Download screenshots, trees and logs to this folder.")] = None,
) -> None:
    """Show the steps of runs and what people wrote about them, and download their artifacts."""
    from mobiletest_cli.download import download_artifacts
    from mobiletest_cli.lookup import selected_runs
    from mobiletest_cli.presentation import show_steps
    from mobiletest_cli.run_comments import read_comments, show_comments

    runs: list[Run] = [
        context.api.get(f"executions/{execution}/runs/{run['id']}")
        for run in selected_runs(list(context.api.pages(f"executions/{execution}/runs")), test)
    ]
    if artifacts is not None:
        for run in runs:
            for path in download_artifacts(context.api, run, artifacts):
                context.output.say(f"Wrote {path}.")
    comments = {run["id"]: read_comments(context.api, run) for run in runs if run.get("comment_count")}
    if context.output.as_json:
        items = [{**run, "comments": comments[run["id"]]} if run["id"] in comments else run for run in runs]
        context.output.document({"items": items})
        return
    for run in runs:
        show_steps(context.output, run)
        show_comments(context.output, comments.get(run["id"], ()))
    if not runs:
        context.output.say("Every run passed; name a test to see its steps.")


def cancel(context: Context, execution: ExecutionArgument) -> None:
    """Cancel an execution: its runs that have not ended get no verdict; those under way end within seconds."""
    answer = context.api.post(f"executions/{execution}/cancel", {})
    context.output.item(answer, answer["message"])


def rerun(
    context: Context,
    execution: ExecutionArgument,
    test: Annotated[str | None, typer.Argument(help="Name or id of a test; all without it.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only the runs that did not pass.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end.")] = True,
    timeout: TimeoutOption = None,
    gate: GateOption = True,
    base_branch: BaseBranchOption = None,
    junit: JunitOption = None,
    report: ReportOption = None,
) -> int:
    """Run an execution again, or one test of it, on the same apps and builds with the same versions of the tests.

    Variables, branch and commit are those of the execution too. Ctrl-C cancels it.
    """
    from mobiletest_cli.ci import Attribution
    from mobiletest_cli.lookup import selected_runs
    from mobiletest_cli.results.files import Destinations
    from mobiletest_cli.start import Start
    from mobiletest_cli.test_run import TestRun, WaitOptions

    def prepare() -> Start:
        path, body = f"executions/{execution}/rerun", {"failed_only": failed}
        if test is None:
            return Start(path, body)
        runs = selected_runs(list(context.api.pages(f"executions/{execution}/runs")), test)
        return Start(path, {**body, "run_ids": [run["id"] for run in runs]})

    run = TestRun(context.api, context.output, Attribution(), Destinations(junit, report=report))
    usual = context.base_branch(None)
    options = WaitOptions(wait=wait, timeout=timeout, gate=gate, base_branch=base_branch, usual_base_branch=usual)
    return run.run_start(prepare, options)


def gate(
    context: Context,
    execution: Annotated[
        str | None, typer.Argument(metavar="EXECUTION", help="Id of the execution.", callback=_check_optional_id)
    ] = None,
    build: Annotated[
        str | None, typer.Option(help="Version or id of a build: every attached test by its newest verdict there.")
    ] = None,
    app: Annotated[str | None, app_option("App of the build, by name or id.")] = None,
    base_branch: BaseBranchOption = None,
) -> int:
    """Ask the gate whether CI may continue after an execution, or with a build; the exit code says it."""
    from mobiletest_cli.lookup import base_branch_of, build_by_id_or_version
    from mobiletest_cli.presentation import show_gate

    if (execution is None) == (build is None):
        raise CliError("give either the id of an execution or --build", USAGE, "mobiletest gate --help")
    if build is not None:
        build_details = build_by_id_or_version(context.api, build, lambda: context.find_app(app))
        path, hint = f"apps/builds/{build_details['id']}", "mobiletest executions"
    else:
        path, hint = f"executions/{execution}", f"mobiletest wait {execution}"
        base_branch = base_branch or base_branch_of(context.api.get(path))
    answer = context.api.get(f"{path}/gate", base_branch=context.base_branch(base_branch))
    if answer["result"] == "pending":
        raise CliError(f"{answer['pending_runs']} runs have not ended", USAGE, hint)
    if context.output.as_json:
        context.output.document(answer)
    else:
        show_gate(context.output, answer)
    return exit_code_of_gate(answer)


def heal(
    context: Context,
    execution: ExecutionArgument,
    test: Annotated[str | None, typer.Argument(help="Name or id of a test; all that failed without it.")] = None,
    file: Annotated[Path | None, typer.Option(help="File of the flow in which the step is written.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Write the step into the file or the test.")] = False,
) -> int:
    """Propose how to write steps whose element has changed, each checked by a run of its test; nothing else changes."""
    from mobiletest_cli.lookup import selected_runs
    from mobiletest_cli.presentation import labels
    from mobiletest_cli.step_proposals import VERIFIED, FlowFile, accept_proposal, check_proposal, show_proposal

    runs = selected_runs(list(context.api.pages(f"executions/{execution}/runs")), test)
    names = labels(runs)
    healings = [(names[run["id"]], check_proposal(context.api, context.output, run)) for run in runs]
    verified = [(name, healing) for name, healing in healings if healing["state"] == VERIFIED]
    if file is not None and len(verified) > 1:
        raise CliError("--file is for the step of one test", USAGE, f"mobiletest heal {execution} TEST --file {file}")
    for name, healing in healings if not context.output.as_json else ():
        flow = FlowFile(file, healing) if file is not None and healing["state"] == VERIFIED else None
        show_proposal(context.output, name, healing, flow.diff if flow is not None else "")
    for name, healing in verified if accept else ():
        if file is not None:
            FlowFile(file, healing).write()
            context.output.say(f"Wrote {file}.")
        else:
            changed = accept_proposal(context.api, healing)
            context.output.say(f"{name} has version {changed['version_number']}.")
    if context.output.as_json:
        context.output.document({"items": [healing for _, healing in healings]})
    elif not runs:
        context.output.say("Every run passed.")
    return FAILED if len(verified) < len(healings) else OK


def open_execution(context: Context, execution: ExecutionArgument) -> None:
    """Open an execution in the browser."""
    from mobiletest_cli.test_run import execution_page, open_page

    context.api.get(f"executions/{execution}")
    address = execution_page(context.api, execution)
    open_page(address)
    context.output.item({"url": address}, address)
