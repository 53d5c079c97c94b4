"""Enums of the model and of the protos: the names are the same but for the prefix that protos need."""

from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

E = TypeVar("E", bound=Enum)


def to_proto(wrapper: Any, member: Enum | None) -> Any:
    """The proto value of `member`; the zero value for None. `wrapper` is the generated enum."""
    return 0 if member is None else wrapper.Value(_prefix(wrapper) + member.name)


def from_proto(kind: type[E], wrapper: Any, number: int) -> E | None:
    """The member of `kind` for a proto value; None for the zero value."""
    return None if number == 0 else kind[wrapper.Name(number).removeprefix(_prefix(wrapper))]


def _prefix(wrapper: Any) -> str:
    zero: str = wrapper.Name(0)
    return zero.removesuffix("UNSPECIFIED")


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
