"""A dead letter: a record that could not be used, as it was, with headers that say why and where it lay."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aiokafka import ConsumerRecord
from aiokafka.errors import MessageSizeTooLargeError

from services.chassis import logs, metrics
from services.chassis.clock import Clock
from services.chassis.events import InvalidMessage
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.topics import DEAD_LETTERS
from services.chassis.unreadable_records import UnreadableRecords

PREFIX = "dlq_"
REPLAYED_FROM = "replayed_from"
"""The header of a record that was replayed: the place of its letter. It does not count as invalid a second time."""
_UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record, and why it cannot be used."""

    record: ConsumerRecord
    error: InvalidMessage


@dataclass(frozen=True, slots=True)
class DeadLetter:
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


def build_letter(refused: RefusedRecord, seen: datetime, group: str) -> Record:
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
    if isinstance(record, UnreadableRecords):
        why["cut"] = "0"
    return Record(record.topic + DEAD_LETTERS, record.key, value, [*record.headers, *_named(why)])


def truncate_letter(letter: Record) -> Record:
    """The letter without what made it too large; the record itself stays where it lay while the topic keeps it."""
    size = len(letter.value or b"")
    why = [(name, value) for name, value in letter.headers if name.startswith(PREFIX)]
    return Record(letter.topic, None, b"", [*why, *_named({"cut": str(size)})])


def parse_letter(record: ConsumerRecord) -> DeadLetter:
    """The letter in a record of a topic of dead letters; says UNKNOWN where it does not say why."""
    said = {name: _text(value) for name, value in record.headers if name.startswith(PREFIX)}
    return DeadLetter(
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


def original_record(letter: DeadLetter) -> Record:
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


LOGGED_LETTERS = 10
"""So many of a batch are logged one by one; the others are counted, for the letters themselves say all."""

log = logs.get(__name__)

_dead_lettered = metrics.counter("mobiletest_dlq_messages_total", "Messages put away", ["topic", "reason"])


class DeadLetterWriter:
    """Writes dead letters. What cannot be written now is told, so that nothing is committed that is not put away."""

    def __init__(self, producer: Producer, clock: Clock, group: str) -> None:
        """`group` is the consumer that cannot use them."""
        self._producer = producer
        self._group = group
        self._clock = clock

    async def write(self, refused: Sequence[RefusedRecord]) -> list[RefusedRecord]:
        """Publish the records as they are, with the reasons; gives those that the broker did not take."""
        results = await self._published([build_letter(each, self._clock.now(), self._group) for each in refused])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            log.warning("dead_letters_not_written", count=len(failures), error=repr(failures[0]))
        _report([each for each, result in zip(refused, results, strict=True) if not isinstance(result, Exception)])
        return [each for each, result in zip(refused, results, strict=True) if isinstance(result, Exception)]

    async def _published(self, letters: Sequence[Record]) -> list[PublishResult | Exception]:
        """A letter that is too large with its reason goes without its value: nothing may hold up the partition."""
        results = await self._producer.publish_records(letters)
        large = [at for at, result in enumerate(results) if isinstance(result, MessageSizeTooLargeError)]
        if large:
            short = await self._producer.publish_records([truncate_letter(letters[at]) for at in large])
            for at, result in zip(large, short, strict=True):
                results[at] = result
        return results


def _report(refused: Sequence[RefusedRecord]) -> None:
    for each in refused:
        _dead_lettered.labels(each.record.topic, each.error.reason).inc()
    for each in refused[:LOGGED_LETTERS]:
        place = {"topic": each.record.topic, "partition": each.record.partition, "offset": each.record.offset}
        log.error("message_dead_lettered", reason=each.error.reason, detail=str(each.error)[:1000], **place)
    if len(refused) > LOGGED_LETTERS:
        counts = Counter(f"{each.record.topic} {each.error.reason}" for each in refused[LOGGED_LETTERS:])
        log.error("more_messages_dead_lettered", counts=dict(counts))
