"""Results in GitHub Actions: annotations at the flow files, the job summary, and outputs of the step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mobiletest_cli.presentation import outcome, place
from mobiletest_cli.printable import WorkflowCommand
from mobiletest_cli.results.markdown import SIZE_LIMIT, render_markdown
from mobiletest_cli.results.report import Report, repository_path

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run

# GitHub shows ten annotations of each kind for a step.
SHOWN = 10
_MESSAGE_LENGTH = 1000
# The variable with the file of the job summary.
SUMMARY = "GITHUB_STEP_SUMMARY"


def annotate(report: Report) -> Iterator[WorkflowCommand]:
    """Workflow commands: an error for each run that did not pass, a warning if the gate says that it does not block.

    They are at the step that failed, or at the one that runs its file, in the first of these files that is here.
    """
    reasons = report.reasons
    errors: list[Run] = []
    warnings: list[Run] = []
    for run in report.ended_without_passing():
        reason = reasons.get(run["id"])
        (errors if reason is None or reason["blocks"] else warnings).append(run)
    yield from (_annotation("error", run, report) for run in errors[:SHOWN])
    yield from (_annotation("warning", run, report) for run in warnings[:SHOWN])
    left = [_more(len(errors), "error"), _more(len(warnings), "warning")]
    if any(left):
        text = ": ".join(filter(None, [" and ".join(filter(None, left)), report.link]))
        yield WorkflowCommand("notice", {"title": "mobiletest"}, text)


def write_summary(report: Report, environ: Mapping[str, str]) -> str | None:
    """Append the report to the file in GITHUB_STEP_SUMMARY, if set. The problem if it cannot be written, else None.

    GitHub drops a summary that is too large, so the report is what fits beside the file's content.
    """
    path = environ.get(SUMMARY)
    if not path:
        return None
    try:
        with Path(path).open("ab") as file:
            start = b"\n" if file.tell() else b""
            file.write(start + render_markdown(report, SIZE_LIMIT - file.tell() - len(start)).encode())
    except OSError as error:
        return f"{path}: the job summary cannot be written: {error.strerror}"
    return None


def write_output(name: str, value: str, environ: Mapping[str, str]) -> str | None:
    """Set an output of the step, if GITHUB_OUTPUT is set. The problem if it cannot be written, else None."""
    path = environ.get("GITHUB_OUTPUT")
    if not path:
        return None
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{name}={value}\n")
    except OSError as error:
        return f"{path}: the output {name} cannot be written: {error.strerror}"
    return None


def _annotation(kind: str, run: "Run", report: Report) -> WorkflowCommand:
    properties = {"title": f"{report.labels[run['id']]} {outcome(run)}"}
    written = report.positions(run, run["failure"])
    here = next((each for each in written if Path(each["file"]).is_file()), None)
    if here is not None:
        at = {"line": str(here["line"]), "col": str(here["column"])}
        properties = {"file": repository_path(here["file"]), **at, **properties}
    elif path := report.path_of(run):
        properties = {"file": repository_path(path), **properties}
    reason = report.reasons.get(run["id"])
    run_from = [f"  run from {place(each)}" for each in written[1:]]
    cause = report.cause(run, _MESSAGE_LENGTH) or "It ended without a reason."
    lines = [cause, *run_from, reason["detail"] if reason else ""]
    return WorkflowCommand(kind, properties, "\n".join(filter(None, [*lines, report.link_of(run)])))


def _more(count: int, kind: str) -> str:
    more = count - SHOWN
    return f"{more} more {kind}{'' if more == 1 else 's'}" if more > 0 else ""
