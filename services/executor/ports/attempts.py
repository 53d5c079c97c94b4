"""Ports of attempts: devices to run on, and artifacts with their retention."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Protocol

from services.executor.model.attempts import Artifact, AttemptResult, StepResult
from services.executor.model.runs import Platform
from services.executor.ports.runs import Claim

Progress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]
"""Called after each step with all steps and artifacts so far."""


class Attempts(Protocol):
    """Carries out attempts on devices."""

    @property
    def platforms(self) -> Sequence[Platform]:
        """The platforms of the available devices."""

    def places(self, platform: Platform) -> int:
        """How many attempts can have a device at once."""

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        """One attempt. Never raises because of a test, an app or a device; releases the device when cancelled."""


class Artifacts(Protocol):
    """Screenshots and other files that attempts keep."""

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Raises Unavailable when the store is."""

    def read(self, run_id: str, attempt: int, name: str) -> AsyncIterator[bytes]:
        """In chunks; NotFound, Unavailable."""


class RetainedRuns(Protocol):
    """Ended runs whose artifacts are still kept."""

    async def now(self) -> datetime:
        """The clock that the runs' end times refer to."""

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of runs that ended before then, oldest first."""

    async def expire(self, run_ids: Sequence[str]) -> None:
        """Mark their artifacts as deleted."""


class ArtifactFiles(Protocol):
    """The object store that holds artifacts."""

    async def delete_all(self, prefix: str) -> int: ...


class Lease(Protocol):
    """Lets one process at a time do a background job."""

    async def acquire(self) -> bool: ...

    async def release(self) -> None: ...
