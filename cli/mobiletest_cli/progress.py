"""Follows an execution to its end: events of the server, or polling where a proxy holds them back."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from mobiletest_cli.errors import TIMEOUT, CliError, is_transient
from mobiletest_cli.presentation import outcome

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import Execution, Run

ENDED = frozenset({"completed", "failed", "cancelled"})
# For how long a server may be unreachable during a wait: longer than a gateway needs to be replaced.
PATIENCE_SECONDS = 300.0
# The server sends a comment more often than this; a stream that is silent for longer is held back by a proxy.
EVENT_SECONDS = 40.0
# How often the execution is read while its stream lasts, in case that the stream never brings the end.
LOOK_SECONDS = 15.0
# What an execution's counts call the states of runs; all others wait.
_COUNTS = {
    "passed": "passed",
    "failed": "failed",
    "no verdict": "infra_failed",
    "cancelled": "cancelled",
    "running": "running",
}
_POLL_SECONDS = 20
# Steps are not a change of the execution.
_STEPS_POLL_SECONDS = 2
# How long the server may take for an answer when the wait is about to end.
_ANSWER_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
# How long one look at the execution may take: a server that stands still is soon asked again.
_LOOK_READ_SECONDS = 20.0
# A stream that is silent for longer may be one of a server that is away: a comment is due.
SILENT_SECONDS = EVENT_SECONDS / 2


class WaitEnded(CliError):
    """The client's wait ended before the execution."""

    def __init__(self, execution_id: str, seconds: float) -> None:
        hint = f"The execution continues: mobiletest wait {execution_id}"
        super().__init__(f"execution {execution_id} has not ended within {seconds:.0f} s", TIMEOUT, hint)


class RunTally:
    """How many runs are in which state, by their own events: an execution's counts are older."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._total = 0

    def add_run(self, run: Run) -> None:
        """Count a run as what it is now."""
        self._states[run["id"]] = outcome(run)

    def add_execution(self, execution: Execution) -> None:
        """Learn the number of runs."""
        numbers: Any = execution.get("counts") or {}
        self._total = numbers.get("total", 0)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of an execution's `counts`. A run that has not been heard of waits."""
        counted = Counter(_COUNTS.get(state, "queued") for state in list(self._states.values()))
        total = max(self._total, counted.total())
        return {**counted, "queued": counted["queued"] + total - counted.total(), "total": total}


class Follower:
    """Follows one execution. `on_runs` is called with runs that may have changed, `on_execution` with the execution.

    `on_silence` is called with the seconds without an answer when the server is away, and with 0 when it answers again,
    and `on_steps`, if it is given, with the ids of runs under way that have new steps.
    """

    def __init__(
        self,
        api: Api,
        execution_id: str,
        *,
        on_runs: Callable[[Sequence[Run]], None],
        on_execution: Callable[[Execution], None],
        on_silence: Callable[[float], None] = lambda _: None,
        on_steps: Callable[[Sequence[str]], None] | None = None,
        event_seconds: float = EVENT_SECONDS,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._api = api.impatient()
        self._id = execution_id
        self._on_runs = on_runs
        self._on_execution = on_execution
        self._on_silence = on_silence
        self._on_steps = on_steps
        self._event_seconds = event_seconds
        self._look_seconds = look_seconds
        self._last_event = ""
        self._last_answer = time.monotonic()
        self._fails = False

    @property
    def silence(self) -> float:
        """For how many seconds the server has been away; 0 if it is not. For another thread, too."""
        seconds = time.monotonic() - self._last_answer
        return seconds if self._fails or seconds > SILENT_SECONDS else 0.0

    def wait(self, timeout: float | None = None) -> Execution:
        """The execution after its end.

        Raises:
            WaitEnded: after `timeout` seconds.
            CliError: unreachable for too long.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        streams = True
        while True:
            if streams and _remaining(deadline) > self._event_seconds:
                streams = self._follow_events(deadline)
            else:
                self._poll(deadline)
            execution = self._read(deadline)
            if execution is not None and execution["status"] in ENDED:
                return execution
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitEnded(self._id, cast("float", timeout))
            time.sleep(_PAUSE_SECONDS)

    def _follow_events(self, deadline: float | None) -> bool:
        """Pass on events until the stream ends; whether another stream is worth trying.

        It ends before the deadline by the time that a silent stream is waited for: the rest is polled.
        """
        import httpx

        headers = {"Last-Event-ID": self._last_event} if self._last_event else {}
        began, received = time.monotonic(), False
        quiet = None if deadline is None else deadline - self._event_seconds
        try:
            with self._api.stream(
                f"executions/{self._id}/events",
                headers={**headers, "Accept": "text/event-stream"},
                **({} if self._on_steps is None else {"params": {"steps": "true"}}),
                timeout=httpx.Timeout(self._event_seconds, connect=10.0),
            ) as response:
                for kind, sequence, content in read_events(self._until_end(deadline, quiet, response.iter_lines())):
                    received = True
                    self._last_event = sequence
                    self._pass_on(kind, content)
        except CliError as error:
            self._tolerate(error)
            return received or time.monotonic() - began < self._event_seconds / 2
        except (ValueError, LookupError, TypeError, AttributeError):  # no events of ours: a proxy's page, perhaps
            return False
        return True

    def _until_end(self, deadline: float | None, quiet: float | None, lines: Iterator[str]) -> Iterator[str]:
        """The lines, heartbeats too, until `quiet` or until the execution has ended."""
        looked = time.monotonic()
        for line in lines:
            self._answered()
            yield line
            if _remaining(quiet) <= 0:
                return
            if time.monotonic() - looked >= self._look_seconds:
                looked = time.monotonic()
                execution = self._read(deadline)
                if execution is not None and execution["status"] in ENDED:
                    return

    def _pass_on(self, kind: str, content: Any) -> None:
        if kind == "run":
            self._on_runs([cast("Run", content)])
        elif kind == "execution":
            self._on_execution(cast("Execution", content))
        elif kind == "steps" and self._on_steps is not None:
            self._on_steps(content["run_ids"])

    def _poll(self, deadline: float | None) -> None:
        """Wait for a change without a stream, and pass on all runs."""
        try:
            most = _POLL_SECONDS if self._on_steps is None else _STEPS_POLL_SECONDS
            left = min(most, _remaining(deadline))
            self._api.get(f"executions/{self._id}", seconds=left + _ANSWER_SECONDS, wait=int(left))
            runs: list[Run] = list(self._api.pages(f"executions/{self._id}/runs"))
            self._on_runs(runs)
            if self._on_steps is not None:
                self._on_steps([run["id"] for run in runs if run["status"] == "running"])
            self._answered()
        except CliError as error:
            self._tolerate(error)

    def _read(self, deadline: float | None) -> Execution | None:
        """The execution now; None if the server does not answer at the moment."""
        try:
            seconds = max(_ANSWER_SECONDS, min(_LOOK_READ_SECONDS, _remaining(deadline)))
            execution: Execution = self._api.get(f"executions/{self._id}", seconds=seconds)
        except CliError as error:
            self._tolerate(error)
            return None
        self._answered()
        self._on_execution(execution)
        return execution

    def _answered(self) -> None:
        self._last_answer = time.monotonic()
        if self._fails:
            self._fails = False
            self._on_silence(0.0)

    def _tolerate(self, error: CliError) -> None:
        """Raise what will not go away; a server that is being replaced is waited for."""
        if not is_transient(error) or time.monotonic() - self._last_answer > PATIENCE_SECONDS:
            raise error
        self._fails = True
        self._on_silence(self.silence)
        time.sleep(_PAUSE_SECONDS)


def read_events(lines: Iterator[str]) -> Iterator[tuple[str, str, Any]]:
    """Name, id and JSON of each server-sent event."""
    kind, sequence, content = "", "", ""
    for line in lines:
        if not line:
            if content:
                yield kind, sequence, json.loads(content)
            kind, content = "", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            kind = value
        elif field == "id":
            sequence = value
        elif field == "data":
            content += value
    # A stream that is cut in the middle of an event loses it: it is sent again after Last-Event-ID.


def _remaining(deadline: float | None) -> float:
    """The seconds until the deadline."""
    return math.inf if deadline is None else max(0.0, deadline - time.monotonic())
