"""The service mobiletest.executor.v1.Steps."""

# ruff: noqa: N802 (methods are named as in the protos)

from typing import Any

from google.protobuf.struct_pb2 import Struct
from mobiletest.executor.v1 import steps_pb2 as pb
from mobiletest.executor.v1 import steps_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from services.chassis.proto_values import to_enum_member, value_to_json
from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.grounder import Grounding
from services.executor.model.runs import Platform
from services.executor.usecases.step_resolver import StepResolver

Context = Any


class StepsServicer(steps_pb2_grpc.StepsServicer):
    """Previews steps."""

    def __init__(self, resolver: StepResolver) -> None:
        self._resolver = resolver

    async def ResolveStep(self, request: pb.ResolveStepRequest, context: Context) -> pb.ResolveStepResponse:
        platform = to_enum_member(Platform, platform_pb2.Platform, request.platform)
        return _response(await self._resolver.resolve(value_to_json(request.step), request.source, platform))


def _response(found: Grounding) -> pb.ResolveStepResponse:
    response = pb.ResolveStepResponse(
        action=found.action,
        candidates=[_attributes(element) for element in found.candidates],
        message=found.message or _description(found.element),
    )
    if found.element is not None:
        response.element.CopyFrom(_attributes(found.element))
    if found.value is not None:
        response.value = found.value
    if found.reason is not None:
        response.reason = found.reason
    return response


def _description(element: Element | None) -> str:
    """Describes an element that has no attributes to identify it by."""
    return element.describe() if element is not None and not element.attributes else ""


def _attributes(element: Element) -> Struct:
    attributes = Struct()
    for name, value in element.attributes.items():
        attributes.fields[name].string_value = value
    return attributes
