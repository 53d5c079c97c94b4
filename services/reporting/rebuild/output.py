"""Operations as text for people, and as JSON lines for programs."""

from time import monotonic
from typing import TextIO

import orjson

from services.reporting.rebuild.state import Difference, JobProgress, JobState, Operation, Phase

SECONDS_BETWEEN_LINES = 5.0


class TextOutput:
    """Differences go to `out`; to `aside` where the operation stands: one line that changes, or, where that is no
    terminal, a line every few seconds and for each phase."""

    def __init__(self, out: TextIO, aside: TextIO) -> None:
        self._out = out
        self._aside = aside
        self._rate = Rate()
        self._told = 0
        self._said: tuple[Phase | None, float] = (None, 0.0)
        self._width = 0

    def progress(self, progress: JobProgress) -> None:
        """Show the differences, and where it stands."""
        if progress.behind:
            self._note(f"{progress.behind} events wait that nobody folds: what they tell shows as differences")
        for difference in progress.found:
            self._clear()
            self._out.write(describe_difference(difference) + "\n")
        self._told += len(progress.found)
        self._show(progress.state)

    def ended(self, state: JobState) -> None:
        """Say what it came to."""
        self._clear()
        if state.differences > self._told:
            self._out.write(f"and {state.differences - self._told} more\n")
        self._out.write(result_summary(state) + "\n")

    def failed(self, message: str) -> None:
        """Say why there is no result."""
        self._note(message)

    def _show(self, state: JobState) -> None:
        line, now = status_line(state, self._rate.of(state)), monotonic()
        if self._aside.isatty():
            self._aside.write("\r" + line.ljust(self._width))
            self._width = len(line)
        elif state.phase is not self._said[0] or now - self._said[1] >= SECONDS_BETWEEN_LINES:
            self._said = (state.phase, now)
            self._aside.write(line + "\n")
        self._aside.flush()

    def _note(self, message: str) -> None:
        self._clear()
        self._aside.write(message + "\n")

    def _clear(self) -> None:
        if self._width:
            self._aside.write("\r" + " " * self._width + "\r")
            self._width = 0


class JsonOutput:
    """One JSON object per line: {"progress": ...}, {"difference": ...}, {"result": ...} or {"error": ...}."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rate = Rate()

    def progress(self, progress: JobProgress) -> None:
        """Print the differences, and where it stands."""
        for found in progress.found:
            self._print(difference={name: getattr(found, name) for name in Difference.__dataclass_fields__})
        state = progress.state
        self._print(
            progress={
                "operation": state.operation.value,
                "phase": state.phase.value,
                "place": state.place,
                "done": state.done,
                "total": state.total,
                "per_second": round(self._rate.of(state)),
                "differences": state.differences,
                "events_behind": progress.behind,
            }
        )

    def ended(self, state: JobState) -> None:
        """Print what it came to."""
        self._print(
            result={
                "operation": state.operation.value,
                "differences": state.differences,
                "unreadable": state.unreadable,
                "generation": state.generation,
            }
        )

    def failed(self, message: str) -> None:
        """Print why there is no result."""
        self._print(error=message)

    def _print(self, **line: object) -> None:
        self._out.write(orjson.dumps(line).decode() + "\n")
        self._out.flush()


class Rate:
    """How many a second are dealt with, in this phase and by this process."""

    def __init__(self) -> None:
        self._phase: Phase | None = None
        self._began = 0.0
        self._first = 0

    def of(self, state: JobState) -> float:
        """The mean since this phase was first seen."""
        now = monotonic()
        if state.phase is not self._phase:
            self._phase, self._began, self._first = state.phase, now, state.done
        seconds = now - self._began
        return (state.done - self._first) / seconds if seconds > 0 else 0.0


def status_line(state: JobState, per_second: float) -> str:
    """`verify: replaying runs, 12000 of 100000 (12 %), 2900/s, 0 differences`."""
    share = f"{100 * state.done // state.total} %" if state.total else "-"
    place = f" {state.place}" if state.place else ""
    return (
        f"{state.operation.value}: {state.phase.value}{place}, {state.done} of {state.total} ({share}), "
        f"{per_second:.0f}/s, {state.differences} differences"
    )


def describe_difference(found: Difference) -> str:
    """`cells app:test:build passed: 3, recounted 4`."""
    field = f" {found.field}" if found.field else ""
    return f"{found.collection} {found.id}{field}: {found.serving or 'missing'}, recounted {found.recounted or 'none'}"


def result_summary(state: JobState) -> str:
    """What the operation came to."""
    unreadable = f", {state.unreadable} facts that cannot be folded" if state.unreadable else ""
    if state.operation is Operation.VERIFY:
        return f"{state.differences} differences{unreadable}"
    return f"rebuilt: generation {state.generation} serves, {state.differences} differences repaired{unreadable}"
