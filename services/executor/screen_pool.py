"""Groups and compares the screens of builds in child processes: many screens take more CPU than any other call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from services.chassis import logs
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.fair_turns import FairTurns
from services.chassis.packed_parts import pack, unpack
from services.executor.model.build_screens import SeenRuns

LIMITS = JobLimits(cpu_seconds=30, wall_seconds=60, memory_bytes=512 * 2**20, answer_bytes=3 * 2**20)
CHILDREN = 2
JOBS_PER_CHILD = 100
# The module that only the children import.
CHILD = "services.executor.screen_child"

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class ScreensJob:
    """Screens to list, or with a base to compare: first those of the base, then those of the build.

    `ids` are those of the builds, `blobs` stored trees and pictures by hash. `notices` say what is left out already.
    Without `with_pictures` the answer names the pictures that a comparison needs.
    """

    sides: Sequence[SeenRuns]
    ids: Sequence[str] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    notices: Sequence[str] = ()
    with_pictures: bool = False


class ScreenPool:
    """The children; an organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__, CHILD)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=None, waiting=None)
        self._children = ChildPool("screens", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def run(self, org_id: str, job: ScreensJob) -> tuple[list[str], bytes] | None:
        """The hashes of the pictures that are needed, and the message; None if it takes more than the limits."""
        try:
            names, (message,) = unpack(await self._children.call(org_id, _encode(job)))
        except JobFailed as failure:
            log.warning("screens_not_compared", org_id=org_id, error=str(failure))
            return None
        return names, message

    async def close(self) -> None:
        await self._children.close()


def _encode(job: ScreensJob) -> bytes:
    header = {
        "sides": job.sides,
        "ids": job.ids,
        "notices": job.notices,
        "with_pictures": job.with_pictures,
        "blobs": list(job.blobs),
    }
    return pack(header, job.blobs.values())


def answer(request: bytes) -> bytes:
    """What a child does with a job: the hashes of the pictures that it needs, and the message."""
    from services.executor import screen_child

    return screen_child.answer(request)
