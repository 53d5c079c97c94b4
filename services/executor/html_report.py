"""A run as one HTML file: it holds its pictures and loads nothing."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mobiletest_automation.flows.printable import visible
from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import ScreenArea, StepResult
from services.executor.model.runs import Run


@dataclass(frozen=True, slots=True)
class ReportPicture:
    """A picture of a step: its bytes, or the anchor of the step `same_as` that shows it, or why it is `missing`."""

    name: str
    content: bytes = b""
    content_type: str = ""
    area: ScreenArea | None = None
    same_as: str = ""
    missing: str = ""

    @property
    def source(self) -> str:
        """A data URI; empty without bytes."""
        return f"data:{self.content_type};base64,{b64encode(self.content).decode()}" if self.content else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What the file shows. `pictures` are those of a step by its anchor, `log` is the end of the last attempt's log.

    `log_part` says how much of the log that is, empty for all of it, and `notice` what was left out.
    """

    run: Run
    pictures: Mapping[str, list[ReportPicture]]
    log: str = ""
    log_part: str = ""
    notice: str = ""


def anchor_of(run: Run, attempt: Attempt, step: StepResult) -> str:
    """The fragment that leads to a step, as on the page of the run."""
    prefix = "" if attempt is run.attempts[-1] else f"attempt-{attempt.number}-"
    return f"{prefix}step-{step.index + 1}"


def render(report: RunReport) -> Iterator[bytes]:
    """The file in pieces, each of at most a step."""
    macros, run = _macros(), report.run
    yield _bytes(macros.head(run, _verdict(run), report.notice))
    for attempt in reversed(run.attempts):
        yield _bytes(macros.attempt_head(attempt, _verdict(attempt), len(run.attempts) > 1))
        for step in attempt.steps:
            anchor = anchor_of(run, attempt, step)
            yield _bytes(macros.step(step, anchor, report.pictures.get(anchor, ())))
        is_last = attempt is run.attempts[-1]
        yield _bytes(macros.attempt_end(report.log if is_last else "", report.log_part))
    yield _bytes(macros.end())


def _bytes(text: str) -> bytes:
    return text.lstrip().encode(errors="replace")


def _verdict(item: Run | Attempt) -> str:
    if item.success is not None:
        return "passed" if item.success else "failed"
    return "no verdict" if item.status.value == "failed" else item.status.value


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


@cache
def _macros() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # with its parts 4 MiB, for few requests

    environment = Environment(
        loader=PackageLoader("services.executor"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": visible, "seconds": _seconds}
    return environment.get_template("run_report.html").module
