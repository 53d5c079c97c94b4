"""Quarantine as a message."""

from mobiletest.types.v1 import quarantine_pb2

from services.catalog.grpc.conversions import timestamp
from services.catalog.model.quarantine import Quarantine


def quarantine_message(quarantine: Quarantine | None) -> quarantine_pb2.Quarantine | None:
    """The quarantine; None stays None."""
    if quarantine is None:
        return None
    return quarantine_pb2.Quarantine(
        reason=quarantine.reason,
        until=timestamp(quarantine.until),
        by=quarantine.by,
        since=timestamp(quarantine.since),
    )
