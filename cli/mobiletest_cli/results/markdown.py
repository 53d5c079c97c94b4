"""A report in Markdown, as pull request comments and the job summary of GitHub show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mobiletest_automation.flows.printable import printable
from mobiletest_cli.output import duration
from mobiletest_cli.presentation import counts, is_simulated, notes, outcome, result, state
from mobiletest_cli.results.report import ENDED, Report, earlier_failures, shorten

if TYPE_CHECKING:
    from mobiletest_cli.api_types import GateReason, Run
    from mobiletest_cli.results.report import ProposedStep, ScreenChanges

# Bytes: GitHub shows no larger job summary.
SIZE_LIMIT = 1024 * 1024
_SECTION_ITEMS = 50
_SCREEN_LINES = 10
_DIFF_LINES = 20
_NAME_LENGTH = 200
_TEXT_LENGTH = 300
_FAILING = {"newly_broken": "Newly broken", "never_passed": "Never passed", "not_run_before": "Not run before"}
_NO_BLOCK = {"known_on_base": "known on the base branch", "flaky": "flaky", "quarantined": "in quarantine"}
_HEAD = "| Result | Test | Build | Device | Time | Reason |\n| --- | --- | --- | --- | ---: | --- |\n"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_MARKUP = re.compile(r"[\\`*_{}\[\]~!$#]")
_REFERENCE = re.compile(r"@(?=\w)|#(?=\d)|(?<=GH-)(?=\d)", re.IGNORECASE | re.UNICODE)
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\\|]+", re.IGNORECASE | re.UNICODE)
_TICKS = re.compile("`+")
_LIST_MARK = re.compile(r"^(?:[-+=]|\d+(?=[.)]))", re.UNICODE)


_Item = TypeVar("_Item")


class _Row(NamedTuple):
    text: str
    passed: bool

    @property
    def size(self) -> int:
        return len(self.text.encode())


def render_markdown(report: Report, limit: int = SIZE_LIMIT) -> str:
    """The report in at most `limit` bytes of UTF-8.

    If it would be larger, rows of passed runs are left out, the longest first, and then others from the end.
    """
    head, sections = _heading(report), "".join(_sections(report))
    rows = [_Row(_row(report, run), run["success"] is True) for run in report.runs]
    fixed = len(f"{head}{_HEAD}{sections}".encode()) + _TEXT_LENGTH
    kept = _fit(rows, limit - fixed)
    table = _HEAD + "".join(row.text for row in kept) if kept else ""
    text = f"{head}{table}{_left_out(rows, kept)}{sections}"
    return text if len(text.encode()) <= limit else head.encode()[: max(limit, 0)].decode(errors="ignore")


def render_empty(name: str, message: str) -> str:
    """The report of an execution without tests."""
    return f"## {escape(name)}: no tests\n\n{escape(message, _TEXT_LENGTH)}\n"


def escape(text: str, length: int = _NAME_LENGTH) -> str:
    """A user's text in one line that Markdown shows as it is: no markup, HTML, mentions or references to issues."""
    line = shorten(printable(" ".join(text.split())), length)
    line = _REFERENCE.sub(lambda match: f"{match[0]}\u200b", line)
    line = _MARKUP.sub(lambda match: f"\\{match[0]}", line)
    line = _LIST_MARK.sub(lambda match: f"{match[0]}\u200b", line)
    return "".join(_ENTITIES.get(character, character) for character in line)


def _heading(report: Report) -> str:
    execution, gate = report.execution, report.gate
    name = escape(str(execution["workflow_name"] or execution.get("name") or "mobiletest"))
    took = execution["execution_time_seconds"]
    lines = [
        f"## {name}: {_verdict(report)}",
        f"{counts(execution)}{f' in {duration(took)}' if took else ''}. "
        + _linked(f"Execution {escape(execution['id'])}", report.link),
    ]
    lines += [escape(gate["summary"], _TEXT_LENGTH)] if gate else []
    remarks = filter(None, (_unfinished(report.runs), *notes(report.runs)))
    lines += [f"**{escape(remark, 2 * _TEXT_LENGTH)}**" for remark in remarks]
    return "\n\n".join(lines) + "\n\n"


def _verdict(report: Report) -> str:
    """The gate's result next to the execution's: failures that are known do not block."""
    word, gate = escape(state(report.execution, report.runs)), report.gate
    if gate is None or (gate["result"] == "pass" and word == "passed"):
        return word
    return f"{word}, gate: {escape(str(gate['result']))}"


def _unfinished(runs: Sequence[Run]) -> str:
    count = sum(run["status"] not in ENDED for run in runs)
    return f"{count} of {len(runs)} runs {'has' if count == 1 else 'have'} not ended." if count else ""


def _row(report: Report, run: Run) -> str:
    last = run["attempts"][-1] if run["attempts"] else None
    shown = escape(result(run))
    device = escape(last["device"]) if last and last["device"] else "-"
    cells = [
        shown if run["success"] else _linked(f"**{shown}**", report.link_of(run)),
        escape(report.labels[run["id"]]),
        escape(run["resolved_build_version"] or "-"),
        f"{device} (simulated)" if is_simulated(run) else device,
        duration(run["execution_time_seconds"]),
        escape(report.cause(run, _TEXT_LENGTH), _TEXT_LENGTH) if run["status"] in ENDED else "has not ended",
    ]
    return f"| {' | '.join(cells)} |\n"


def _linked(text: str, link: str) -> str:
    return f"[{text}](<{link}>)" if link else text


def _fit(rows: Sequence[_Row], budget: int) -> list[_Row]:
    """The rows, in order, without as many as needed for `budget` bytes."""
    excess = sum(row.size for row in rows) - budget
    passed = sorted((index for index, row in enumerate(rows) if row.passed), key=lambda index: -rows[index].size)
    others = [index for index in reversed(range(len(rows))) if not rows[index].passed]
    dropped: set[int] = set()
    for index in [*passed, *others]:
        if excess <= 0:
            break
        dropped.add(index)
        excess -= rows[index].size
    return [row for index, row in enumerate(rows) if index not in dropped]


def _left_out(rows: Sequence[_Row], kept: Sequence[_Row]) -> str:
    if len(rows) == len(kept):
        return "\n"
    passed = sum(row.passed for row in rows) - sum(row.passed for row in kept)
    others = len(rows) - len(kept) - passed
    numbers = [f"{passed} passed" if passed else "", f"{others} not passed" if others else ""]
    return f"\nNot all runs fit into this report; left out are: {' and '.join(filter(None, numbers))}.\n\n"


def _sections(report: Report) -> Iterator[str]:
    reasons = report.gate["reasons"] if report.gate else []
    for rule, title in _FAILING.items():
        yield _section(title, (each for each in reasons if each["rule"] == rule), partial(_failing, report))
    not_blocking = (each for each in reasons if each["rule"] in _NO_BLOCK)
    yield _section("Does not block", not_blocking, partial(_not_blocking, report))
    without = (run for run in report.runs if run["success"] is None and run["status"] in ENDED)
    yield _section("No verdict", without, partial(_no_verdict, report))
    retried = (run for run in report.runs if run["success"] and earlier_failures(run))
    yield _section("Passed after a retry", retried, partial(_retried, report))
    yield from (_proposal(report, proposed) for proposed in report.proposals)
    yield from map(_screens, report.screens)


def _proposal(report: Report, proposed: ProposedStep) -> str:
    """The diff, once a run with it has passed; before that, how to have it checked."""
    name = escape(report.labels[proposed.run["id"]])
    if not proposed.diff:
        execution_id = escape(report.execution["id"])
        return (
            f"{name}: a step can be written in another way, which `mobiletest heal {execution_id}` checks by a run.\n\n"
        )
    lines = [shorten(printable(line), _TEXT_LENGTH) for line in proposed.diff.splitlines()[:_DIFF_LINES]]
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(proposed.diff)), default=0))
    diff = "\n".join((f"{fence}diff", *lines, fence))
    said = escape(f"With this change a run passed. {proposed.why}", 2 * _TEXT_LENGTH)
    return f"### Proposed step: {name}\n\n{said}\n\n{diff}\n\n"


def _screens(changes: ScreenChanges) -> str:
    """What changed on the screens of a build, as far as it is known."""
    comparison, lines = changes.comparison, changes.comparison["summary"]
    sides = comparison["build"], comparison["base"]
    build, base = (side["version"] or side["build_id"] if side else "" for side in sides)
    counted = (
        (comparison["new"], "new"),
        (comparison["gone"], "gone"),
        (comparison["changed"], "changed"),
        (comparison["unknown"], "not known"),
    )
    numbers = ", ".join(f"{count} {name}" for count, name in counted if count) or "none changed"
    remarks = [f"{numbers}.", escape(comparison["notice"], _TEXT_LENGTH), _linked("Pictures", changes.link)]
    more = [f"- and {len(lines) - _SCREEN_LINES} more lines\n"] if len(lines) > _SCREEN_LINES else []
    listed = [*(f"- {escape(line, _TEXT_LENGTH)}\n" for line in lines[:_SCREEN_LINES]), *more]
    title = escape(f"Screens of build {build} since {base}", 2 * _NAME_LENGTH)
    return f"### {title}\n\n{' '.join(filter(None, remarks))}\n\n{''.join(listed)}\n"


def _section(title: str, items: Iterable[_Item], render: Callable[[_Item], str]) -> str:
    all_items = list(items)
    if not all_items:
        return ""
    lines = [f"- {render(item)}" for item in all_items[:_SECTION_ITEMS]]
    lines += [f"- and {len(all_items) - _SECTION_ITEMS} more"] if len(all_items) > _SECTION_ITEMS else []
    return f"### {title}\n\n" + "\n".join(lines) + "\n\n"


def _name(report: Report, reason: GateReason) -> str:
    return escape(report.labels.get(reason["run_id"] or "", reason["test_name"]))


def _failing(report: Report, reason: GateReason) -> str:
    breakage = reason["breakage"]
    build = breakage["first_failing"] if breakage else None
    since = f" Since build {escape(build['version'])}." if build else ""
    commits = f" Commits: {escape(breakage['commit_range'])}" if breakage and breakage["commit_range"] else ""
    return f"{_name(report, reason)}: {_detail(reason)}{since}{commits}"


def _not_blocking(report: Report, reason: GateReason) -> str:
    rule = _NO_BLOCK[str(reason["rule"])]
    return f"{_name(report, reason)} ({rule}): {_detail(reason)}"


def _detail(reason: GateReason) -> str:
    """The sentence of the gate, longer where people wrote about the failure, with a link to their ticket."""
    triage = reason.get("triage")
    if not triage:
        return escape(reason["detail"], _TEXT_LENGTH)
    ticket = triage.get("ticket_url") or ""
    link = f" {_linked('Ticket', ticket)}" if _WEB_ADDRESS.fullmatch(ticket) else ""
    return f"{escape(reason['detail'], 3 * _TEXT_LENGTH)}{link}"


def _no_verdict(report: Report, run: Run) -> str:
    why = escape(report.cause(run, _TEXT_LENGTH) or "no reason", _TEXT_LENGTH)
    return f"{escape(report.labels[run['id']])} ({escape(outcome(run))}): {why}"


def _retried(report: Report, run: Run) -> str:
    failures = earlier_failures(run)
    times = "once" if len(failures) == 1 else f"{len(failures)} times"
    return f"{escape(report.labels[run['id']])}: failed {times} before, with: {escape(failures[-1], _TEXT_LENGTH)}"
