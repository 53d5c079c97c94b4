"""Messages that can never be folded, of every kind, and valid ones to put them among."""

from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from mobiletest.executor.v1 import events_pb2 as executor

from services.chassis.events import Event, Headers, encode_headers
from services.chassis.producer import Record
from services.reporting.consumer import EXECUTION_EVENTS
from tests.fakes.reporting_event_log import EventLog, event

ONE_MEGABYTE = 1024 * 1024


def run_lifecycles(desk: EventLog, count: int) -> list[Event]:
    """Of passed runs, of one build and test."""
    build, test = (str(uuid4()), "1.0"), str(uuid4())
    return [told for _ in range(count) for told in desk.life(build, test, "passed")]


def run_event(desk: EventLog, change: Callable[[executor.RunChanged], object] = lambda _: None) -> Event:
    message = executor.RunChanged.FromString(desk.life((str(uuid4()), "1.0"), str(uuid4()), "passed")[-1].payload)
    change(message)
    return event(EXECUTION_EVENTS, desk.app_id, message)


def record_of(told: Event, **changes: bytes | None) -> Record:
    """The event's record with other headers; None: without."""
    headers: Headers = [(name, value) for name, value in encode_headers(told) if name not in changes]
    headers += [(name, value) for name, value in changes.items() if value is not None]
    return Record(told.topic, told.key.encode(), told.payload, headers)


def poison(desk: EventLog) -> list[tuple[str, Record]]:
    """Each kind of it, with the reason that it is to be put away for."""
    good = run_event(desk)
    odd_values = [
        ("UNDECODABLE", b"\xff\x00\xfe" * 50),
        ("UNDECODABLE", good.payload[: len(good.payload) // 2]),
        ("UNDECODABLE", b"\xff" * ONE_MEGABYTE),
        ("INVALID_FIELD", b""),
        ("NO_VALUE", None),
    ]
    odd_headers: list[tuple[str, dict[str, bytes | None]]] = [
        ("MISSING_HEADER", {"ce_id": None}),
        ("MISSING_HEADER", {name: None for name, _ in encode_headers(good)}),
        ("INVALID_UTF8", {"ce_source": b"\xff\xfe"}),
        ("INVALID_HEADER", {"ce_time": b"yesterday"}),
        ("INVALID_HEADER", {"ce_time": b"0001-01-01T00:00:00+14:00"}),
        ("INVALID_HEADER", {"ce_sequence": b"9" * 5000}),
        ("UNKNOWN_SPECVERSION", {"ce_specversion": b"7"}),
    ]
    odd_fields: list[Callable[[executor.RunChanged], object]] = [
        lambda message: setattr(message.run, "id", ""),
        lambda message: setattr(message.run, "id", "$where"),
        lambda message: setattr(message, "org_id", "a.b"),
        lambda message: setattr(message.run, "test_id", "x" * 1000),
        lambda message: setattr(message.run, "status", 99),
        lambda message: setattr(message.run, "execution_time_seconds", float("nan")),
        lambda message: setattr(message.run.completed_at, "seconds", 2**60),
    ]
    return [
        *((reason, replace(record_of(good), value=value)) for reason, value in odd_values),
        *((reason, record_of(good, **headers)) for reason, headers in odd_headers),
        *(("INVALID_FIELD", record_of(run_event(desk, change))) for change in odd_fields),
        ("NO_VALUE", Record(good.topic, good.key.encode(), None, [("ce_id", None)])),
    ]
