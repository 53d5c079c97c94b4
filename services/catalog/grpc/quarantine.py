"""Quarantine as a message."""

from mobiletest.types.v1 import quarantine_pb2

from services.catalog.model.quarantine import Quarantine
from services.chassis.proto_values import to_timestamp


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
