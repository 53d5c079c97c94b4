"""Prints the steps of runs as they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from mobiletest_cli.errors import CliError
from mobiletest_cli.output import Output, duration
from mobiletest_cli.presentation import attempt_device, shorten

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import Attempt, Run, StepResult

# How long steps are read before the next event is looked at; what is left waits for it.
_READ_SECONDS = 0.25
_TEXT_LENGTH = 160


class StepPrinter:
    """A line for each step of an execution that has ended, each once, and those of a run in their order.

    `label` is the name of a run. A run whose steps cannot be read now is read again after its next step.
    """

    def __init__(self, api: Api, output: Output, execution_id: str, label: Callable[[Run], str]) -> None:
        self._api = api.impatient()
        self._output = output
        self._path = f"executions/{execution_id}/runs"
        self._label = label
        self._waiting: dict[str, None] = {}
        # When the steps that were printed had begun, by run, attempt and index: later rounds replace earlier ones.
        self._printed: dict[str, dict[tuple[int, int], str]] = {}

    def add(self, run_ids: Sequence[str]) -> None:
        """The steps of these runs have changed."""
        self._waiting |= dict.fromkeys(run_ids)
        until = time.monotonic() + _READ_SECONDS
        while self._waiting and time.monotonic() < until:
            run_id = next(iter(self._waiting))
            del self._waiting[run_id]
            self._print_new(run_id)

    def end(self, run_id: str) -> None:
        """The run has ended: print what is left of it."""
        self._waiting.pop(run_id, None)
        self._print_new(run_id)
        self._printed.pop(run_id, None)

    def _print_new(self, run_id: str) -> None:
        try:
            run: Run = self._api.get(f"{self._path}/{run_id}")
        except CliError:
            return
        printed = self._printed.setdefault(run_id, {})
        for attempt in run["attempts"]:
            for step in _in_order_of_ends(attempt["steps"]):
                key = (attempt["number"], step["index"])
                if printed.get(key) != (begun := str(step["started_at"])):
                    printed[key] = begun
                    self._output.say(_line(self._label(run), attempt, step))


def _in_order_of_ends(steps: Sequence[StepResult]) -> Iterator[StepResult]:
    """The steps that have ended; one that holds others comes after them."""
    ended = [step for step in steps if step["status"] != "running"]
    return iter(sorted(ended, key=lambda step: (_end(step), -step["depth"], step["index"])))


def _end(step: Any) -> datetime:
    begun = datetime.fromisoformat(step["started_at"].replace("Z", "+00:00"))
    return begun + timedelta(seconds=step["duration_seconds"])


def _line(label: str, attempt: Attempt, step: StepResult) -> str:
    """ "Pay, attempt 2: step 3 passed after 1.2 s on Pixel 7: Tap Buy"."""
    name = label if attempt["number"] == 1 else f"{label}, attempt {attempt['number']}"
    text = shorten(step["text"], _TEXT_LENGTH)
    took = duration(step["duration_seconds"])
    return f"  {name}: step {step['index'] + 1} {step['status']} after {took} on {attempt_device(attempt)}: {text}"
