"""A run that this worker holds, and the reasons to stop working on it early."""

import asyncio
from collections.abc import Sequence
from enum import Enum, auto

from services.executor.model.attempts import Artifact, StepResult
from services.executor.ports.runs import Claim


class StopReason(Enum):
    """Why work on a run ends before it has a result."""

    CANCEL = auto()
    """Cancellation was requested: write the run as cancelled."""
    LOST = auto()
    """Another worker owns the run: write nothing."""
    DRAIN = auto()
    """This worker shuts down: hand the run back."""


class ActiveRun:
    """One run in one slot; `claim` changes with every attempt.

    `in_attempt` is true while an attempt is running. Before and after it this worker itself changes the run's token,
    so notices about the old token mean nothing.
    """

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.in_attempt = False
        self.steps: tuple[StepResult, ...] = ()
        self.artifacts: tuple[Artifact, ...] = ()
        self.stop_reason: StopReason | None = None
        self._stopped = asyncio.Event()

    @property
    def token(self) -> int:
        return self.claim.run.fencing_token

    def begin(self, claim: Claim) -> None:
        """Start another attempt of the same run."""
        self.claim = claim
        self.steps = ()
        self.artifacts = ()

    def stop(self, reason: StopReason) -> None:
        """End the work. The first reason stands, except that LOST always wins: a lost run must not be written."""
        if self.stop_reason is None or reason is StopReason.LOST:
            self.stop_reason = reason
        self._stopped.set()

    async def wait_until_stopped(self) -> None:
        await self._stopped.wait()

    async def progress(self, steps: Sequence[StepResult], artifacts: Sequence[Artifact] = ()) -> None:
        """Remember the steps and artifacts so far, in case the attempt is stopped."""
        self.steps = tuple(steps)
        self.artifacts = tuple(artifacts)
