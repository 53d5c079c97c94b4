"""Makes one file of a run, with its pictures up to a limit."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.html_report import (
    LOG_BYTES,
    PICTURE_BYTES,
    ReportedRun,
    Shot,
    StoredPicture,
    render,
)
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.chassis.turns import list_in_turns
from services.executor.model.runs import Run
from services.executor.model.screens import ScreenKey, StoredScreen
from services.executor.ports.runs import StoredArtifacts
from services.executor.ports.screens import Screens
from services.executor.usecases.held_contents import HeldContents
from services.executor.usecases.screens import read_whole

T = TypeVar("T")

# Pictures that are looked up and read at the same time.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file and its ETag without quotes."""

    content: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class ReportDownload:
    """The part that was asked for; `etag` without quotes."""

    etag: str
    part: FilePart
    chunks: AsyncIterator[bytes]


class RunReader(Protocol):
    """Runs of the caller's organisation."""

    async def run(self, execution_id: str, run_id: str) -> Run:
        """One run with its steps.

        Raises:
            NotFound: there is no such run.
        """


class RunReports:
    """The reports of the caller's organisation. One report is made at a time for each organisation."""

    def __init__(
        self,
        runs: RunReader,
        screens: Screens,
        artifacts: StoredArtifacts,
        held: HeldContents,
        *,
        picture_bytes: int = PICTURE_BYTES,
    ) -> None:
        self._runs = runs
        self._screens = screens
        self._artifacts = artifacts
        self._held = held
        self._picture_bytes = picture_bytes
        self._turns = FairTurns(2, per_org=1, waiting_per_org=16, waiting=64)

    async def download(self, execution_id: str, run_id: str, asked: ByteRange | None = None) -> ReportDownload:
        """The report of a run as it is now, or a part of it.

        Raises:
            InvalidArgument: as in `find_part`.
            NotFound: as in `make`.
            ResourceExhausted: as in `make`.
            Unavailable: as in `make`.
        """
        report = await self.make(execution_id, run_id)
        part = find_part(asked, size=len(report.content), etag=report.etag)
        return ReportDownload(report.etag, part, self._held.send(report.content[part.start : part.end]))

    async def make(self, execution_id: str, run_id: str) -> ReportFile:
        """The report of a run as it is now, in HTML.

        Raises:
            NotFound: there is no such run.
            ResourceExhausted: too many requests for reports wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        run = await self._runs.run(execution_id, run_id)
        async with self._turns.take(current().org_id):
            source = _StoredPictures(run, self._screens, self._artifacts)
            log, size = await self._log(run)
            pieces = await render(_reported(run), source, log, size, picture_bytes=self._picture_bytes)
            content = b"".join(await list_in_turns(pieces))
            return ReportFile(content, (await asyncio.to_thread(sha256, content)).hexdigest()[:32])

    async def _log(self, run: Run) -> tuple[bytes, int]:
        """The end of the last attempt's log, and how many bytes all of it has."""
        for attempt in run.attempts[-1:]:
            for artifact in attempt.artifacts:
                if artifact.kind == "log" and not artifact.gone:
                    size = artifact.size_bytes
                    part = FilePart(max(0, size - LOG_BYTES), size, size)
                    content = await read_whole(self._artifacts.read(run.id, attempt.number, artifact.name, part))
                    return content or b"", size
        return b"", 0


class _StoredPictures:
    """The port `PictureSource`: screens of the caller's organisation, and artifacts of the run."""

    def __init__(self, run: Run, screens: Screens, artifacts: StoredArtifacts) -> None:
        self._run = run
        self._screens = screens
        self._artifacts = artifacts
        self._kept: dict[str, StoredScreen] = {}

    async def look_up(self, shots: Sequence[Shot]) -> Mapping[str, StoredPicture]:
        org_id = current().org_id
        hashes = sorted({shot.key for shot in shots if shot.artifact is None})
        for some in _groups(hashes):
            for screen in await asyncio.gather(*(self._screens.find(ScreenKey(org_id, hash_)) for hash_ in some)):
                if screen is not None:
                    self._kept[screen.key.hash] = screen
        pictures = {key: StoredPicture(screen.content_type, screen.size_bytes) for key, screen in self._kept.items()}
        artifacts = [shot.artifact for shot in shots if shot.artifact is not None]
        return pictures | {each.name: StoredPicture(each.content_type, each.size_bytes) for each in artifacts}

    async def read(self, shots: Sequence[Shot]) -> Mapping[str, bytes]:
        contents: dict[str, bytes] = {}
        for some in _groups(shots):
            read = await asyncio.gather(*map(self._read, some))
            contents |= {shot.key: content for shot, content in zip(some, read, strict=True) if content}
        return contents

    async def _read(self, shot: Shot) -> bytes | None:
        if shot.artifact is not None:
            return await read_whole(self._artifacts.read(self._run.id, shot.attempt, shot.key))
        return await read_whole(self._screens.read(self._kept[shot.key]))


def _reported(run: Run) -> ReportedRun:
    target = run.target
    return ReportedRun(
        test_name=target.test_name,
        app=target.app_name or "",
        platform=target.platform or "",
        version=target.resolved_build_version or "",
        test_version=target.test_version_number,
        status=run.status,
        success=run.success,
        failure=run.failure,
        attempts=run.attempts,
        seconds=run.execution_time_seconds,
        completed_at=run.completed_at,
    )


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), _AT_ONCE):
        yield items[first : first + _AT_ONCE]
