"""The results of an execution that a report is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote

from mobiletest_cli.presentation import labels, place, positions

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution, Failure, Gate, GateReason, Run, ScreenComparison, SourcePosition

# Variables in which GitHub, GitLab, Bitbucket, Azure and Jenkins name the folder of the checkout.
_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BITBUCKET_CLONE_DIR", "BUILD_SOURCESDIRECTORY", "WORKSPACE")
ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True)
class ScreenChanges:
    """What changed on the screens of a build, and the page that shows it."""

    comparison: ScreenComparison
    link: str


@dataclass(frozen=True)
class ProposedStep:
    """Another way to write a step of the failed run whose element has changed.

    `diff` is empty unless a run with it has passed: then it is that of the flow's file, or of the two steps.
    """

    run: Run
    why: str
    diff: str


@dataclass(frozen=True)
class Report:
    """An execution, its runs and the gate if it was asked. What is known beside: changes of the screens of its builds,
    and proposals for failed steps.

    `paths` are the flow files of tests by test id, relative to the repository, and `display_path` is the path here of
    another file of their workspace; `url` is the page of all executions, "" for results without a server.
    """

    execution: Execution
    runs: Sequence[Run]
    gate: Gate | None
    paths: Mapping[str, str]
    url: str
    display_path: Callable[[str], str] = str
    screens: Sequence[ScreenChanges] = ()
    proposals: Sequence[ProposedStep] = ()

    @property
    def link(self) -> str:
        """The page of the execution; "" without a server."""
        return self.url and f"{self.url}/{quote(self.execution['id'], '')}"

    def link_of(self, run: Run) -> str:
        """The page of a run, with its steps and screens; "" without a server."""
        return self.link and f"{self.link}/runs/{quote(run['id'], '')}"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The name of the test of each run by run id, with more where tests share one."""
        return labels(self.runs)

    def path_of(self, run: Run) -> str | None:
        """The flow file of a run's test: that which was sent, else its path in the workspace; None: it has none."""
        return self.paths.get(run["test_id"]) or run.get("source_path")

    def positions(self, run: Run, failure: Failure | None) -> Sequence[SourcePosition]:
        """Where a failure of the run is written, and then the steps that run its file, with the paths of the files
        here; [] if that is not known.
        """
        return positions(failure, self.display_of(run))

    def display_of(self, run: Run) -> Callable[[str], str]:
        """How the paths of the run's workspace are shown: as they are here if its files were sent from here."""
        return self.display_path if run["test_id"] in self.paths else str

    def cause(self, run: Run, length: int) -> str:
        """Why a run did not pass and where, in a line of at most `length` characters; "" if it passed."""
        text = _message(run["failure"]) if run["failure"] and not run["success"] else ""
        written = self.positions(run, run["failure"]) if text else ()
        return shorten(f"{place(written[0])}: {text}" if written else text, length)

    @property
    def reasons(self) -> Mapping[str, GateReason]:
        """The reasons of the gate by run id."""
        return {reason["run_id"]: reason for reason in self.gate["reasons"]} if self.gate else {}

    @property
    def quarantined(self) -> Mapping[str, str]:
        """Why tests are in quarantine, by test id. The gate names those that did not pass, and only those."""
        reasons = self.gate["reasons"] if self.gate else []
        return {
            reason["test_id"]: reason["quarantine"]["reason"] if reason["quarantine"] else ""
            for reason in reasons
            if reason["quarantine"] or reason["rule"] == "quarantined"
        }

    def ended_without_passing(self) -> Iterator[Run]:
        """The runs that ended and did not pass."""
        return (run for run in self.runs if run["status"] in ENDED and not run["success"])


def repository_path(path: str) -> str:
    """The path from the root of the repository, as CI systems want it, of a path from the working directory.

    If the root is not known, or does not have the file, the path as it is.
    """
    root = next(filter(None, map(os.environ.get, _ROOTS)), None)
    absolute = os.path.abspath(path)
    inside = root and absolute.startswith(os.path.join(os.path.abspath(root), ""))
    return (os.path.relpath(absolute, root) if inside else path).replace(os.sep, "/")


def _message(failure: Failure) -> str:
    return failure["message"] or failure["reason"]


def shorten(text: str, length: int) -> str:
    """The text in one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def earlier_failures(run: Run) -> list[str]:
    """Why the earlier attempts of a run failed."""
    failures = [attempt["failure"] for attempt in run["attempts"][:-1]]
    return [_message(failure) for failure in failures if failure]
