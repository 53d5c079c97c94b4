"""Pages, update masks, platforms and quarantines, as the catalog's requests and responses have them."""

from collections.abc import Iterable

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from mobiletest.types.v1 import failure_triage_pb2, platform_pb2, quarantine_pb2

from mobiletest_automation.flows.environment import Environment
from services.catalog.model.failures import FailureTriage
from services.catalog.model.tests import Quarantine
from services.catalog.model.values import Page, Platform
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.proto_values import PagedRequest, json_to_struct, to_enum_number, to_timestamp


def page_of(request: PagedRequest) -> Page:
    """The page that the request asks for."""
    return Page(request.page, request.page_size)


def named_fields(request: Message, paths: Iterable[str], known: Iterable[str]) -> list[str]:
    """The fields that an update changes: those in its mask, or without a mask all that are set.

    Raises:
        InvalidArgument: the mask names a field that cannot be changed.
    """
    known, asked = list(known), list(paths)
    unknown = [path for path in asked if path not in known]
    if unknown:
        message = f"{unknown[0]} cannot be updated"
        raise InvalidArgument(message, violations=[Violation("update_mask", message, "unknown_field")])
    if asked:
        return asked
    present = {descriptor.name for descriptor, _ in request.ListFields()}
    return [name for name in known if name in present]


def env_message(env: Environment) -> Struct | None:
    """The variables for a field of a message; none leave the field unset."""
    return json_to_struct(env) if env else None


def failure_triage_message(triage: FailureTriage) -> failure_triage_pb2.FailureTriage:
    """What people wrote about a group of failures."""
    return failure_triage_pb2.FailureTriage(
        state=to_enum_number(failure_triage_pb2.FailureState, triage.state),
        fixed_in=triage.fixed_in,
        note=triage.note,
        ticket_url=triage.ticket_url,
        owner=triage.owner,
        updated_by=triage.updated_by,
        updated_at=to_timestamp(triage.updated_at),
        revision=triage.revision,
    )


_NUMBERS = {Platform.IOS: platform_pb2.PLATFORM_IOS, Platform.ANDROID: platform_pb2.PLATFORM_ANDROID}
_PLATFORMS = {number: platform for platform, number in _NUMBERS.items()}


def platform_number(platform: Platform | None) -> platform_pb2.Platform | None:
    """The number of the platform for a field of a message; None leaves the field unset."""
    return _NUMBERS[platform] if platform is not None else None


def platform(number: platform_pb2.Platform) -> Platform | None:
    """The platform of the number; unspecified is None."""
    return _PLATFORMS.get(number)


def quarantine_message(quarantine: Quarantine | None) -> quarantine_pb2.Quarantine | None:
    """The quarantine; None stays None."""
    if quarantine is None:
        return None
    return quarantine_pb2.Quarantine(
        reason=quarantine.reason,
        until=to_timestamp(quarantine.until),
        by=quarantine.by,
        since=to_timestamp(quarantine.since),
    )
