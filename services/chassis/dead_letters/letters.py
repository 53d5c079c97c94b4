"""A dead letter: a record that could not be used, as it was, with headers that say why and where it lay."""

from dataclasses import dataclass
from datetime import datetime

from aiokafka import ConsumerRecord

from services.chassis.broker import DEAD_LETTERS
from services.chassis.events import InvalidMessage
from services.chassis.kafka import Record
from services.chassis.unreadable import Unreadable

PREFIX = "dlq_"
REPLAYED_FROM = "replayed_from"
"""The header of a record that was replayed: the place of its letter. It does not count as invalid a second time."""
_UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Refused:
    """A record, and why it cannot be used."""

    record: ConsumerRecord
    error: InvalidMessage


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as it lies in `<topic>.dlq`.

    `group`: the consumer that could not use it. `origin`: partition/offset where it lay. `cut`: its value was too large
    to be put away with the reason.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    message: str
    first_seen: str
    group: str
    origin: str
    cut: bool
    record: Record

    @property
    def place(self) -> str:
        """Where it lies: `topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def type(self) -> str:
        """The event type that its headers name, or nothing."""
        return _text(dict(self.record.headers).get("ce_type"))


def letter_of(refused: Refused, seen: datetime, group: str) -> Record:
    """The letter to publish. A record with neither key nor value, which aiokafka does not send, gets an empty value."""
    record, error = refused.record, refused.error
    why = {
        "reason": error.reason,
        "message": str(error)[:1000],
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "first_seen": seen.isoformat(),
        "group": group,
    }
    value = b"" if record.key is None and record.value is None else record.value
    if isinstance(record, Unreadable):
        why["cut"] = "0"
    return Record(record.topic + DEAD_LETTERS, record.key, value, [*record.headers, *_named(why)])


def cut_short(letter: Record) -> Record:
    """The letter without what made it too large; the record itself stays where it lay while the topic keeps it."""
    size = len(letter.value or b"")
    why = [(name, value) for name, value in letter.headers if name.startswith(PREFIX)]
    return Record(letter.topic, None, b"", [*why, *_named({"cut": str(size)})])


def opened(record: ConsumerRecord) -> Letter:
    """The letter in a record of a topic of dead letters; says UNKNOWN where it does not say why."""
    said = {name: _text(value) for name, value in record.headers if name.startswith(PREFIX)}
    return Letter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        reason=said.get("dlq_reason") or _UNKNOWN,
        message=said.get("dlq_message", ""),
        first_seen=said.get("dlq_first_seen", ""),
        group=said.get("dlq_group", ""),
        origin=f"{said.get('dlq_partition', '?')}/{said.get('dlq_offset', '?')}",
        cut="dlq_cut" in said,
        record=Record(record.topic, record.key, record.value, list(record.headers)),
    )


def original(letter: Letter) -> Record:
    """The record to publish anew: to the topic it came from, as it was, with the place of the letter."""
    sent = [(name, value) for name, value in letter.record.headers if not _added(name)]
    topic = letter.topic.removesuffix(DEAD_LETTERS)
    value = b"" if letter.record.key is None and letter.record.value is None else letter.record.value
    return Record(topic, letter.record.key, value, [*sent, (REPLAYED_FROM, letter.place.encode())])


def _added(name: str) -> bool:
    return name.startswith(PREFIX) or name == REPLAYED_FROM


def _named(texts: dict[str, str]) -> list[tuple[str, bytes | None]]:
    return [(PREFIX + name, text.encode(errors="backslashreplace")) for name, text in texts.items()]


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="backslashreplace")
