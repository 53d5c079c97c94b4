"""Shows the progress of an execution: a line that is drawn over itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mobiletest_cli.output import Output, duration
from mobiletest_cli.presentation import counts_text, device, labels, outcome, reason
from mobiletest_cli.progress import Follower, RunTally
from mobiletest_cli.step_printer import StepPrinter

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import Execution, Run

# After how long without an answer plain lines say so; then each time that it has doubled.
FIRST_SILENCE_SECONDS = 10.0


def follow(
    api: Api, output: Output, execution_id: str, timeout: float | None = None, *, steps: bool = False
) -> Execution:
    """The execution after its end. With `steps` they are printed as they end.

    Raises:
        WaitEnded: after `timeout` seconds.
        CliError: unreachable for too long.
    """
    display = Display(output)
    if steps and output.shows_progress:
        display.steps = StepPrinter(api, output, execution_id, display.label)
    follower = Follower(
        api,
        execution_id,
        on_runs=display.show_runs,
        on_execution=display.tally.add_execution,
        on_silence=display.show_silence,
        on_steps=None if display.steps is None else display.steps.add,
    )
    if not output.live:
        return follower.wait(timeout)
    with output.status(lambda: display.line(follower.silence)):
        return follower.wait(timeout)


class Display:
    """Prints each run that has ended once, and that one has started if nothing can be drawn over."""

    def __init__(self, output: Output) -> None:
        self.tally = RunTally()
        self.steps: StepPrinter | None = None
        self._output = output
        self._shown: dict[str, str] = {}
        self._runs: dict[str, Run] = {}
        self._next_silence = FIRST_SILENCE_SECONDS

    def show_runs(self, runs: Sequence[Run]) -> None:
        """Count the runs, and say how they ended. A test whose name others have is told apart by its path."""
        self._runs |= {run["id"]: run for run in runs}
        for run in runs:
            self.tally.add_run(run)
        changed = [run for run in runs if self._is_news(run)]
        names = labels(self._runs.values()) if changed else {}
        for run in changed:
            if self.steps is not None and outcome(run) in _FINAL:
                self.steps.end(run["id"])
            self._show_run(run, names[run["id"]])

    def label(self, run: Run) -> str:
        """The name of the run's test, as `show_runs` tells it apart."""
        return labels({**self._runs, run["id"]: run}.values())[run["id"]]

    def _is_news(self, run: Run) -> bool:
        """Whether the state of the run is one to show, and has not been asked for before."""
        state = outcome(run)
        if self._shown.get(run["id"]) == state or state not in ("running", *_FINAL):
            return False
        self._shown[run["id"]] = state
        return True

    def _show_run(self, run: Run, name: str) -> None:
        state = outcome(run)
        if state in _FINAL:
            text = f"{_FINAL[state]} {name}: {state} after {duration(run['execution_time_seconds'])}"
            self._output.say(f"{text}{f' - {reason(run)}' if reason(run) else ''}")
        elif not self._output.live:
            where = device(run)
            self._output.say(f"▶ {name}: running{'' if where == '-' else f' on {where}'}")

    def show_silence(self, seconds: float) -> None:
        """Say that the server is away, and that it has come back; seldom where the line does not say it."""
        if self._output.live:
            return
        if seconds >= self._next_silence:
            self._next_silence = 2 * seconds
            self._output.say(_silence(seconds))
        elif not seconds and self._next_silence > FIRST_SILENCE_SECONDS:
            self._next_silence = FIRST_SILENCE_SECONDS
            self._output.say("The server answers again.")

    def line(self, silence: float) -> str:
        """The line that is drawn over itself: the runs, and for how many seconds the server has been away."""
        numbers = self.tally.counts
        text = counts_text(numbers) if numbers["total"] else "Waiting for a device ..."
        return f"{text}; {_silence(silence)}" if silence >= 1 else text


def _silence(seconds: float) -> str:
    return f"no answer for {seconds:.0f} s, still trying"


_FINAL = {"passed": "✓", "failed": "✗", "no verdict": "!", "cancelled": "-"}
