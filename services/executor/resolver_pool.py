"""Resolves steps in child processes: a page source may take more CPU and memory than any other call."""

import json

from mobiletest.executor.v1 import steps_pb2 as pb
from mobiletest.types.v1 import platform_pb2

from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.fair_turns import FairTurns
from services.chassis.proto_values import json_to_struct, to_enum_member, value_to_json
from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.grounding import Grounding
from services.executor.model.runs import Platform
from services.executor.usecases.step_resolver import resolve_step

LIMITS = JobLimits(cpu_seconds=2, wall_seconds=8, memory_bytes=128 * 2**20, answer_bytes=2 * 2**20)
CHILDREN = 2
JOBS_PER_CHILD = 500
VALUE_LIMIT = 1_000
"""Characters of an attribute in the answer."""

_RESOLVED, _REFUSED = b"\x00", b"\x01"


class ResolverPool:
    """The children that resolve steps. An organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=8, waiting=32)
        self._children = ChildPool("resolver", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def resolve(self, request: pb.ResolveStepRequest) -> pb.ResolveStepResponse:
        """What the step does on the screen of the page source.

        InvalidArgument when the step or the source is invalid, or the source takes more than the limits;
        ResourceExhausted and Unavailable when too many requests wait.
        """
        try:
            found = await self._children.call(current().org_id, request.SerializeToString())
        except JobFailed as failure:
            message = f"reading it failed: {failure}; send the page source of one screen"
            raise InvalidArgument(
                f"source: {message}", violations=[Violation("source", message, "source.work")]
            ) from None
        if found[:1] == _REFUSED:
            message, violations = json.loads(found[1:])
            raise InvalidArgument(message, violations=[Violation(*each) for each in violations])
        return pb.ResolveStepResponse.FromString(found[1:])

    async def warm(self) -> None:
        """Start a child before the first request needs it."""
        await self._children.warm()

    async def close(self) -> None:
        await self._children.close()


def answer(request: bytes) -> bytes:
    """What a child does with a request: the response, or why the request is invalid."""
    wanted = pb.ResolveStepRequest.FromString(request)
    platform = to_enum_member(Platform, platform_pb2.Platform, wanted.platform)
    try:
        found = resolve_step(value_to_json(wanted.step), wanted.source, platform)
    except InvalidArgument as refusal:
        violations = [(each.field, each.message, each.type) for each in refusal.violations]
        return _REFUSED + json.dumps((refusal.message, violations)).encode()
    return _RESOLVED + _response(found).SerializeToString()


def _response(found: Grounding) -> pb.ResolveStepResponse:
    element = found.element
    return pb.ResolveStepResponse(
        action=found.action,
        element=json_to_struct(_attributes(element)) if element is not None else None,
        candidates=[json_to_struct(_attributes(candidate)) for candidate in found.candidates],
        value=found.value,
        reason=found.reason,
        message=found.message or ("" if element is None or element.attributes else element.describe()),
    )


def _attributes(element: Element) -> dict[str, str]:
    shortened = {name: value[:VALUE_LIMIT] + "..." for name, value in element.attributes.items() if value[VALUE_LIMIT:]}
    return {**element.attributes, **shortened}
