"""Makes one file of a run, with its pictures up to a limit."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import WEBP, Artifact, ScreenArea, StepResult, StepStatus
from services.chassis.byte_ranges import FilePart
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.chassis.turns import list_in_turns
from services.executor.html_report import ReportPicture, RunReport, anchor_of, render
from services.executor.model.runs import Run
from services.executor.model.screens import ScreenKey, StoredScreen
from services.executor.ports.runs import StoredArtifacts
from services.executor.ports.screens import Screens
from services.executor.usecases.screens import read_whole

T = TypeVar("T")

# Of all pictures of a report, which take a third more in it: mail servers take files of 10 MiB and more.
PICTURE_BYTES = 6 * 1024 * 1024
LOG_BYTES = 128 * 1024
# Pictures that are looked up and read at the same time.
_AT_ONCE = 16
_SHOWN_TYPES = frozenset(("image/png", "image/jpeg", WEBP))
_LEFT_OUT = "left out, because the report would be too large"
_GONE = "not available any more"


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file and its ETag without quotes."""

    content: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class _Shot:
    """A picture of a step: a kept screen by its hash, or an artifact."""

    anchor: str
    name: str
    key: str
    area: ScreenArea | None
    attempt: int
    artifact: Artifact | None = None
    urgent: bool = False


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
        *,
        picture_bytes: int = PICTURE_BYTES,
    ) -> None:
        self._runs = runs
        self._screens = screens
        self._artifacts = artifacts
        self._picture_bytes = picture_bytes
        self._turns = FairTurns(2, per_org=1, waiting_per_org=16, waiting=64)

    async def make(self, execution_id: str, run_id: str) -> ReportFile:
        """The report of a run as it is now, in HTML.

        Raises:
            NotFound: there is no such run.
            ResourceExhausted: too many requests for reports wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        run = await self._runs.run(execution_id, run_id)
        async with self._turns.take(current().org_id):
            pictures, left_out = await self._pictures(run)
            log, part = await self._log(run)
            notice = f"{left_out} pictures were left out, because the report would be too large." if left_out else ""
            report = RunReport(run=run, pictures=pictures, log=log, log_part=part, notice=notice)
            content = b"".join(await list_in_turns(render(report)))
            return ReportFile(content, (await asyncio.to_thread(sha256, content)).hexdigest()[:32])

    async def _pictures(self, run: Run) -> tuple[dict[str, list[ReportPicture]], int]:
        """The pictures of each step by its anchor, and how many were left out.

        Those of failures come first, then those of the last steps. A screen that several steps have is there once.
        """
        shots = [shot for attempt in reversed(run.attempts) for shot in _shots(run, attempt)]
        kept = await self._kept({shot.key for shot in shots if shot.artifact is None})
        first: dict[str, _Shot] = {}
        for shot in [*(each for each in shots if each.urgent), *reversed(shots)]:
            first.setdefault(shot.key, shot)
        contents = await self._contents(run, list(first.values()), kept)
        pictures: dict[str, list[ReportPicture]] = {}
        for shot in shots:
            holder = first[shot.key]
            picture = contents[shot.key]
            if holder is not shot and not picture.missing:
                picture = ReportPicture(shot.name, same_as=holder.anchor)
            pictures.setdefault(shot.anchor, []).append(picture)
        return pictures, sum(picture.missing == _LEFT_OUT for picture in contents.values())

    async def _kept(self, hashes: set[str]) -> dict[str, StoredScreen]:
        org_id = current().org_id
        kept: dict[str, StoredScreen] = {}
        for some in _groups(sorted(hashes)):
            for screen in await asyncio.gather(*(self._screens.find(ScreenKey(org_id, hash_)) for hash_ in some)):
                if screen is not None:
                    kept[screen.key.hash] = screen
        return kept

    async def _contents(
        self, run: Run, shots: Sequence[_Shot], kept: dict[str, StoredScreen]
    ) -> dict[str, ReportPicture]:
        """The picture of each key, as long as there is room."""
        room = self._picture_bytes
        pictures: dict[str, ReportPicture] = {}
        chosen: list[_Shot] = []
        for shot in shots:
            size, content_type = _size(shot, kept)
            if content_type not in _SHOWN_TYPES:
                pictures[shot.key] = ReportPicture(shot.name, missing=_GONE)
            elif size > room:
                pictures[shot.key] = ReportPicture(shot.name, missing=_LEFT_OUT)
            else:
                room -= size
                chosen.append(shot)
        for some in _groups(chosen):
            read = await asyncio.gather(*(self._read(run, shot, kept) for shot in some))
            pictures |= {shot.key: picture for shot, picture in zip(some, read, strict=True)}
        return pictures

    async def _read(self, run: Run, shot: _Shot, kept: dict[str, StoredScreen]) -> ReportPicture:
        _, content_type = _size(shot, kept)
        chunks = (
            self._artifacts.read(run.id, shot.attempt, shot.key)
            if shot.artifact is not None
            else self._screens.read(kept[shot.key])
        )
        content = await read_whole(chunks)
        if not content:
            return ReportPicture(shot.name, missing=_GONE)
        return ReportPicture(shot.name, content, content_type, shot.area)

    async def _log(self, run: Run) -> tuple[str, str]:
        """The end of the last attempt's log, and how much that is, empty for all of it."""
        for attempt in run.attempts[-1:]:
            for artifact in attempt.artifacts:
                if artifact.kind == "log" and not artifact.gone:
                    size = artifact.size_bytes
                    start = max(0, size - LOG_BYTES)
                    part = FilePart(start, size, size)
                    content = await read_whole(self._artifacts.read(run.id, attempt.number, artifact.name, part)) or b""
                    lines = content if not start else content.partition(b"\n")[2]
                    return lines.decode(errors="replace"), f"{LOG_BYTES // 1024} KiB" if start else ""
        return "", ""


def _shots(run: Run, attempt: Attempt) -> Iterator[_Shot]:
    """The pictures of the attempt's steps: the screens that they found, what they took, and what a failure showed."""
    artifacts = {each.name: each for each in attempt.artifacts if not each.gone}
    for step in attempt.steps:
        anchor, failed = anchor_of(run, attempt, step), step.status is StepStatus.FAILED
        if step.screen is not None and step.screen.picture:
            element = step.screen.element
            area = element.area if element is not None else None
            yield _Shot(anchor, "Before", step.screen.picture, area, attempt.number, urgent=failed)
        if (artifact := artifacts.get(step.screenshot)) is not None and _is_own(attempt, step):
            name = "At the failure" if failed else "Screenshot"
            yield _Shot(anchor, name, artifact.name, step.element_area, attempt.number, artifact, urgent=failed)


def _is_own(attempt: Attempt, step: StepResult) -> bool:
    """Whether the picture is not of a step inside, which failed and comes later."""
    later = attempt.steps[step.index + 1 : step.index + 2]
    return not any(each.screenshot == step.screenshot and each.depth > step.depth for each in later)


def _size(shot: _Shot, kept: dict[str, StoredScreen]) -> tuple[int, str]:
    """Bytes and media type; nothing if it is not stored any more."""
    if shot.artifact is not None:
        return shot.artifact.size_bytes, shot.artifact.content_type
    screen = kept.get(shot.key)
    return (screen.size_bytes, screen.content_type) if screen is not None else (0, "")


def _groups(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(items), _AT_ONCE):
        yield items[first : first + _AT_ONCE]
