"""Dead letters: records that could not be used, published as they were with headers that say why and where they lay."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from aiokafka import ConsumerRecord
from aiokafka.errors import MessageSizeTooLargeError

from services.chassis import logs, metrics
from services.chassis.clock import Clock
from services.chassis.events import Headers, InvalidMessage
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.topics import DEAD_LETTERS
from services.chassis.unreadable_records import UnreadableRecords

PREFIX = "dlq_"
# The header of a replayed record: where its dead letter is. Such a record does not count as invalid again.
REPLAYED_FROM = "replayed_from"
# How many letters of a batch are logged one by one; the others are counted.
LOGGED_LETTERS = 10

log = logs.get(__name__)

_dead_lettered = metrics.counter("mobiletest_dlq_messages_total", "Messages dead-lettered", ["topic", "reason"])


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record, and why it cannot be used."""

    record: ConsumerRecord
    error: InvalidMessage


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record of `<topic>.dlq`.

    `group`: the consumer that could not use it. `origin`: its partition/offset in the original topic. `cut`: its value
    was left out, because with the reason it was too large.
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
    record: ConsumerRecord

    @property
    def place(self) -> str:
        """`topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def type(self) -> str:
        """The event type in its headers, or an empty text."""
        return _to_text(dict(self.record.headers).get("ce_type"))


class DeadLetterWriter:
    """Publishes dead letters."""

    def __init__(self, producer: Producer, clock: Clock, group: str) -> None:
        """`group` is the consumer that refuses the records."""
        self._producer = producer
        self._group = group
        self._clock = clock

    async def write(self, refused: Sequence[RefusedRecord]) -> list[RefusedRecord]:
        """Publish the records; gives those that the broker did not take, whose offsets must not be committed."""
        results = await self._publish([build_letter(each, self._clock.now(), self._group) for each in refused])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            log.warning("dead_letters_not_written", count=len(failures), error=repr(failures[0]))
        pairs = list(zip(refused, results, strict=True))
        _log_and_count([each for each, result in pairs if not isinstance(result, Exception)])
        return [each for each, result in pairs if isinstance(result, Exception)]

    async def _publish(self, letters: Sequence[Record]) -> list[PublishResult | Exception]:
        """A letter that is too large is published without its value, so that it does not block the partition."""
        results = await self._producer.publish_records(letters)
        large = [index for index, result in enumerate(results) if isinstance(result, MessageSizeTooLargeError)]
        if large:
            truncated = await self._producer.publish_records([truncate_letter(letters[index]) for index in large])
            for index, result in zip(large, truncated, strict=True):
                results[index] = result
        return results


def _log_and_count(refused: Sequence[RefusedRecord]) -> None:
    for each in refused:
        _dead_lettered.labels(each.record.topic, each.error.reason).inc()
    for each in refused[:LOGGED_LETTERS]:
        place = {"topic": each.record.topic, "partition": each.record.partition, "offset": each.record.offset}
        log.error("message_dead_lettered", reason=each.error.reason, detail=str(each.error)[:1000], **place)
    if len(refused) > LOGGED_LETTERS:
        counts = Counter(f"{each.record.topic} {each.error.reason}" for each in refused[LOGGED_LETTERS:])
        log.error("more_messages_dead_lettered", counts=dict(counts))


def build_letter(refused: RefusedRecord, seen: datetime, group: str) -> Record:
    """The letter of a record."""
    record, error = refused.record, refused.error
    reason = {
        "reason": error.reason,
        "message": str(error)[:1000],
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "first_seen": seen.isoformat(),
        "group": group,
    }
    if isinstance(record, UnreadableRecords):
        reason["cut"] = "0"
    return _copy_record(record, record.topic + DEAD_LETTERS, [*record.headers, *_dlq_headers(reason)])


def truncate_letter(letter: Record) -> Record:
    """The letter without key, value and original headers; the original stays in its topic."""
    reason = [(name, value) for name, value in letter.headers if name.startswith(PREFIX)]
    return Record(letter.topic, None, b"", [*reason, *_dlq_headers({"cut": str(len(letter.value or b""))})])


def parse_letter(record: ConsumerRecord) -> DeadLetter:
    """The letter in a record of a `.dlq` topic; its reason is UNKNOWN where the headers give none."""
    headers = {name: _to_text(value) for name, value in record.headers if name.startswith(PREFIX)}
    return DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        reason=headers.get("dlq_reason") or "UNKNOWN",
        message=headers.get("dlq_message", ""),
        first_seen=headers.get("dlq_first_seen", ""),
        group=headers.get("dlq_group", ""),
        origin=f"{headers.get('dlq_partition', '?')}/{headers.get('dlq_offset', '?')}",
        cut="dlq_cut" in headers,
        record=record,
    )


def original_record(letter: DeadLetter) -> Record:
    """The record to replay: for the topic it came from, as it was, with the place of its letter as a header."""
    headers = [(name, value) for name, value in letter.record.headers if not name.startswith(PREFIX)]
    headers = [*(each for each in headers if each[0] != REPLAYED_FROM), (REPLAYED_FROM, letter.place.encode())]
    return _copy_record(letter.record, letter.topic.removesuffix(DEAD_LETTERS), headers)


def _copy_record(record: ConsumerRecord, topic: str, headers: Headers) -> Record:
    """aiokafka sends no record without key and value: such a one gets an empty value."""
    value = b"" if record.key is None and record.value is None else record.value
    return Record(topic, record.key, value, headers)


def _dlq_headers(texts: dict[str, str]) -> Headers:
    return [(PREFIX + name, text.encode(errors="backslashreplace")) for name, text in texts.items()]


def _to_text(value: bytes | None) -> str:
    return (value or b"").decode(errors="backslashreplace")
