"""Building, publishing, parsing and replaying dead letters."""

from datetime import UTC, datetime

from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import (
    DeadLetterWriter,
    RefusedRecord,
    build_letter,
    original_record,
    parse_letter,
    truncate_letter,
)
from services.chassis.events import InvalidMessage, encode_headers
from services.chassis.producer import Record
from tests.fakes.chassis import FakeClock, FakeProducer, raw_record, record_of
from tests.unit.chassis.samples import an_event

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def refused(record: ConsumerRecord | None = None, reason: str = "BAD") -> RefusedRecord:
    return RefusedRecord(record or record_of(an_event(id_="e"), 7), InvalidMessage(reason, "no such thing"))


def as_read(letter: Record, offset: int = 3) -> ConsumerRecord:
    """The letter as it is read from the broker."""
    return raw_record(letter.topic, offset, value=letter.value, headers=letter.headers, key=letter.key)


def test_a_letter_has_reason_and_origin() -> None:
    letter = parse_letter(as_read(build_letter(refused(), NOW, "g")))
    assert (letter.place, letter.origin) == ("t.dlq/0/3", "0/7")
    assert (letter.reason, letter.message, letter.first_seen) == ("BAD", "no such thing", NOW.isoformat())
    assert (letter.group, letter.type, letter.cut) == ("g", "mobiletest.catalog.v1.App", False)


def test_a_replayed_record_is_the_original_with_the_place_of_its_letter() -> None:
    event = an_event(id_="e")
    again = original_record(parse_letter(as_read(build_letter(refused(record_of(event, 7)), NOW, "g"))))
    assert (again.topic, again.key, again.value) == ("t", event.key.encode(), event.payload)
    assert again.headers == [*encode_headers(event), ("replayed_from", b"t.dlq/0/3")]


def test_a_record_replayed_twice_names_only_its_last_letter() -> None:
    once = original_record(parse_letter(as_read(build_letter(refused(), NOW, "g"))))
    second = build_letter(refused(raw_record("t", 9, value=once.value, headers=once.headers)), NOW, "g")
    twice = original_record(parse_letter(as_read(second, 8)))
    assert [value for name, value in twice.headers if name == "replayed_from"] == [b"t.dlq/0/8"]


def test_a_foreign_record_is_a_letter_without_a_reason() -> None:
    letter = parse_letter(raw_record("t.dlq", 0, value=None, headers=[("dlq_reason", None)], key=None))
    assert (letter.reason, letter.type, letter.origin) == ("UNKNOWN", "", "?/?")
    assert original_record(letter).value == b""


def test_a_truncated_letter_is_marked_and_keeps_its_reason() -> None:
    letter = parse_letter(as_read(truncate_letter(build_letter(refused(), NOW, "g"))))
    assert (letter.cut, letter.reason, letter.record.value, letter.origin) == (True, "BAD", b"", "0/7")


async def test_letters_that_the_broker_does_not_take_are_returned() -> None:
    producer = FakeProducer(failures=[TimeoutError()])
    letters = DeadLetterWriter(producer, FakeClock(), "g")  # type: ignore[arg-type]
    left = await letters.write([refused(), refused()])
    assert len(left) == 2
    assert await letters.write(left) == []
    assert len(producer.published) == 2
