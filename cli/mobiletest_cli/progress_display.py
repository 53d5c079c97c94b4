"""Shows the progress of an execution: a line that is drawn over itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mobiletest_cli.api import Api
from mobiletest_cli.output import Output, duration
from mobiletest_cli.presentation import counts, device, outcome, reason
from mobiletest_cli.progress import ENDED, Follower

if TYPE_CHECKING:
    from rich.status import Status

    from mobiletest_cli.api_types import Execution, Run


def follow(api: Api, output: Output, execution_id: str, timeout: float | None = None) -> Execution:
    """The execution after its end. WaitEnded after `timeout` seconds; CliError: unreachable for too long."""
    display = _Display(output)
    follower = Follower(api, execution_id, on_run=display.show_run, on_execution=display.show_execution)
    if not output.live:
        return follower.wait(timeout)
    with output.stderr.status("Waiting for a device ...") as status:
        display.status = status
        return follower.wait(timeout)


class _Display:
    """Prints each run that has ended once, and that one has started if nothing can be drawn over."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._shown: dict[str, str] = {}
        self.status: Status | None = None

    def show_run(self, run: Run) -> None:
        state = outcome(run)
        if self._shown.get(run["id"]) == state or (state not in ("running", *_FINAL)):
            return
        self._shown[run["id"]] = state
        if state in _FINAL:
            text = f"{_FINAL[state]} {run['test_name']}: {state} after {duration(run['execution_time_seconds'])}"
            self._output.say(f"{text}{f' - {reason(run)}' if reason(run) else ''}")
        elif self.status is None:
            where = device(run)
            self._output.say(f"▶ {run['test_name']}: running{'' if where == '-' else f' on {where}'}")

    def show_execution(self, execution: Execution) -> None:
        if self.status is not None and execution["status"] not in ENDED:
            self.status.update(counts(execution))


_FINAL = {"passed": "✓", "failed": "✗", "no verdict": "!", "cancelled": "-"}
