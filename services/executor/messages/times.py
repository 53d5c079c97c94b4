"""Moments and durations in protos."""

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(moment: datetime | None) -> Timestamp | None:
    """The moment as proto; None stays None."""
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def moment(stamp: Timestamp) -> datetime:
    """The proto as an aware UTC datetime."""
    return stamp.ToDatetime(tzinfo=UTC)
