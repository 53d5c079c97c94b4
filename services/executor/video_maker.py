"""Makes videos of pictures in child processes: one may take more CPU and memory than any other call."""

from collections.abc import Iterable

from services.chassis import logs
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.fair_turns import FairTurns
from services.chassis.packed_parts import pack, unpack

LIMITS = JobLimits(cpu_seconds=15, wall_seconds=40, memory_bytes=512 * 2**20, answer_bytes=48 * 2**20)

log = logs.get(__name__)


class VideoMaker:
    """A child for each video, in turns of the organisations; it ends afterwards, because it holds much memory."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        turns = FairTurns(1, per_org=1, waiting_per_org=None, waiting=None)
        self._children = ChildPool("videos", answer, turns, limits)

    async def make(self, org_id: str, frames: Iterable[tuple[bytes, int]]) -> bytes | None:
        """The animation (WebP) of pictures (WebP) that are shown for so many milliseconds each; None if none can be
        read, or if it takes more than the limits.
        """
        try:
            pictures, durations = zip(*frames, strict=True)
            return await self._children.call(org_id, pack(durations, pictures)) or None
        except JobFailed as failure:
            log.warning("video_not_made", org_id=org_id, error=str(failure))
            return None


def answer(packed: bytes) -> bytes:
    """What a child does with packed frames; empty if no picture of them can be read."""
    from services.executor import step_animation

    durations, pictures = unpack(packed)
    return step_animation.animate(zip(pictures, durations, strict=True))
