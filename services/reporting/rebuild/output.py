"""The progress of verify and rebuild, as text for people and as JSON lines for programs."""

from dataclasses import asdict
from time import monotonic
from typing import Protocol, TextIO

import orjson

from services.reporting.rebuild.state import Difference, JobKind, JobProgress, JobState, Phase

SECONDS_BETWEEN_LINES = 5.0


class ProgressOutput(Protocol):
    """Where the progress of a job is written."""

    def progress(self, progress: JobProgress) -> None: ...

    def ended(self, state: JobState) -> None: ...

    def failed(self, message: str) -> None: ...


class TextOutput:
    """Differences go to `out`, the status to `err`: one line that changes on a terminal, otherwise a line every few
    seconds and for each phase.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._throughput = Throughput()
        self._printed = 0
        self._last_line: tuple[Phase | None, float] = (None, 0.0)
        self._width = 0

    def progress(self, progress: JobProgress) -> None:
        if progress.behind:
            self._note(f"{progress.behind} events are not being consumed: they will show as differences")
        for difference in progress.found:
            self._clear()
            self._out.write(describe_difference(difference) + "\n")
        self._printed += len(progress.found)
        self._show(progress.state)

    def ended(self, state: JobState) -> None:
        self._clear()
        if state.differences > self._printed:
            self._out.write(f"and {state.differences - self._printed} more\n")
        self._out.write(result_summary(state) + "\n")

    def failed(self, message: str) -> None:
        self._note(message)

    def _show(self, state: JobState) -> None:
        line, now = status_line(state, self._throughput.update(state)), monotonic()
        if self._err.isatty():
            self._err.write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif state.phase is not self._last_line[0] or now - self._last_line[1] >= SECONDS_BETWEEN_LINES:
            self._last_line = (state.phase, now)
            self._err.write(line + "\n")
        self._err.flush()

    def _note(self, message: str) -> None:
        self._clear()
        self._err.write(message + "\n")

    def _clear(self) -> None:
        if self._width:
            self._err.write("\r" + " " * self._width + "\r")
            self._width = 0


class JsonOutput:
    """One JSON object per line: {"progress": ...}, {"difference": ...}, {"result": ...} or {"error": ...}."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._throughput = Throughput()

    def progress(self, progress: JobProgress) -> None:
        for difference in progress.found:
            self._print(difference=asdict(difference))
        state = progress.state
        self._print(
            progress={
                "operation": state.operation.value,
                "phase": state.phase.value,
                "place": state.stage,
                "done": state.done,
                "total": state.total,
                "per_second": round(self._throughput.update(state)),
                "differences": state.differences,
                "events_behind": progress.behind,
            }
        )

    def ended(self, state: JobState) -> None:
        self._print(
            result={
                "operation": state.operation.value,
                "differences": state.differences,
                "unreadable": state.unreadable,
                "generation": state.generation,
            }
        )

    def failed(self, message: str) -> None:
        self._print(error=message)

    def _print(self, **line: object) -> None:
        self._out.write(orjson.dumps(line).decode() + "\n")
        self._out.flush()


class Throughput:
    """Facts or documents per second in the current phase, as seen by this process."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._began = 0.0
        self._first = 0

    def update(self, state: JobState) -> float:
        """The mean since the phase was first seen."""
        now = monotonic()
        if state.phase is not self._phase:
            self._phase, self._began, self._first = state.phase, now, state.done
        seconds = now - self._began
        return (state.done - self._first) / seconds if seconds > 0 else 0.0


def status_line(state: JobState, per_second: float) -> str:
    """`verify: replaying runs, 12000 of 100000 (12 %), 2900/s, 0 differences`."""
    share = f"{100 * state.done // state.total} %" if state.total else "-"
    stage = f" {state.stage}" if state.stage else ""
    return (
        f"{state.operation.value}: {state.phase.value}{stage}, {state.done} of {state.total} ({share}), "
        f"{per_second:.0f}/s, {state.differences} differences"
    )


def describe_difference(difference: Difference) -> str:
    """`cells app:test:build passed: 3, recounted 4`."""
    field = f" {difference.field}" if difference.field else ""
    counts = f"{difference.serving or 'missing'}, recounted {difference.recounted or 'none'}"
    return f"{difference.collection} {difference.id}{field}: {counts}"


def result_summary(state: JobState) -> str:
    """`rebuilt: generation 3 serves, 2 differences repaired`."""
    unreadable = f", {state.unreadable} facts that cannot be folded" if state.unreadable else ""
    if state.operation is JobKind.VERIFY:
        return f"{state.differences} differences{unreadable}"
    return f"rebuilt: generation {state.generation} serves, {state.differences} differences repaired{unreadable}"
