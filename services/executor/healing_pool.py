"""Makes proposals in child processes: the stored screens of a step may take more CPU and memory than any other call."""

from dataclasses import replace
from functools import cache

from pydantic import TypeAdapter

from services.chassis import logs
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.fair_turns import FairTurns
from services.chassis.packed_parts import pack, unpack
from services.executor.model.step_proposals import HealingRequest, StepProposal

LIMITS = JobLimits(cpu_seconds=10, wall_seconds=30, memory_bytes=512 * 2**20, answer_bytes=2**20)
JOBS_PER_CHILD = 100
# The module that only the children import.
CHILD = "services.executor.healing_child"
TOO_LARGE = "the stored screens or the steps are too large"

log = logs.get(__name__)


class HealingPool:
    """One child, in turns of the organisations."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__, CHILD)
        turns = FairTurns(1, per_org=1, waiting_per_org=None, waiting=None)
        self._children = ChildPool("healing", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def propose(self, org_id: str, request: HealingRequest) -> StepProposal | str:
        """The proposal, or a sentence on why there is none."""
        try:
            content = await self._children.call(org_id, pack_request(request))
        except JobFailed as failure:
            log.warning("nothing_proposed", org_id=org_id, error=str(failure))
            return TOO_LARGE
        return _answers().validate_json(content)

    async def close(self) -> None:
        await self._children.close()


def pack_request(request: HealingRequest) -> bytes:
    """The request as a child gets it."""
    return pack(_requests().dump_python(replace(request, trees=())), request.trees)


def unpack_request(packed: bytes) -> HealingRequest:
    """The inverse of `pack_request`."""
    head, trees = unpack(packed)
    return replace(_requests().validate_python(head), trees=tuple(trees))


@cache
def _requests() -> TypeAdapter[HealingRequest]:
    return TypeAdapter(HealingRequest)


@cache
def _answers() -> TypeAdapter[StepProposal | str]:
    return TypeAdapter(StepProposal | str)


def answer(request: bytes) -> bytes:
    """What a child does with a request: the proposal as JSON, or why there is none."""
    from services.executor import healing_child

    return _answers().dump_json(healing_child.propose_step(unpack_request(request)))
