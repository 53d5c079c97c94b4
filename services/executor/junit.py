"""Renders an execution as JUnit XML for CI systems: one testcase per run, with its earlier failed attempts.

The order of elements and the time format follow Maven Surefire's schema, the strictest one. Properties of a testcase
are in no schema, but pytest writes them too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from junitparser import Error, Skipped
from junitparser import Failure as FailureElement
from junitparser.junitparser import Element
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

from mobiletest_automation.flows.printable import printable
from mobiletest_automation.model.failures import Failure
from mobiletest_automation.outside_texts import xml_characters
from services.executor.model.attempts import Attempt
from services.executor.model.executions import Execution
from services.executor.model.reports import simulation
from services.executor.model.runs import Run
from services.executor.model.states import Status

_ORDER = (FailureElement, RerunFailure, FlakyFailure, Skipped, Error, RerunError, FlakyError)


def render(execution: Execution, runs: Iterable[Run], base_url: str = "") -> bytes:
    """The execution as xunit2 XML; `runs` in order, with steps if known. Links begin with `base_url`, the dashboard's.

    CI systems show its texts in logs and pages, and some of them are of the app under test and of scripts: all go
    through `_text`. The output is ASCII, with character references and without an XML declaration, because some readers
    guess the encoding (xunit-viewer) and others reject a declaration in text (lxml).
    """
    suite = TestSuite(_text(execution.workflow_name or execution.name or "test"))  # type: ignore[no-untyped-call]
    for name, value in _execution_properties(execution, base_url).items():
        suite.add_property(_text(name), _text(value))
    suite.timestamp = execution.created_at.isoformat(timespec="seconds")
    suite.add_testcases(list(_testcases(execution, tuple(runs), base_url)))
    document = JUnitXml(_text(execution.workflow_name or execution.name or execution.id))
    document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    for part in (suite, document):
        part.time = round(part.time or 0.0, 3)
    rendered: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return rendered.decode().encode("ascii", "xmlcharrefreplace")


def _testcases(execution: Execution, runs: Sequence[Run], base_url: str) -> Sequence[TestCase]:
    """A testcase for each run. Readers take those of one classname and name for one test, so ids tell them apart."""
    names = [(_text(run.target.test_name), _text(_classname(run))) for run in runs]
    count = Counter(names)
    classnames = [
        classname if count[name, classname] == 1 else f"{classname}.{run.target.test_id}"
        for run, (name, classname) in zip(runs, names, strict=True)
    ]
    return [_testcase(execution, run, classname, base_url) for run, classname in zip(runs, classnames, strict=True)]


def _testcase(execution: Execution, run: Run, classname: str, base_url: str) -> TestCase:
    seconds = round(run.execution_time_seconds or 0.0, 3)
    case = TestCase(_text(run.target.test_name), classname, seconds)
    if run.target.source_path:
        attributes = case._elem  # noqa: SLF001 (junitparser has no attributes of its own for these)
        attributes.set("file", _text(run.target.source_path))
        attributes.set("line", str(_line(run)))
    for name, value in _run_properties(execution, run, base_url).items():
        case.add_property(_text(name), _text(value))
    final = _final(run)
    interim = [_interim(attempt, flaky=run.success is True) for attempt in _earlier_failures(run)]
    for element in sorted([*interim, *([final] if final is not None else [])], key=_element_order):
        case.append(element)  # type: ignore[no-untyped-call]
    if run.attempts:
        page = _page(run, base_url)
        attempts = [_attempt_text(attempt, page) for attempt in run.attempts]
        case.system_out = _text("\n\n".join(filter(None, [simulation(run), *attempts])))
    return case


def _line(run: Run) -> int:
    """Of the flow's own file: the step that failed, or that runs the file in which one failed; 1 if none did."""
    failure = None if run.success else run.failure
    places = (failure.position, *failure.run_from) if failure is not None else ()
    return next((place.line for place in places if place is not None and place.file == run.target.source_path), 1)


def _element_order(element: Element) -> int:
    """The position of the element in Surefire's schema."""
    return _ORDER.index(type(element))


def _classname(run: Run) -> str:
    """The app, the platform, and the path of the flow without its ending, which would be taken for a class."""
    target = run.target
    path = target.source_path and str(PurePosixPath(target.source_path).with_suffix(""))
    return ".".join(part for part in (target.app_name or target.app_id, target.platform, path) if part) or "test"


def _final(run: Run) -> FailureElement | Error | Skipped | None:
    """The element of a testcase that did not pass: a failing verdict, an error without a verdict, or skipped."""
    if run.success:
        return None
    if run.status is Status.CANCELLED:
        return Skipped(_text(run.failure.message if run.failure else "Cancelled."))
    if not run.status.terminal:
        return Skipped(f"The run has not ended: it is {run.status}.")
    kind = FailureElement if run.status is Status.COMPLETED else Error
    element = kind(*_message_and_type(run.failure))
    if trace := _trace(run.failure, run.attempts[-1:]):
        element.text = trace
    return element


def _page(run: Run, base_url: str) -> str:
    """The page of the run in the dashboard, which shows its screens, logs and steps to whoever is signed in."""
    return f"{base_url}/executions/{run.execution_id}/runs/{run.id}"


def _attempt_text(attempt: Attempt, page: str) -> str:
    """The steps of an attempt, its artifacts, and where they can be seen."""
    kept = [
        f"{artifact.kind} {artifact.name} ({artifact.content_type}, {artifact.size_bytes} bytes)"
        + (f": {artifact.gone}" if artifact.gone else "")
        for artifact in attempt.artifacts
    ]
    return "\n".join([_steps(attempt), *kept, f"page: {page}#attempt-{attempt.number}"])


def _earlier_failures(run: Run) -> Sequence[Attempt]:
    return [attempt for attempt in run.attempts[:-1] if attempt.failure is not None and not attempt.handed_back]


def _interim(attempt: Attempt, *, flaky: bool) -> InterimResult:
    kinds = (FlakyFailure, FlakyError) if flaky else (RerunFailure, RerunError)
    element = kinds[0 if attempt.failed_verdict else 1](*_message_and_type(attempt.failure))
    element.stack_trace = _trace(attempt.failure, [attempt])
    return element


def _message_and_type(failure: Failure | None) -> tuple[str, str]:
    """The message and type of a result element."""
    if failure is None:
        return "The run ended without a reason.", "unknown"
    return _text(failure.message), failure.category.value


def _trace(failure: Failure | None, attempts: Iterable[Attempt]) -> str:
    """Where the failure is written, and the steps of the attempt."""
    parts = [failure.trace if failure is not None else "", *map(_steps, attempts)]
    return _text("\n\n".join(filter(None, parts)))


def _steps(attempt: Attempt) -> str:
    lines = [f"attempt {attempt.number} on {attempt.device or 'no device'}, worker {attempt.worker}"]
    for step in attempt.steps:
        indent = "  " * step.depth
        message = f": {step.message}" if step.message else ""
        line = f"{indent}{step.index + 1}. {step.text} [{step.status}]{message}"
        lines.append(line.replace("\n", f"\n{indent}   "))  # what a step says does not pass for another step
    return "\n".join(lines)


def _execution_properties(execution: Execution, base_url: str) -> dict[str, str]:
    ci = execution.ci
    values = {
        "execution_id": execution.id,
        "url": f"{base_url}/executions/{execution.id}",
        "status": execution.status.value,
        "source": execution.source.value,
        "workflow_id": execution.workflow_id,
        "shard": str(execution.shard or ""),
        "commit_sha": ci.commit_sha,
        "branch": ci.branch,
        "run_url": ci.run_url,
    }
    return {name: value for name, value in values.items() if value}


def _run_properties(execution: Execution, run: Run, base_url: str) -> dict[str, str]:
    last = run.attempts[-1] if run.attempts else None
    values = {
        "execution_id": execution.id,
        "run_id": run.id,
        "url": _page(run, base_url),
        "test_id": run.target.test_id,
        "file": run.target.source_path,
        "test_version": str(run.target.test_version_number),
        "variant": run.variant.label,
        "platform": run.target.platform,
        "build_id": run.target.build_id,
        "build_version": run.target.resolved_build_version,
        "device": last.device if last else None,
        "simulated": str(last.simulated).lower() if last and last.simulated is not None else None,
        "simulation": simulation(run),
        "attempts": str(run.attempt_number),
        "flaky": "true" if run.flaky else None,
        "category": run.failure.category.value if run.failure else None,
        "completed_at": _time(run.completed_at),
    }
    return {**dict(run.target.properties), **{name: value for name, value in values.items() if value}}


def _text(text: str) -> str:
    """The text as XML can hold it, and as no terminal or CI system acts on it."""
    return xml_characters(printable(text))


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
