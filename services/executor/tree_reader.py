"""Reads stored trees in child processes: one may take more CPU and memory than any other call."""

from services.chassis import logs
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=5, wall_seconds=20, memory_bytes=384 * 2**20, answer_bytes=48 * 2**20)
JOBS_PER_CHILD = 500
# The module that only the children import.
CHILD = "services.executor.tree_json"

log = logs.get(__name__)


class TreeReader:
    """One child, in turns of the organisations."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__, CHILD)
        turns = FairTurns(1, per_org=1, waiting_per_org=32, waiting=128)
        self._children = ChildPool("trees", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def read(self, org_id: str, stored: bytes) -> bytes | None:
        """The tree as JSON; None if it is damaged, or takes more than the limits.

        Raises:
            ResourceExhausted: too many requests wait.
            Unavailable: too many wait.
        """
        try:
            return await self._children.call(org_id, stored) or None
        except JobFailed as failure:
            log.warning("tree_not_read", org_id=org_id, error=str(failure))
            return None

    async def close(self) -> None:
        await self._children.close()


def answer(stored: bytes) -> bytes:
    """What a child does with a stored tree: its JSON; empty if it is damaged."""
    from services.executor import tree_json

    return tree_json.read_tree(stored)
