"""Renders results as JUnit XML for CI systems: one testcase per run, with its earlier failed attempts.

The order of elements and the time format follow Maven Surefire's schema, the strictest one. Properties of a testcase
are in no schema, but pytest writes them too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from mobiletest_automation.model.attempts import Attempt, is_flaky, simulation
from mobiletest_automation.model.failures import Failure
from mobiletest_automation.model.states import Status
from mobiletest_automation.outside_texts import xml_characters

_ORDER = (FailureElement, RerunFailure, FlakyFailure, Skipped, Error, RerunError, FlakyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run, as its testcase shows it. `app` and `platform` are None if they are not known.

    `source_path` is that of its flow, None for a test without one; `version` is the build's. `page` is the address of
    its page, "" without one. `partial` says that not all steps were selected, and then it is skipped instead of passed;
    "" if they were. `properties` come before those that say how the run went.
    """

    test_id: str
    test_name: str
    app: str | None = None
    platform: str | None = None
    source_path: str | None = None
    version: str | None = None
    status: Status
    success: bool | None
    failure: Failure | None
    attempts: Sequence[Attempt]
    seconds: float | None
    completed_at: datetime | None
    page: str = ""
    partial: str = ""
    properties: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Runs in order, and what is said of all of them: `name` is that of the suite, `title` that of the document."""

    name: str
    title: str
    created_at: datetime
    properties: Mapping[str, str | None] = field(default_factory=dict)
    runs: Sequence[RunResult]


def render(results: Results) -> bytes:
    """The results as xunit2 XML.

    CI systems show its texts in logs and pages, and some of them are of the app under test and of scripts: all go
    through `_text`. The output is ASCII, with character references and without an XML declaration, because some readers
    guess the encoding (xunit-viewer) and others reject a declaration in text (lxml).
    """
    suite = TestSuite(_text(results.name))  # type: ignore[no-untyped-call]
    for name, value in given(results.properties).items():
        suite.add_property(_text(name), _text(value))
    suite.timestamp = results.created_at.isoformat(timespec="seconds")
    suite.add_testcases(list(_testcases(results.runs)))
    document = JUnitXml(_text(results.title))
    document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    for part in (suite, document):
        part.time = round(part.time or 0.0, 3)
    rendered: bytes = document.tostring()  # type: ignore[no-untyped-call]
    return rendered.decode().encode("ascii", "xmlcharrefreplace")


def _testcases(runs: Sequence[RunResult]) -> Sequence[TestCase]:
    """A testcase for each run. Readers take those of one classname and name for one test, so ids tell them apart."""
    names = [(_text(run.test_name), _text(_classname(run))) for run in runs]
    count = Counter(names)
    classnames = [
        classname if count[name, classname] == 1 else f"{classname}.{run.test_id}"
        for run, (name, classname) in zip(runs, names, strict=True)
    ]
    return [_testcase(run, classname) for run, classname in zip(runs, classnames, strict=True)]


def _testcase(run: RunResult, classname: str) -> TestCase:
    case = TestCase(_text(run.test_name), classname, round(run.seconds or 0.0, 3))
    if run.source_path:
        attributes = case._elem  # noqa: SLF001 (junitparser has no attributes of its own for these)
        attributes.set("file", _text(run.source_path))
        attributes.set("line", str(_line(run)))
    for name, value in given({**run.properties, **_outcome_properties(run)}).items():
        case.add_property(_text(name), _text(value))
    final = _final(run)
    interim = [_interim(attempt, flaky=run.success is True) for attempt in _earlier_failures(run)]
    for element in sorted([*interim, *([final] if final is not None else [])], key=_element_order):
        case.append(element)  # type: ignore[no-untyped-call]
    if run.attempts:
        attempts = [_attempt_text(attempt, run.page) for attempt in run.attempts]
        case.system_out = _text("\n\n".join(filter(None, [run.partial, _simulation(run), *attempts])))
    return case


def _simulation(run: RunResult) -> str | None:
    return simulation(run.attempts, run.version)


def _line(run: RunResult) -> int:
    """Of the flow's own file: the step that failed, or that runs the file in which one failed; 1 if none did."""
    failure = None if run.success else run.failure
    places = (failure.position, *failure.run_from) if failure is not None else ()
    return next((place.line for place in places if place is not None and place.file == run.source_path), 1)


def _element_order(element: Element) -> int:
    """The position of the element in Surefire's schema."""
    return _ORDER.index(type(element))


def _classname(run: RunResult) -> str:
    """The app, the platform, and the path of the flow without its ending, which would be taken for a class."""
    path = run.source_path and str(PurePosixPath(run.source_path).with_suffix(""))
    return ".".join(part for part in (run.app, run.platform, path) if part) or "test"


def _final(run: RunResult) -> FailureElement | Error | Skipped | None:
    """The element of a testcase that did not pass: a failing verdict, an error without a verdict, or skipped."""
    if run.success:
        return Skipped(_text(f"Passed in part. {run.partial}")) if run.partial else None
    if run.status is Status.CANCELLED:
        return Skipped(_text(run.failure.message if run.failure else "Cancelled."))
    if not run.status.terminal:
        return Skipped(f"The run has not ended: it is {run.status}.")
    kind = FailureElement if run.status is Status.COMPLETED else Error
    element = kind(*_message_and_type(run.failure))
    if trace := _trace(run.failure, run.attempts[-1:]):
        element.text = trace
    return element


def _attempt_text(attempt: Attempt, page: str) -> str:
    """The steps of an attempt, its artifacts, and where they can be seen."""
    kept = [
        f"{artifact.kind} {artifact.name} ({artifact.content_type}, {artifact.size_bytes} bytes)"
        + (f": {artifact.gone}" if artifact.gone else "")
        for artifact in attempt.artifacts
    ]
    link = [f"page: {page}#attempt-{attempt.number}"] if page else []
    return "\n".join([_steps(attempt), *kept, *link])


def _earlier_failures(run: RunResult) -> Sequence[Attempt]:
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


def _outcome_properties(run: RunResult) -> dict[str, str]:
    """On what the run went, and how."""
    last = run.attempts[-1] if run.attempts else None
    values = {
        "device": last.device if last else None,
        "simulated": str(last.simulated).lower() if last and last.simulated is not None else None,
        "simulation": _simulation(run),
        "attempts": str(run.attempts[-1].number if run.attempts else 0),
        "flaky": "true" if is_flaky(run.attempts) else None,
        "category": run.failure.category.value if run.failure else None,
        "bindings_changed": _bindings_changed(last) if last and run.success else None,
        "completed_at": run.completed_at.isoformat() if run.completed_at else None,
    }
    return given(values)


def _bindings_changed(attempt: Attempt) -> str:
    return "; ".join(f"step {change.step_index + 1}: {change.message}" for change in attempt.bindings_changed)


def given(properties: Mapping[str, str | None]) -> dict[str, str]:
    """The properties that have a value."""
    return {name: value for name, value in properties.items() if value}


def _text(text: str) -> str:
    """The text as XML can hold it, and as no terminal or CI system acts on it."""
    return xml_characters(printable(text))
