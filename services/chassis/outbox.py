"""The transactional outbox: events are stored with the change that they describe; `outbox_relay` publishes them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta

from google.protobuf.message import Message
from pymongo import ASCENDING, IndexModel

from services.chassis import context
from services.chassis.clock import Clock, SystemClock
from services.chassis.errors import InvalidArgument
from services.chassis.events import Event
from services.chassis.ids import random_id
from services.chassis.migrations import Migration
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.producer import MAX_MESSAGE_BYTES
from services.chassis.validation import find_violations

OUTBOX = "_outbox"
RETENTION = timedelta(days=7)
FRESH_LIMIT = 10_000
# Leaves room for key and headers.
MAX_PAYLOAD_BYTES = MAX_MESSAGE_BYTES - 64 * 1024
MAX_ROW_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """Events that were stored together: those of one subject, and those without a subject that follow them."""

    events: Sequence[Event]

    @property
    def id(self) -> str:
        return self.events[0].id


def to_rows(events: Iterable[Event]) -> list[OutboxRow]:
    """The events in rows of about MAX_ROW_BYTES: a row costs MongoDB about as much as an event would."""
    rows: list[list[Event]] = []
    subject, size = None, 0
    for event in events:
        size += len(event.payload)
        if not rows or size > MAX_ROW_BYTES or (event.subject is not None and subject not in (None, event.subject)):
            rows.append([])
            subject, size = None, len(event.payload)
        rows[-1].append(event)
        subject = subject or event.subject
    return [OutboxRow(row) for row in rows]


class Outbox:
    """Stores events, and passes committed ones to the relay of this process."""

    def __init__(self, mongo: Mongo, source: str, clock: Clock | None = None) -> None:
        """`source` is the ce_source of the events made here, such as "mobiletest.catalog"."""
        self._rows = mongo.collection(OUTBOX)
        self._source = source
        self._clock = clock or SystemClock()
        self._fresh: asyncio.Queue[OutboxRow] = asyncio.Queue()
        # How many committed events wait for the relay, at most FRESH_LIMIT.
        self.fresh_events = 0

    def event(
        self,
        topic: str,
        key: str,
        message: Message,
        *,
        subject: str | None = None,
        sequence: int = 0,
        checked: bool = False,
    ) -> Event:
        """An event with `message` as its payload, the current time, a new id, and the current caller's trace.

        `checked`: it keeps the rules, because it differs from a message that does only in fields that cannot break
        them.

        Raises:
            InvalidArgument: consumers would refuse it, by the rules in its proto, or Kafka would: it ends the call
                instead of becoming a poison message.
        """
        payload = _serialize(message, checked=checked)
        caller = context.current_or_none()
        return Event(
            topic=topic,
            key=key,
            type=message.DESCRIPTOR.full_name,
            source=self._source,
            id=random_id(),
            time=self._clock.now(),
            payload=payload,
            traceparent=caller.traceparent if caller else None,
            subject=subject,
            sequence=sequence,
        )

    async def add(self, session: Session, events: Sequence[Event]) -> None:
        """Store the events, to be published once the transaction of `session` is committed."""
        if events:
            await self._rows.insert_many([to_document(row) for row in to_rows(events)], session=session)

    def publish_soon(self, events: Sequence[Event]) -> None:
        """Publish the events of a committed transaction. Never blocks: a full queue leaves them to the sweep."""
        for row in to_rows(events):
            if self.fresh_events + len(row.events) > FRESH_LIMIT:
                return
            self.fresh_events += len(row.events)
            self._fresh.put_nowait(row)

    async def take_fresh(self, most: int) -> list[OutboxRow]:
        """Rows to publish, up to the one with which they have `most` events; waits for the first."""
        rows = [await self._fresh.get()]
        count = len(rows[0].events)
        while count < most and not self._fresh.empty():
            rows.append(self._fresh.get_nowait())
            count += len(rows[-1].events)
        self.fresh_events -= count
        return rows

    async def history(self, subject: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """The retained events of a subject with a sequence above `after`, in order."""
        of_subject = {"$type": "string", "$eq": subject}  # without the type the partial index is not used
        query = {"subject": of_subject, "sequence": {"$gt": after}}
        events: list[Event] = []
        async for row in self._rows.find(query).sort("sequence", 1).limit(limit):
            events += [event for event in to_events(row) if event.subject and event.sequence > after]
            if len(events) >= limit:
                break
        return sorted(events, key=lambda event: event.sequence)[:limit]


def _serialize(message: Message, *, checked: bool) -> bytes:
    name, violations = message.DESCRIPTOR.name, () if checked else find_violations(message)
    if violations:
        first = violations[0]
        text = f"The change cannot be published as {name}: {first.field}: {first.message}"
        raise InvalidArgument(text, reason="EVENT_INVALID", violations=violations)
    payload = message.SerializeToString()
    if len(payload) > MAX_PAYLOAD_BYTES:
        text = (
            f"The change is too large: as {name} it has {len(payload)} bytes, at most {MAX_PAYLOAD_BYTES} are allowed"
        )
        raise InvalidArgument(text, reason="EVENT_TOO_LARGE")
    return payload


def to_document(row: OutboxRow) -> Document:
    """The row as pending. `sequence` is the highest of its events."""
    return {
        "_id": row.id,
        "time": row.events[0].time,
        "subject": next((event.subject for event in row.events if event.subject), None),
        "sequence": max(event.sequence for event in row.events),
        "events": [{name: getattr(event, name) for name in _FIELDS} for event in row.events],
        "pending": True,
    }


def to_events(document: Document) -> list[Event]:
    """The events of a row."""
    return [Event(**{name: event[name] for name in _FIELDS}) for event in document["events"]]


_FIELDS = tuple(field.name for field in fields(Event))


async def _make_indexes(mongo: Mongo) -> None:
    pending = IndexModel([("time", ASCENDING)], name="pending_by_time", partialFilterExpression={"pending": True})
    subject = IndexModel(
        [("subject", ASCENDING), ("sequence", ASCENDING)],
        name="by_subject",
        partialFilterExpression={"subject": {"$type": "string"}},
    )
    expiry = IndexModel([("sent_at", ASCENDING)], name="expiry", expireAfterSeconds=int(RETENTION.total_seconds()))
    await mongo.collection(OUTBOX).create_indexes([pending, subject, expiry])


# The first migration of every service with an outbox.
MIGRATION = Migration("0000_outbox", _make_indexes)
