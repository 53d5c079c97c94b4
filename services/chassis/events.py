"""Events, and their encoding on Kafka: CloudEvents 1.0 in binary mode with a protobuf value."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

# Kafka allows headers without a value; we write none.
Headers = list[tuple[str, bytes | None]]

_CONTENT_TYPE = "application/protobuf"
_MOST_SEQUENCE = 2**63 - 1
_ATTRIBUTES = ("specversion", "id", "type", "source", "time", "subject", "sequence")
_READ = {"traceparent", *(f"ce_{name}" for name in _ATTRIBUTES)}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Event:
    """`type` is the full name of the proto message in `payload`; events with the same `key` stay in order.

    `subject` and `sequence` (the entity's revision) make it possible to read an entity's history from the outbox.
    """

    topic: str
    key: str
    type: str
    source: str
    id: str
    time: datetime
    payload: bytes
    traceparent: str | None = None
    subject: str | None = None
    sequence: int = 0


class InvalidMessage(Exception):
    """This message can never be handled and is dead-lettered. `event` is the one of a batch that is meant."""

    def __init__(self, reason: str, message: str = "", *, event: Event | None = None) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.event = event


def parse_each(events: Iterable[Event], read: Callable[[Event], T]) -> tuple[list[T], list[InvalidMessage]]:
    """The results of `read` for the events, and the InvalidMessage of each event that it refuses."""
    values: list[T] = []
    refused: list[InvalidMessage] = []
    for event in events:
        try:
            values.append(read(event))
        except InvalidMessage as error:
            refused.append(error)
    return values, refused


class TransientError(Exception):
    """The same batch may succeed later, so it is retried."""


def encode_headers(event: Event) -> Headers:
    """The headers of the event's record, without its key and value."""
    named = {
        "ce_specversion": "1.0",
        "ce_id": event.id,
        "ce_type": event.type,
        "ce_source": event.source,
        "ce_time": event.time.isoformat().replace("+00:00", "Z"),
        "ce_subject": event.subject,
        "ce_sequence": str(event.sequence) if event.sequence else None,
        "content-type": _CONTENT_TYPE,
        "traceparent": event.traceparent,
    }
    return [(name, value.encode()) for name, value in named.items() if value is not None]


def decode_event(
    topic: str, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> Event:
    """The event in a record.

    Raises:
        InvalidMessage: it is malformed.
    """
    try:
        named = {name: content.decode() for name, content in headers if name in _READ and content is not None}
        return _event(topic, (key or b"").decode(), value, named)
    except UnicodeDecodeError as error:
        raise InvalidMessage("INVALID_UTF8", str(error)) from error
    except KeyError as error:
        raise InvalidMessage("MISSING_HEADER", f"header {error.args[0]} is missing") from error
    except (ValueError, OverflowError) as error:
        raise InvalidMessage("INVALID_HEADER", str(error)) from error


def _event(topic: str, key: str, value: bytes | None, named: Mapping[str, str]) -> Event:
    if value is None:
        raise InvalidMessage("NO_VALUE", "the record has no value")
    if named["ce_specversion"] != "1.0":
        raise InvalidMessage("UNKNOWN_SPECVERSION", f"ce_specversion {named['ce_specversion']}")
    return Event(
        topic=topic,
        key=key,
        type=_filled(named, "ce_type"),
        source=named["ce_source"],
        id=_filled(named, "ce_id"),
        time=_aware(named["ce_time"]),
        payload=value,
        traceparent=named.get("traceparent"),
        subject=named.get("ce_subject"),
        sequence=_sequence(named.get("ce_sequence", "0")),
    )


def _filled(named: Mapping[str, str], name: str) -> str:
    if not (text := named[name]):
        raise ValueError(f"{name} is empty")
    return text


def _sequence(text: str) -> int:
    if not 0 <= (number := int(text)) <= _MOST_SEQUENCE:
        raise ValueError("ce_sequence is out of range")
    return number


def _aware(text: str) -> datetime:
    """In UTC; OverflowError for a time outside of the years 1 to 9999 in UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("ce_time has no time zone")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
