"""One `run`: starts, waits, reports, and decides on the exit code."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobiletest_cli import ci
from mobiletest_cli.api import Api
from mobiletest_cli.errors import OK, CliError, RequestRefused, exit_code, is_transient
from mobiletest_cli.interruption import Interrupted, Interruption, interruption
from mobiletest_cli.lookup import base_branch_of
from mobiletest_cli.output import Output
from mobiletest_cli.progress import WaitEnded
from mobiletest_cli.progress_display import follow
from mobiletest_cli.results import github
from mobiletest_cli.results.files import Destinations, ResultFiles, ServerResults
from mobiletest_cli.results.publication import publish
from mobiletest_cli.selection import Selection
from mobiletest_cli.start import Start, StartBuilder
from mobiletest_cli.step_proposals import REFUTED, VERIFIED, FlowFile

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution, Gate, Run, ScreenComparison
    from mobiletest_cli.results.report import ProposedStep, Report, ScreenChanges

# How long an interrupted command waits for the end of what it cancelled: CI systems soon kill it.
_CANCELLED_SECONDS = 3.0
# Builds of an execution whose screens are compared for its report.
_COMPARED_BUILDS = 4


# Failed runs for which a proposal is asked for.
_HEALED_RUNS = 5


@dataclass(frozen=True)
class WaitOptions:
    """How to wait, and what decides. `timeout` is in seconds; `usual_base_branch` is for executions that name none.

    `verbose` prints each step.
    """

    wait: bool = True
    timeout: float | None = None
    gate: bool = True
    base_branch: str | None = None
    usual_base_branch: str | None = None
    fail_on_timeout: bool = True
    fail_on_cancellation: bool = True
    open_browser: bool = False
    verbose: bool = False


class TestRun:
    """Runs what is selected, once."""

    __test__ = False

    def __init__(self, api: Api, output: Output, attribution: ci.Attribution, destinations: Destinations) -> None:
        self._api = api
        self._output = output
        self._attribution = attribution
        self._destinations = destinations
        self._files = ResultFiles(ServerResults(api), output, destinations)

    def run(self, wanted: Selection, options: WaitOptions) -> int:
        """Start what is selected, and finish. The exit code, and the errors, of `run_start`."""
        return self.run_start(lambda: StartBuilder(self._api, self._output).build(wanted), options)

    def run_start(self, prepare: Callable[[], Start], options: WaitOptions) -> int:
        """The exit code. A signal cancels it.

        Raises:
            CliError: it could not be started, or its end not be seen.
        """
        self._destinations.check(wait=options.wait)
        with interruption() as guard:
            start = prepare()
            try:
                execution_id = self._start(start, guard)
            except RequestRefused as refused:
                if refused.code != "EMPTY_SHARD":
                    raise
                return self._finish_empty(start, refused.message)
            if options.open_browser:
                open_page(execution_page(self._api, execution_id))
            if not options.wait:
                return self._started(start, execution_id)
            try:
                return self._finish(execution_id, options, start)
            except Interrupted as interrupted:
                self._cancel(execution_id)
                return self._finish_interrupted(execution_id, interrupted, start)

    def finish(self, execution_id: str, options: WaitOptions) -> int:
        """Wait for the end, report, and return the exit code. A signal ends the wait.

        Raises:
            CliError: the end is not seen.
        """
        with interruption():
            try:
                return self._finish(execution_id, options)
            except Interrupted as interrupted:
                return self._finish_interrupted(execution_id, interrupted)

    def _start(self, start: Start, guard: Interruption) -> str:
        """The id of the execution."""
        key = str(uuid.uuid4())
        execution_id: str | None = None
        try:
            with guard.deferred():
                answer = self._api.start(start.path, start.body, key=key, headers=ci.headers(self._attribution))
                execution_id = answer["id"]
        except Interrupted:
            if execution_id:
                self._cancel(execution_id)
            raise
        self._output.say(f"{answer['message']} {execution_page(self._api, answer['id'])}")
        if problem := github.write_output("execution-id", answer["id"], os.environ):
            self._output.warn(problem)
        return str(answer["id"])

    def _finish_empty(self, start: Start, message: str) -> int:
        """Report that the shard has no tests."""
        code = self._files.write_empty(str(start.body.get("name") or "mobiletest"), message)
        self._output.say(message)
        if self._output.as_json:
            self._output.document({"execution": None, "runs": [], "message": message, "exit_code": code})
        return code

    def _cancel(self, execution_id: str) -> None:
        """Cancel the execution, quickly or not at all."""
        self._output.say(f"Cancelling execution {execution_id} ...")
        try:
            self._api.impatient().post(f"executions/{execution_id}/cancel", {})
        except CliError as error:
            self._output.warn(f"it was not cancelled: {error.message}")

    def _started(self, start: Start, execution_id: str) -> int:
        self._output.result(execution_id)
        if self._output.as_json:
            execution = self._api.get(f"executions/{execution_id}")
            self._output.document({"execution": execution, "import": start.imported, "exit_code": OK})
        return OK

    def _finish(self, execution_id: str, options: WaitOptions, start: Start | None = None) -> int:
        """Wait, report, and return the exit code, also when the wait ends first. CliError: the end cannot be seen."""
        try:
            execution = follow(self._api, self._output, execution_id, options.timeout, steps=options.verbose)
        except WaitEnded as ended:
            return self._finish_early(execution_id, ended, start, tolerated=not options.fail_on_timeout)
        gate, problem = self._gate(execution, options)
        verdict = exit_code(execution, gate, fail_on_cancellation=options.fail_on_cancellation)
        report = self._read(execution, gate, start)
        if self._destinations.has_report:
            proposals = list(self._proposals(report))
            report = replace(report, screens=list(self._screen_changes(report)), proposals=proposals)
        return self._publish(report, start, problem.exit_code if problem else verdict, problem)

    def _finish_interrupted(self, execution_id: str, interrupted: Interrupted, start: Start | None = None) -> int:
        """Report what there is, quickly: whoever stops a command soon kills it."""
        destinations = replace(self._destinations, artifacts=None)
        brief = TestRun(self._api.impatient(), self._output, self._attribution, destinations)
        if start is not None:  # then it was cancelled
            with suppress(CliError):
                follow(self._api, self._output, execution_id, _CANCELLED_SECONDS)
        return brief._finish_early(execution_id, interrupted, start)

    def _finish_early(
        self, execution_id: str, reason: CliError, start: Start | None, *, tolerated: bool = False
    ) -> int:
        """Report what there is of an execution that may not have ended; the exit code is that of the reason."""
        try:
            execution: Execution = self._api.get(f"executions/{execution_id}")
            report = self._read(execution, None, start)
        except CliError as error:
            self._output.warn(f"there is no report: {error.message}")
            if not tolerated:
                raise reason from None
            self._output.warn(reason.message)
            return OK
        if tolerated:
            self._output.warn(reason.message)
            return self._publish(report, start, OK)
        return self._publish(report, start, reason.exit_code, reason)

    def _read(self, execution: Execution, gate: Gate | None, start: Start | None) -> Report:
        from mobiletest_cli.results.report import Report

        runs = list(self._api.pages(f"executions/{execution['id']}/runs"))
        start = start or Start("", {})
        url = self._api.page_url("executions")
        return Report(execution, runs, gate, start.flow_paths, url, start.display_path)

    def _screen_changes(self, report: Report) -> Iterator[ScreenChanges]:
        """Of each build that has them; what cannot be compared in time is left out."""
        from mobiletest_cli.results.report import ScreenChanges

        branch = report.gate["base_branch"] if report.gate else None
        builds = {run["build_id"]: run["app_id"] for run in report.runs if run["build_id"] and run["app_id"]}
        for build_id, app_id in list(builds.items())[:_COMPARED_BUILDS]:
            with suppress(CliError):
                path = f"apps/builds/{build_id}/screen_changes"
                comparison: ScreenComparison = self._api.impatient().get(path, base_branch=branch)
                build, base = comparison["build"], comparison["base"]
                if build and base and build["runs"]:
                    page = f"apps/{app_id}/builds/{build_id}/screens?base={base['build_id']}"
                    yield ScreenChanges(comparison, self._api.page_url(page))

    def _proposals(self, report: Report) -> Iterator[ProposedStep]:
        """For failed runs of which a step did not find its element; what is not proposed in time is left out."""
        from mobiletest_cli.results.report import ProposedStep

        failed = [run for run in report.ended_without_passing() if _misses_element(run)]
        for run in failed[:_HEALED_RUNS]:
            with suppress(CliError):
                healing = self._api.impatient().get(f"executions/{run['execution_id']}/runs/{run['id']}/healing")
                if (proposal := healing.get("proposal")) and healing["state"] != REFUTED:
                    diff = self._diff(report, run, healing) if healing["state"] == VERIFIED else ""
                    yield ProposedStep(run, proposal["why"], diff)

    def _diff(self, report: Report, run: Run, healing: Any) -> str:
        """Of the flow's file, if it is here as it was; else of the two steps."""
        proposal = healing["proposal"]
        position = proposal.get("position")
        path = report.display_of(run)(position["file"]) if position else report.path_of(run)
        with suppress(CliError):
            if path:
                return FlowFile(Path(path), healing).diff
        return f"-{proposal['old_line']}\n+{proposal['line']}"

    def _gate(self, execution: Execution, options: WaitOptions) -> tuple[Gate | None, CliError | None]:
        """The gate's answer; None if it was not asked, or cannot answer: then every failure counts.

        The error is why it refused the question.
        """
        if not options.gate or execution["status"] == "cancelled":
            return None, None
        try:
            branch = options.base_branch or base_branch_of(execution) or options.usual_base_branch
            return self._api.get(f"executions/{execution['id']}/gate", base_branch=branch), None
        except CliError as error:
            if not is_transient(error):
                return None, error
            self._output.warn(f"the gate cannot answer, so every failure counts: {error.message}")
            return None, None

    def _publish(self, report: Report, start: Start | None, code: int, error: CliError | None = None) -> int:
        """Write the files and show the results; the exit code."""
        imported = start.imported if start else None
        return publish(self._output, self._files, report, code, imported=imported, error=error)


def execution_page(api: Api, execution_id: str) -> str:
    """Where people see the execution."""
    return api.page_url(f"executions/{execution_id}")


def open_page(address: str) -> None:
    """Open the page in the user's browser."""
    import webbrowser

    webbrowser.open(address)


def _misses_element(run: Run) -> bool:
    return run["failure"] is not None and run["failure"]["category"] == "element_not_found"
