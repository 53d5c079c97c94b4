"""Resolves steps in child processes: a page source may take more CPU and memory than any other call."""

import json

from mobiletest.executor.v1 import steps_pb2 as pb

from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=2, wall_seconds=8, memory_bytes=128 * 2**20, answer_bytes=2 * 2**20)
CHILDREN = 2
JOBS_PER_CHILD = 500
# Characters of an attribute in the answer.
VALUE_LIMIT = 1_000
RESOLVED, REFUSED = b"\x00", b"\x01"
# The module that only the children import: in this process it would take 5 MiB.
CHILD = "services.executor.resolver_child"


class ResolverPool:
    """The children that resolve steps. An organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__, CHILD)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=8, waiting=32)
        self._children = ChildPool("resolver", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def resolve(self, request: pb.ResolveStepRequest) -> pb.ResolveStepResponse:
        """What the step does on the screen of the page source.

        Raises:
            InvalidArgument: the step or the source is invalid, or the source takes more than the limits.
            ResourceExhausted: too many requests wait.
            Unavailable: too many requests wait.
        """
        org_id = current().org_id
        try:
            response = await self._children.call(org_id, b"%b\0%b" % (org_id.encode(), request.SerializeToString()))
        except JobFailed as failure:
            message = f"reading it failed: {failure}; send the page source of one screen"
            raise InvalidArgument(
                f"source: {message}", violations=[Violation("source", message, "source.work")]
            ) from None
        if response[:1] == REFUSED:
            message, violations = json.loads(response[1:])
            raise InvalidArgument(message, violations=[Violation(*each) for each in violations])
        return pb.ResolveStepResponse.FromString(response[1:])

    async def warm(self) -> None:
        """Start a child before the first request needs it."""
        await self._children.warm()

    async def close(self) -> None:
        await self._children.close()


def answer(request: bytes) -> bytes:
    """What a child does with a request: the response, or why the request is invalid."""
    from services.executor import resolver_child

    return resolver_child.answer(request)
