"""Checked values of the fields of events. ValueError and OverflowError name what can never be folded."""

import math
from datetime import datetime, timedelta
from functools import lru_cache

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.executor.v1 import runs_pb2

from services.chassis.ids import ID_RULE, is_id
from services.reporting.model.snapshots import Status
from services.reporting.model.tables import EPOCH
from services.reporting.proto_enums import STATUS


def required_id(value: str, name: str) -> str:
    """The id, which becomes a part of keys. ValueError."""
    if not is_id(value):
        raise ValueError(f"{name} is not an id ({ID_RULE}): {value[:100]!r}")
    return value


def optional_id(value: str, name: str) -> str | None:
    return required_id(value, name) if value else None


def run_status(number: int) -> Status:
    if number not in STATUS:
        raise ValueError(f"run.status is {number}")
    return STATUS[number]


def run_seconds(run: runs_pb2.Run) -> float | None:
    if not run.HasField("execution_time_seconds"):
        return None
    if not 0 <= run.execution_time_seconds < math.inf:
        raise ValueError(f"run.execution_time_seconds is {run.execution_time_seconds}")
    return float(run.execution_time_seconds)


def datetime_field(holder: Message, name: str) -> datetime | None:
    """A timestamp field in UTC, to the millisecond as MongoDB stores it; None when it is absent."""
    if not holder.HasField(name):
        return None
    timestamp: Timestamp = getattr(holder, name)
    return _milliseconds(timestamp.seconds, timestamp.nanos // 1_000_000)


@lru_cache(maxsize=4096)
def _milliseconds(seconds: int, milliseconds: int) -> datetime:
    """The moment in UTC. Cached, because events of one batch share most of theirs: chassis.read_datetime takes four
    times as long. ValueError or OverflowError when there is no such moment.
    """
    if not 0 <= milliseconds < 1000:
        raise ValueError(f"a timestamp has {milliseconds} milliseconds")
    return EPOCH + timedelta(seconds=seconds, milliseconds=milliseconds)
