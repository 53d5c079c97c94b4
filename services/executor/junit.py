"""Renders an execution as JUnit XML, which CI systems read: one testcase per run, earlier failed attempts inside it."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from junitparser import Error, Skipped
from junitparser import Failure as FailureElement
from junitparser.xunit2 import (
    FlakyError,
    FlakyFailure,
    InterimResult,
    JUnitXml,
    RerunError,
    RerunFailure,
    TestCase,
    TestSuite,
)

from services.executor.model.attempts import Attempt
from services.executor.model.executions import Execution
from services.executor.model.failures import Failure
from services.executor.model.runs import Run
from services.executor.model.states import Status

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(execution: Execution, runs: Iterable[Run]) -> bytes:
    """The execution as UTF-8 XML of the xunit2 flavour; `runs` in their order, with steps where these are known."""
    suite = TestSuite(_text(execution.workflow_name or "test"))  # type: ignore[no-untyped-call]
    for name, value in _execution_properties(execution).items():
        suite.add_property(name, _text(value))
    suite.timestamp = execution.created_at.isoformat()
    suite.add_testcases([_testcase(run) for run in runs])
    document = JUnitXml(_text(execution.workflow_name or execution.id))
    document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    rendered: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return rendered


def _testcase(run: Run) -> TestCase:
    case = TestCase(_text(run.target.test_name), _text(_classname(run)), run.execution_time_seconds or 0.0)
    for name, value in _run_properties(run).items():
        case.add_property(name, _text(value))
    if element := _final(run):
        case.result = [element]
    for attempt in _earlier_failures(run):
        case.add_interim_result(_interim(attempt, flaky=run.success is True))
    return case


def _classname(run: Run) -> str:
    return ".".join(part for part in (run.target.app_name or run.target.app_id, run.target.platform) if part) or "test"


def _final(run: Run) -> FailureElement | Error | Skipped | None:
    """What stands in a testcase that did not pass: a failing verdict, an error without one, or skipped."""
    if run.success:
        return None
    if run.status is Status.CANCELLED:
        return Skipped(_text(run.failure.message if run.failure else "Cancelled."))
    if not run.status.terminal:
        return Skipped(f"Not ended yet: {run.status}.")
    kind = FailureElement if run.status is Status.COMPLETED else Error
    element = kind(*_said(run.failure))
    if run.attempts:
        element.text = _text(_steps(run.attempts[-1]))
    return element


def _earlier_failures(run: Run) -> Sequence[Attempt]:
    return [attempt for attempt in run.attempts[:-1] if attempt.failure is not None and not attempt.handed_back]


def _interim(attempt: Attempt, *, flaky: bool) -> InterimResult:
    kinds = (FlakyFailure, FlakyError) if flaky else (RerunFailure, RerunError)
    element = kinds[0 if attempt.failed_verdict else 1](*_said(attempt.failure))
    element.stack_trace = _text(_steps(attempt))
    return element


def _said(failure: Failure | None) -> tuple[str, str]:
    """Message and type of a result element."""
    if failure is None:
        return "Ended without saying why.", "unknown"
    return _text(failure.message), failure.category.value


def _steps(attempt: Attempt) -> str:
    lines = [f"attempt {attempt.number} on {attempt.device or 'no device'}, worker {attempt.worker}"]
    for step in attempt.steps:
        said = f": {step.message}" if step.message else ""
        lines.append(f"{step.index + 1}. {step.text} [{step.status}]{said}")
    return "\n".join(lines)


def _execution_properties(execution: Execution) -> dict[str, str]:
    ci = execution.ci
    said = {
        "execution_id": execution.id,
        "status": execution.status.value,
        "source": execution.source.value,
        "workflow_id": execution.workflow_id,
        "commit_sha": ci.commit_sha,
        "branch": ci.branch,
        "run_url": ci.run_url,
    }
    return {name: value for name, value in said.items() if value}


def _run_properties(run: Run) -> dict[str, str]:
    last = run.attempts[-1] if run.attempts else None
    said = {
        "run_id": run.id,
        "test_id": run.target.test_id,
        "test_version": str(run.target.test_version_number),
        "platform": run.target.platform,
        "build_id": run.target.build_id,
        "build_version": run.target.resolved_build_version,
        "device": last.device if last else None,
        "simulated": str(last.simulated).lower() if last else None,
        "attempts": str(run.attempt_number),
        "category": run.failure.category.value if run.failure else None,
        "completed_at": _time(run.completed_at),
    }
    return {name: value for name, value in said.items() if value}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _text(value: str) -> str:
    """The text without the characters that XML cannot carry."""
    return _NOT_XML.sub("\ufffd", value)
