"""Answers requests to resolve a step, in a child process of `resolver_pool`."""

import json
from functools import partial

from mobiletest.executor.v1 import steps_pb2 as pb
from mobiletest.types.v1 import platform_pb2

from mobiletest_automation.flows.texts import shorten
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.sentences.grounding import Grounding
from mobiletest_automation.sentences.shape import Shape
from services.chassis.errors import InvalidArgument
from services.chassis.proto_values import json_to_struct, to_enum_member, value_to_json
from services.executor.resolver_pool import REFUSED, RESOLVED, VALUE_LIMIT
from services.executor.usecases.step_resolver import LastScreen, resolve_step

Shape.compile_all()  # in the fork server, for all children
_screen = LastScreen()


def answer(request: bytes) -> bytes:
    """The response, or why the request is invalid; before the request is its organisation, and a zero byte."""
    org_id, _, message = request.partition(b"\0")
    wanted = pb.ResolveStepRequest.FromString(message)
    platform = to_enum_member(Platform, platform_pb2.Platform, wanted.platform)
    try:
        grounding = resolve_step(
            value_to_json(wanted.step), wanted.source, platform, partial(_screen.read, org_id.decode())
        )
    except InvalidArgument as refusal:
        violations = [(each.field, each.message, each.type) for each in refusal.violations]
        return REFUSED + json.dumps((refusal.message, violations)).encode()
    return RESOLVED + _response(grounding).SerializeToString()


def _response(grounding: Grounding) -> pb.ResolveStepResponse:
    element = grounding.element
    return pb.ResolveStepResponse(
        action=grounding.action,
        element=json_to_struct(_attributes(element)) if element is not None else None,
        candidates=[json_to_struct(_attributes(candidate)) for candidate in grounding.candidates],
        value=grounding.value,
        reason=grounding.reason,
        message=grounding.message or ("" if element is None or element.attributes else element.describe()),
    )


def _attributes(element: Element) -> dict[str, str]:
    return {name: shorten(value, VALUE_LIMIT) for name, value in element.attributes.items()}
