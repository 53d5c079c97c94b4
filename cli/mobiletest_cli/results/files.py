"""The files and annotations that are made of the results of an execution."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mobiletest_cli.errors import INVALID_FILE, OK, USAGE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.presentation import run_path
from mobiletest_cli.results import github

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import Run
    from mobiletest_cli.output import Output
    from mobiletest_cli.results.report import Report


@dataclass(frozen=True)
class Destinations:
    """The files to write."""

    junit: Path | None = None
    junit_strict: bool = False
    report: Path | None = None
    # A folder for those of runs that did not pass.
    artifacts: Path | None = None

    @property
    def has_report(self) -> bool:
        """Whether a report in Markdown is written."""
        return self.report is not None or (os.environ.get("GITHUB_ACTIONS") == "true" and github.SUMMARY in os.environ)

    def check(self, *, wait: bool) -> None:
        """Check where the results are to be written, before anything is started.

        Raises:
            CliError: there is something to write, and no wait for it; or a place for it that cannot be one.
        """
        if not wait and any((self.junit, self.report, self.artifacts)):
            hint = "Leave them out; later: mobiletest wait ID --junit FILE --report FILE"
            raise CliError("--no-wait ends before there is a report", USAGE, hint)
        for option, path in (("--junit", self.junit), ("--report", self.report)):
            if path is not None and path.is_dir():
                raise CliError(
                    f"{option} {path}: is a folder, not a file", INVALID_FILE, f"Such as {option} {path / 'results'}"
                )
        if self.artifacts is not None and self.artifacts.is_file():
            raise CliError(f"--artifacts {self.artifacts}: is a file, not a folder", INVALID_FILE)


class ResultSource(Protocol):
    """Where results come from.

    Raises:
        CliError: what is asked for cannot be had, or not be written.
    """

    def junit(self, execution_id: str) -> bytes:
        """The JUnit document of the execution."""

    def whole_run(self, run: Run) -> Run:
        """The run with its steps and artifacts."""

    def evidence(self, run: Run) -> Sequence[str]:
        """Where people find the screens of the run, in lines."""

    def save_artifacts(self, run: Run, folder: Path) -> Iterable[Path]:
        """Write the artifacts of the run to a folder in `folder`; the files, each when it is written."""


class ServerResults:
    """Results that a server has."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def junit(self, execution_id: str) -> bytes:
        return self._api.call("GET", f"executions/{execution_id}/junit.xml").content

    def whole_run(self, run: Run) -> Run:
        whole: Run = self._api.get(run_path(run))
        return whole

    def evidence(self, run: Run) -> Sequence[str]:
        name = shlex.quote(run.get("source_path") or run["test_name"])
        page = self._api.page_url(run_path(run))
        return f"screen and steps: {page}", f"More: mobiletest logs {run['execution_id']} {name}"

    def save_artifacts(self, run: Run, folder: Path) -> Iterable[Path]:
        from mobiletest_cli.download import download_artifacts

        return download_artifacts(self._api, run, folder)


class ResultFiles:
    """Writes what is asked for. What cannot be made or written is said, and is no verdict about the tests."""

    def __init__(self, source: ResultSource, output: Output, destinations: Destinations) -> None:
        self.source = source
        self._output = output
        self._destinations = destinations

    def write(self, report: Report) -> int:
        """Write the files; the exit code of those that cannot be written."""
        from mobiletest_cli.results.markdown import render_markdown

        code = self._write_both(partial(self._junit, report), lambda: render_markdown(report).encode())
        if self._destinations.artifacts:
            code = self._download_artifacts(report, self._destinations.artifacts) or code
        return code

    def write_empty(self, name: str, message: str) -> int:
        """Write the files of an execution that has no tests and was not started; the exit code as in `write`."""
        from mobiletest_cli.results import junit
        from mobiletest_cli.results.markdown import render_empty

        return self._write_both(lambda: junit.empty(name), lambda: render_empty(name, message).encode())

    def annotate(self, report: Report) -> None:
        """Show the results in GitHub Actions, if the command runs there."""
        if os.environ.get("GITHUB_ACTIONS") != "true":
            return
        for command in github.annotate(report):
            self._output.annotate(command)
        if problem := github.write_summary(report, os.environ):
            self._output.warn(problem)

    def _write_both(self, junit: Callable[[], bytes], markdown: Callable[[], bytes]) -> int:
        code = OK
        for path, render in ((self._destinations.junit, junit), (self._destinations.report, markdown)):
            if path is not None:
                code = self._write_file(path, render) or code
        return code

    def _write_file(self, path: Path, render: Callable[[], bytes]) -> int:
        try:
            content = render()
            with replacing(path) as file:
                file.write(content)
        except CliError as error:
            self._output.error_line(error.message)
            return error.exit_code
        return OK

    def _junit(self, report: Report) -> bytes:
        from mobiletest_cli.results import junit

        document = junit.complete(self.source.junit(report.execution["id"]), report)
        return junit.strict(document) if self._destinations.junit_strict else document

    def _download_artifacts(self, report: Report, folder: Path) -> int:
        try:
            for run in report.runs:
                if not run["success"]:
                    for path in self.source.save_artifacts(run, folder):
                        self._output.say(f"Wrote {path}.")
        except CliError as error:
            self._output.error_line(error.message)
            return error.exit_code
        return OK
