"""The results of an execution that a report is made of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mobiletest_cli.presentation import labels

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution, Gate, GateReason, Run

_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "BITBUCKET_CLONE_DIR", "BUILD_SOURCESDIRECTORY", "WORKSPACE")
"""Variables in which GitHub, GitLab, Bitbucket, Azure and Jenkins name the folder of the checkout."""
ENDED = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True)
class Report:
    """An execution, its runs, and the gate if it was asked.

    `paths` are the flow files of tests by test id, relative to the repository; `url` is the page of all executions.
    """

    execution: Execution
    runs: Sequence[Run]
    gate: Gate | None
    paths: Mapping[str, str]
    url: str

    @property
    def link(self) -> str:
        """The page of the execution."""
        return f"{self.url}/{self.execution['id']}"

    def link_of(self, run: Run) -> str:
        """The page of a run, with its steps and screens."""
        return f"{self.link}/runs/{run['id']}"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The name of the test of each run by run id, with more where tests share one."""
        return labels(self.runs)

    def path_of(self, run: Run) -> str | None:
        """The flow file of a run's test: that which was sent, else its path in the workspace; None: it has none."""
        return self.paths.get(run["test_id"]) or run.get("source_path")

    @property
    def reasons(self) -> Mapping[str, GateReason]:
        """The reasons of the gate by run id."""
        return {reason["run_id"]: reason for reason in self.gate["reasons"]} if self.gate else {}

    @property
    def quarantined(self) -> Mapping[str, str]:
        """Why tests are in quarantine, by test id. The gate names those that did not pass, and only those."""
        found = self.gate["reasons"] if self.gate else []
        return {
            reason["test_id"]: reason["quarantine"]["reason"] if reason["quarantine"] else ""
            for reason in found
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
    found = os.path.abspath(path)
    inside = root and found.startswith(os.path.join(os.path.abspath(root), ""))
    return (os.path.relpath(found, root) if inside else path).replace(os.sep, "/")


def cause(run: Run, length: int) -> str:
    """Why a run did not pass, in a line of at most `length` characters; "" if it passed."""
    failure = run["failure"]
    text = (failure["message"] or failure["reason"]) if failure and not run["success"] else ""
    return shorten(text, length)


def shorten(text: str, length: int) -> str:
    """The text in one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def earlier_failures(run: Run) -> list[str]:
    """Why the earlier attempts of a run failed."""
    failures = [attempt["failure"] for attempt in run["attempts"][:-1]]
    return [failure["message"] or failure["reason"] for failure in failures if failure]
