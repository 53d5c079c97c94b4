"""A run that this worker owns, and the ways in which its work may be ended from outside."""

import asyncio
from collections.abc import Sequence
from enum import Enum, auto

from services.executor.model.attempts import Artifact, StepResult
from services.executor.ports.runs import Claim


class StopReason(Enum):
    """Why work on a run has to end before its result."""

    CANCEL = auto()
    """Somebody asked for it: write that it was cancelled."""
    LOST = auto()
    """The run is another's: write nothing."""
    DRAIN = auto()
    """This worker stops: hand the run back."""


class ActiveRun:
    """One run in one slot; `claim` changes from attempt to attempt.

    `trying` is true while an attempt goes on. Before and after, this worker itself moves the run from one token to
    the next, and what others see of that says nothing about who owns it.
    """

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.trying = False
        self.steps: tuple[StepResult, ...] = ()
        self.artifacts: tuple[Artifact, ...] = ()
        self.why: StopReason | None = None
        self._stopped = asyncio.Event()

    @property
    def token(self) -> int:
        return self.claim.run.fencing_token

    def begin(self, claim: Claim) -> None:
        """Another attempt of the same run."""
        self.claim = claim
        self.steps = ()
        self.artifacts = ()

    def stop(self, why: StopReason) -> None:
        """End the work; the first reason stands, but for a run that is lost, which nobody may write any more."""
        if self.why is None or why is StopReason.LOST:
            self.why = why
        self._stopped.set()

    async def stopped(self) -> None:
        await self._stopped.wait()

    async def progress(self, steps: Sequence[StepResult], artifacts: Sequence[Artifact] = ()) -> None:
        """What has been done and kept so far, for the case that the attempt is stopped."""
        self.steps = tuple(steps)
        self.artifacts = tuple(artifacts)
