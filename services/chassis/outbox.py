"""The transactional outbox: events are stored with the change that they describe; `outbox_relay` publishes them."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from google.protobuf.message import Message
from pymongo import ASCENDING, IndexModel

from services.chassis import context
from services.chassis.clock import Clock, SystemClock
from services.chassis.errors import InvalidArgument
from services.chassis.events import Event
from services.chassis.migrations import Migration
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.producer import MAX_MESSAGE_BYTES
from services.chassis.validation import find_violations

OUTBOX = "_outbox"
RETENTION = timedelta(days=7)
FRESH_LIMIT = 10_000
MAX_PAYLOAD_BYTES = MAX_MESSAGE_BYTES - 64 * 1024
"""Leaves room for key and headers."""


class Outbox:
    """Stores events, and passes committed ones to the relay of this process."""

    def __init__(self, mongo: Mongo, source: str, clock: Clock | None = None) -> None:
        """`source` is the ce_source of the events made here, such as "mobiletest.catalog"."""
        self._rows = mongo.collection(OUTBOX)
        self._source = source
        self._clock = clock or SystemClock()
        self.fresh: asyncio.Queue[Event] = asyncio.Queue(FRESH_LIMIT)

    def event(self, topic: str, key: str, message: Message, *, subject: str | None = None, sequence: int = 0) -> Event:
        """An event with `message` as its payload, the current time, a new id, and the current caller's trace.

        InvalidArgument for one that consumers would refuse, by the rules in its proto, or that Kafka would: it ends the
        call instead of becoming a poison message.
        """
        payload = _serialize(message)
        caller = context.current_or_none()
        return Event(
            topic=topic,
            key=key,
            type=message.DESCRIPTOR.full_name,
            source=self._source,
            id=str(uuid4()),
            time=self._clock.now(),
            payload=payload,
            traceparent=caller.traceparent if caller else None,
            subject=subject,
            sequence=sequence,
        )

    async def add(self, session: Session, events: Sequence[Event]) -> None:
        """Store the events, to be published once the transaction of `session` is committed."""
        if events:
            await self._rows.insert_many([to_row(event) for event in events], session=session)

    def publish_soon(self, events: Sequence[Event]) -> None:
        """Publish the events of a committed transaction. Never blocks: a full queue leaves them to the sweep."""
        for event in events:
            if self.fresh.full():
                return
            self.fresh.put_nowait(event)

    async def history(self, subject: str, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """The retained events of a subject with a sequence above `after`, in order."""
        of_subject = {"$type": "string", "$eq": subject}  # without the type the partial index is not used
        query = {"subject": of_subject, "sequence": {"$gt": after}}
        rows = await self._rows.find(query).sort([("sequence", 1), ("_id", 1)]).limit(limit).to_list(None)
        return [to_event(row) for row in rows]


def _serialize(message: Message) -> bytes:
    name, violations = message.DESCRIPTOR.name, find_violations(message)
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


def to_row(event: Event) -> Document:
    """The event as a pending row."""
    return {
        "_id": event.id,
        "topic": event.topic,
        "key": event.key,
        "type": event.type,
        "source": event.source,
        "time": event.time,
        "payload": event.payload,
        "traceparent": event.traceparent,
        "subject": event.subject,
        "sequence": event.sequence,
        "pending": True,
    }


def to_event(row: Document) -> Event:
    """The inverse of `to_row`."""
    values: dict[str, Any] = {name: row[name] for name in _FIELDS}
    return Event(id=row["_id"], **values)


_FIELDS = ("topic", "key", "type", "source", "time", "payload", "traceparent", "subject", "sequence")


async def _make_indexes(mongo: Mongo) -> None:
    pending = IndexModel([("time", ASCENDING)], name="pending_by_time", partialFilterExpression={"pending": True})
    subject = IndexModel(
        [("subject", ASCENDING), ("sequence", ASCENDING)],
        name="by_subject",
        partialFilterExpression={"subject": {"$type": "string"}},
    )
    expiry = IndexModel([("sent_at", ASCENDING)], name="expiry", expireAfterSeconds=int(RETENTION.total_seconds()))
    await mongo.collection(OUTBOX).create_indexes([pending, subject, expiry])


MIGRATION = Migration("0000_outbox", _make_indexes)
"""The first migration of every service with an outbox."""
