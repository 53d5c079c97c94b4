"""One `run`: starts, waits, reports, and decides on the exit code."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mobiletest_cli import ci, presentation
from mobiletest_cli.api import Api, is_transient
from mobiletest_cli.errors import OK, CliError, RequestRefused
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.interruption import Interrupted, Interruption, interruption
from mobiletest_cli.output import Output
from mobiletest_cli.progress import WaitEnded
from mobiletest_cli.progress_display import follow
from mobiletest_cli.results import github
from mobiletest_cli.start import Selection, Start, StartBuilder
from mobiletest_cli.verdict import exit_code

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution, Gate, Run
    from mobiletest_cli.results.report import Report


@dataclass(frozen=True)
class WaitOptions:
    """How to wait, and what decides. `timeout` is in seconds."""

    wait: bool = True
    timeout: float | None = None
    gate: bool = True
    base_branch: str | None = None
    fail_on_timeout: bool = True
    fail_on_cancellation: bool = True
    open_browser: bool = False


@dataclass(frozen=True)
class Destinations:
    """The files to write."""

    junit: Path | None = None
    junit_strict: bool = False
    report: Path | None = None
    artifacts: Path | None = None
    """A folder for those of runs that did not pass."""


class TestRun:
    """Runs what is selected, once."""

    __test__ = False

    def __init__(self, api: Api, output: Output, attribution: ci.Attribution, destinations: Destinations) -> None:
        self._api = api
        self._output = output
        self._attribution = attribution
        self._destinations = destinations

    def run(self, wanted: Selection, options: WaitOptions) -> int:
        """Start what is selected, and finish. The exit code, and the errors, of `run_start`."""
        return self.run_start(lambda: StartBuilder(self._api, self._output).build(wanted), options)

    def run_start(self, prepare: Callable[[], Start], options: WaitOptions) -> int:
        """The exit code. CliError: it could not be started, or its end not be seen; Interrupted: and was cancelled."""
        with interruption() as guard:
            start = prepare()
            execution_id = self._start(start, guard)
            if execution_id is None:
                return OK
            if options.open_browser:
                open_link(self._api.server.url, execution_id)
            if not options.wait:
                return self._started(start, execution_id)
            try:
                return self.finish(execution_id, options, start)
            except Interrupted:
                self._cancel(execution_id)
                raise

    def _start(self, start: Start, guard: Interruption) -> str | None:
        """The id of the execution; None if the shard has no tests."""
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
        except RequestRefused as refused:
            if refused.code != "EMPTY_SHARD":
                raise
            self._output.say(refused.message)
            if self._output.as_json:
                self._output.document({"execution": None, "message": refused.message, "exit_code": OK})
            return None
        self._output.say(f"{answer['message']} {link(self._api.server.url, answer['id'])}")
        if problem := github.write_output("execution-id", answer["id"], os.environ):
            self._output.warn(problem)
        return execution_id

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

    def finish(self, execution_id: str, options: WaitOptions, start: Start | None = None) -> int:
        """Wait for the end, report, and return the exit code. CliError: its end cannot be seen."""
        paths = start.flow_paths if start else {}
        try:
            execution = follow(self._api, self._output, execution_id, options.timeout)
        except WaitEnded as ended:
            if options.fail_on_timeout:
                raise
            self._output.warn(ended.message)
            return OK
        runs: list[Run] = list(self._api.pages(f"executions/{execution_id}/runs"))
        gate = self._gate(execution, options)
        code = exit_code(execution, gate, fail_on_cancellation=options.fail_on_cancellation)
        self._show(execution, runs, gate, paths)
        written = self._write(execution, runs, gate, paths)
        code = code or written
        if self._output.as_json:
            imported = start.imported if start else None
            document = {"execution": execution, "runs": runs, "gate": gate, "import": imported, "exit_code": code}
            self._output.document(document)
        return code

    def _gate(self, execution: Execution, options: WaitOptions) -> Gate | None:
        """The gate's answer; None if it was not asked, or cannot answer: then every failure counts."""
        if not options.gate or execution["status"] == "cancelled":
            return None
        try:
            gate: Gate = self._api.get(f"executions/{execution['id']}/gate", base_branch=options.base_branch)
        except CliError as error:
            if not is_transient(error):
                raise
            self._output.warn(f"the gate cannot answer, so every failure counts: {error.message}")
            return None
        return gate

    def _show(self, execution: Execution, runs: list[Run], gate: Gate | None, paths: Mapping[str, str]) -> None:
        presentation.show_runs(self._output, runs)
        failure = presentation.first_failure(runs)
        if failure is not None and not self._output.as_json:
            presentation.show_failure(self._api, self._output, failure, paths.get(failure["test_id"]))
        self._output.result()
        self._output.result(presentation.headline(execution))
        if gate is not None:
            presentation.show_gate(self._output, gate)

    def _write(self, execution: Execution, runs: list[Run], gate: Gate | None, paths: Mapping[str, str]) -> int:
        """Write the reports; the exit code of those that cannot be written."""
        from mobiletest_cli.results import markdown
        from mobiletest_cli.results.report import Report

        report = Report(execution, runs, gate, paths, f"{self._api.server.url}/api/v1")
        code = OK
        for path, render in (
            (self._destinations.junit, self._junit),
            (self._destinations.report, lambda each: markdown.render_markdown(each).encode()),
        ):
            if path is not None:
                code = self._write_file(path, partial(render, report)) or code
        if self._destinations.artifacts:
            code = self._download_artifacts(runs, self._destinations.artifacts) or code
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for line in github.annotate(report):
                self._output.annotate(line)
            if problem := github.write_summary(report, os.environ):
                self._output.warn(problem)
        return code

    def _download_artifacts(self, runs: Iterable[Run], folder: Path) -> int:
        from mobiletest_cli.download import download_artifacts

        try:
            for run in runs:
                if not run["success"]:
                    download_artifacts(self._api, self._output, run, folder)
        except CliError as error:
            self._output.error_line(error.message)
            return error.exit_code
        return OK

    def _junit(self, report: Report) -> bytes:
        from mobiletest_cli.results import junit

        response = self._api.call("GET", f"executions/{report.execution['id']}/junit.xml")
        complete = junit.add_quarantine(response.content, report)
        return junit.strict(complete) if self._destinations.junit_strict else complete

    def _write_file(self, path: Path, render: Callable[[], bytes]) -> int:
        """The exit code of a report that cannot be made or written; it is no verdict about the tests."""
        try:
            content = render()
            with replacing(path) as file:
                file.write(content)
        except CliError as error:
            self._output.error_line(error.message)
            return error.exit_code
        return OK


def link(url: str, execution_id: str) -> str:
    """Where the execution can be seen."""
    return f"{url}/api/v1/executions/{execution_id}"


def open_link(url: str, execution_id: str) -> None:
    """Open the execution in the user's browser."""
    import webbrowser

    webbrowser.open(link(url, execution_id))
