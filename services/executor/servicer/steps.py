"""The service mobiletest.executor.v1.Steps."""

# ruff: noqa: N802 (methods are named as in the protos)

from typing import Any

from google.protobuf.struct_pb2 import Struct, Value
from mobiletest.executor.v1 import steps_pb2 as pb
from mobiletest.executor.v1 import steps_pb2_grpc
from mobiletest.types.v1 import platform_pb2

from services.executor.automation.commands.preview import StepPreview
from services.executor.automation.screen.elements import Element
from services.executor.messages.values import from_proto
from services.executor.model.runs import Platform
from services.executor.usecases.step_resolver import StepResolver

Context = Any


class StepsServicer(steps_pb2_grpc.StepsServicer):
    """Tells what steps do."""

    def __init__(self, resolving: StepResolver) -> None:
        self._resolving = resolving

    async def ResolveStep(self, request: pb.ResolveStepRequest, context: Context) -> pb.ResolveStepResponse:
        platform = from_proto(Platform, platform_pb2.Platform, request.platform)
        return _response(await self._resolving.resolve(_json(request.step), request.source, platform))


def _json(value: Value) -> object:
    """The JSON value; numbers that are whole are integers again."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {name: _json(each) for name, each in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_json(each) for each in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)


def _response(found: StepPreview) -> pb.ResolveStepResponse:
    response = pb.ResolveStepResponse(
        action=found.action,
        candidates=[_attributes(element) for element in found.candidates],
        message=found.message or _said(found.element),
    )
    if found.element is not None:
        response.element.CopyFrom(_attributes(found.element))
    if found.value is not None:
        response.value = found.value
    if found.reason is not None:
        response.reason = found.reason
    return response


def _said(element: Element | None) -> str:
    """In words which element it is, if it has no attributes to know it by."""
    return element.describe() if element is not None and not element.attributes else ""


def _attributes(element: Element) -> Struct:
    attributes = Struct()
    for name, value in element.attributes.items():
        attributes.fields[name].string_value = value
    return attributes
