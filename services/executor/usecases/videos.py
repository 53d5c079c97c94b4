"""Shows the pictures that the steps of an attempt have left as a video."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from typing import Protocol

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import WEBP, StepResult
from mobiletest_automation.model.run_config import Screens as KeptScreens
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.errors import NotFound
from services.chassis.fair_turns import FairTurns
from services.executor.model.executions import Execution
from services.executor.model.runs import Run
from services.executor.model.screens import ScreenKey, StoredScreen
from services.executor.ports.screens import SCREEN_NOT_FOUND, Screens
from services.executor.usecases.executions import ExecutionControl
from services.executor.usecases.held_contents import HeldContents
from services.executor.usecases.screens import SCREEN_UNREADABLE, read_whole

# Frames of a video: the last ones of the attempt, because what fails comes last.
FRAMES_LIMIT = 120
# Bytes of their pictures together.
PICTURES_BYTES_LIMIT = 24 * 1024 * 1024
SHORTEST_MILLISECONDS = 200
LONGEST_MILLISECONDS = 2_000
READ_AT_ONCE = 8
ATTEMPT_NOT_FOUND, NO_PICTURES = "ATTEMPT_NOT_FOUND", "NO_PICTURES"


class Videos(Protocol):
    """Makes videos of pictures."""

    async def make(self, org_id: str, frames: Iterable[tuple[bytes, int]]) -> bytes | None:
        """Of pictures shown for so many milliseconds each; None if none can be read, or if it takes too much."""


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A picture by its hash, and for how long it is shown."""

    picture: str
    milliseconds: int


@dataclass(frozen=True, slots=True)
class VideoDownload:
    """The part that was asked for; `etag` without quotes. `is_final`: it will not change."""

    etag: str
    part: FilePart
    chunks: AsyncIterator[bytes]
    is_final: bool


def frames_of(steps: Sequence[StepResult]) -> list[VideoFrame]:
    """A frame for each step whose picture is kept, until the next one began, between 0.2 and 2 s. Equal pictures that
    follow one another are one frame.
    """
    shown = [(step.started_at, step.screen.picture) for step in steps if step.screen and step.screen.picture]
    ends = [began for began, _ in shown[1:]]
    frames: list[VideoFrame] = []
    for (began, picture), end in zip_longest(shown, ends):
        lasted = round((end - began).total_seconds() * 1000) if end is not None else LONGEST_MILLISECONDS
        before = frames.pop() if frames and frames[-1].picture == picture else VideoFrame(picture, 0)
        milliseconds = min(before.milliseconds + max(lasted, SHORTEST_MILLISECONDS), LONGEST_MILLISECONDS)
        frames.append(VideoFrame(picture, milliseconds))
    return frames[-FRAMES_LIMIT:]


class VideoUseCases:
    """The videos of the caller's organisation."""

    def __init__(self, control: ExecutionControl, screens: Screens, videos: Videos, held: HeldContents) -> None:
        self._control = control
        self._screens = screens
        self._videos = videos
        self._held = held
        # Taken before pictures are read, which have memory while they wait.
        self._turns = FairTurns(1, per_org=1, waiting_per_org=4, waiting=32)

    async def download(
        self, execution_id: str, run_id: str, number: int | None, asked: ByteRange | None = None
    ) -> VideoDownload:
        """The video of the attempt with this number, None: the latest; or a part of it.

        Raises:
            NotFound: there is no such run or attempt, or no picture of its steps.
            InvalidArgument: as in `find_part`.
            ResourceExhausted: too many requests for videos wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        execution, run = await self._control.run(execution_id, run_id)
        attempt = _find_attempt(run, number)
        frames = frames_of(attempt.steps)
        if not frames:
            raise NotFound(f"No picture of this attempt is kept: {_why_none(execution, attempt)}", reason=NO_PICTURES)
        async with self._turns.take(run.org_id):
            content = await self._make(run.org_id, frames)
        etag = sha256(content).hexdigest()[:32]
        part = find_part(asked, size=len(content), etag=etag)
        chunks = self._held.send(content[part.start : part.end])
        is_final = run.status.terminal if number is None else attempt.completed_at is not None
        return VideoDownload(etag, part, chunks, is_final)

    async def _make(self, org_id: str, frames: Sequence[VideoFrame]) -> bytes:
        pictures = await self._read(org_id, frames)
        if not pictures:
            raise NotFound("The pictures of this attempt were deleted", reason=SCREEN_NOT_FOUND)
        shown = [(pictures[frame.picture], frame.milliseconds) for frame in frames if frame.picture in pictures]
        content = await self._videos.make(org_id, shown)
        if content is None:
            raise NotFound("The pictures of this attempt cannot be read", reason=SCREEN_UNREADABLE)
        return content

    async def _read(self, org_id: str, frames: Sequence[VideoFrame]) -> dict[str, bytes]:
        """The pictures that are still stored, by their hashes: the last ones, until they have PICTURES_BYTES_LIMIT."""
        stored: list[StoredScreen] = []
        for hash_ in dict.fromkeys(frame.picture for frame in reversed(frames)):
            screen = await self._screens.find(ScreenKey(org_id, hash_))
            if screen is None or screen.content_type != WEBP:
                continue
            if sum(each.size_bytes for each in (*stored, screen)) > PICTURES_BYTES_LIMIT:
                break
            stored.append(screen)
        pictures: dict[str, bytes] = {}
        for first in range(0, len(stored), READ_AT_ONCE):
            batch = stored[first : first + READ_AT_ONCE]
            contents = await asyncio.gather(*(read_whole(self._screens.read(screen)) for screen in batch))
            pictures |= {screen.key.hash: content for screen, content in zip(batch, contents, strict=True) if content}
        return pictures


def _find_attempt(run: Run, number: int | None) -> Attempt:
    attempts = [attempt for attempt in run.attempts if number in (None, attempt.number)]
    if not attempts:
        message = f"The run has no attempt {number}" if number is not None else "The run has no attempt yet"
        raise NotFound(message, reason=ATTEMPT_NOT_FOUND)
    return attempts[-1]


def _why_none(execution: Execution, attempt: Attempt) -> str:
    kept = execution.run_config.screens
    lost = next((step.screen.lost for step in attempt.steps if step.screen is not None and step.screen.lost), "")
    if kept is KeptScreens.OFF:
        return "run_config.screens is off"
    if kept is KeptScreens.FAILED and attempt.success:
        return "run_config.screens keeps those of attempts that failed"
    return lost or "its steps have looked at no screen"
