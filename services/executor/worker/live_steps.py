"""Writes the steps of attempts under way, so that people see them before the attempts end."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor.ports.runs import Claim, LiveAttempt, LiveAttempts
from services.executor.worker.processes.host import AttemptHost
from services.executor.worker.processes.messages import UnknownMessage

# How often the worker looks for attempts whose steps have changed.
TURN_SECONDS = 0.1
# How long the steps of an attempt are not written after they were, or after there are any.
PAUSE_SECONDS = 0.5
# Of the time that a write takes: the pause after it is at least so many times as long.
PAUSE_FACTOR = 5
WRITE_SECONDS = 5.0
# Reports of an attempt that are read at once. An attempt that sends more is not shown before its end.
UNREAD_LIMIT = 8 * 1024 * 1024

log = logs.get(__name__)


class LiveStepsWriter:
    """Writes what has changed. An attempt that ends soon, or that nothing happens in, costs no write.

    Verdicts do not depend on it: what cannot be written is not shown before the end of the attempt.
    """

    def __init__(self, attempts: LiveAttempts, clock: Callable[[], float] = monotonic) -> None:
        self._attempts = attempts
        self._clock = clock
        self._followed: dict[str, _FollowedAttempt] = {}

    @contextmanager
    def follow(self, claim: Claim, host: AttemptHost) -> Iterator[None]:
        """Write the steps of this attempt inside the block."""
        followed = self._followed[claim.run.id] = _FollowedAttempt(claim, host)
        try:
            yield
        finally:
            if self._followed.get(claim.run.id) is followed:
                del self._followed[claim.run.id]

    async def run(self) -> None:
        """Write until cancelled; database outages are waited out."""
        while True:
            await asyncio.sleep(TURN_SECONDS)
            await self.write_due()

    async def write_due(self) -> None:
        """Write the steps that have changed, of the attempts whose turn it is."""
        began = self._clock()
        due = [followed for followed in self._followed.values() if followed.is_due(began)]
        snapshots = {followed: snapshot for followed in due if (snapshot := followed.take()) is not None}
        if not snapshots:
            return
        try:
            await self._write(list(snapshots.values()))
        except Exception as error:
            log.warning("live_steps_not_written", attempts=len(snapshots), error=repr(error))
            if is_transient(error):
                for followed in snapshots:
                    followed.repeat()
            else:
                await self._write_each(snapshots)
        took = self._clock() - began
        for followed in snapshots:
            followed.due_at = began + max(PAUSE_SECONDS, PAUSE_FACTOR * took)

    async def _write(self, snapshots: Sequence[LiveAttempt]) -> None:
        async with asyncio.timeout(WRITE_SECONDS):
            await self._attempts.write(snapshots)

    async def _write_each(self, snapshots: "dict[_FollowedAttempt, LiveAttempt]") -> None:
        """Give up those that cannot be stored, so that the others can be."""
        for followed, snapshot in snapshots.items():
            try:
                await self._write([snapshot])
            except Exception as error:
                followed.given_up = not is_transient(error)


class _FollowedAttempt:
    """An attempt under way. `due_at` is None until there is something to write."""

    def __init__(self, claim: Claim, host: AttemptHost) -> None:
        self._claim = claim
        self._host = host
        self._written = 0
        self.due_at: float | None = None
        self.given_up = False

    def is_due(self, now: float) -> bool:
        if self.given_up or self._host.changes == self._written:
            return False
        if self.due_at is None:
            self.due_at = now + PAUSE_SECONDS
        return now >= self.due_at

    def repeat(self) -> None:
        """What was taken was not written."""
        self._written = 0

    def take(self) -> LiveAttempt | None:
        """What there is to write; None for an attempt whose reports are too large or malformed."""
        self._written = self._host.changes
        try:
            if self._host.unread_bytes > UNREAD_LIMIT:
                raise UnknownMessage("the reports are too large")
            steps, artifacts = self._host.progress()
        except UnknownMessage as error:
            log.warning("live_steps_given_up", run_id=self._claim.run.id, error=str(error))
            self.given_up = True
            return None
        device = self._host.device
        return LiveAttempt(
            key=self._claim.key,
            org_id=self._claim.run.org_id,
            token=self._claim.run.fencing_token,
            number=self._claim.attempt,
            device=device.name if device is not None else None,
            simulated=device.simulated if device is not None else None,
            steps=tuple(steps),
            artifacts=tuple(artifacts),
        )
