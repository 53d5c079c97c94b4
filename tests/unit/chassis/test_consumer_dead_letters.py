"""Invalid events are dead-lettered, up to the limit of their partition, and nothing is lost."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.events import Event, InvalidMessage
from services.chassis.producer import PublishResult, Record
from tests.fakes.chassis import FakeProducer, raw_record, record_of
from tests.unit.chassis.consumers import Bench, records
from tests.unit.chassis.samples import an_event


async def test_an_undecodable_record_is_dead_lettered_and_the_others_handled() -> None:
    bench = Bench([raw_record("t", 0, value=b"\xff", headers=[("ce_id", b"x")]), *records("a")])
    await bench.consumer.run()
    assert bench.batches == [["a"]]
    (letter,) = bench.producer.published
    headers = dict(letter.headers)
    assert letter.topic == "t.dlq"
    assert (letter.value, headers["dlq_reason"]) == (b"\xff", b"MISSING_HEADER")
    assert (headers["dlq_topic"], headers["dlq_partition"], headers["dlq_offset"]) == (b"t", b"0", b"0")
    assert bench.member.committed == [0, 0]


async def test_only_the_event_that_the_handler_names_is_dead_lettered() -> None:
    named: list[str] = []

    async def handle(events: list[Event]) -> None:
        for event in events:
            if event.id == "bad":
                raise InvalidMessage("REFUSED", event=event)
        named.extend(event.id for event in events)

    bench = Bench(records("a", "bad", "b"), handler=handle)
    await bench.consumer.run()
    assert named == ["a", "b"]
    assert [dict(letter.headers)["ce_id"] for letter in bench.producer.published] == [b"bad"]
    assert bench.member.committed == [0, 1, 2]


async def test_several_refused_events_take_one_call() -> None:
    calls: list[int] = []

    async def handle(events: list[Event]) -> list[InvalidMessage]:
        calls.append(len(events))
        return [InvalidMessage("REFUSED", event=event) for event in events if event.id != "fine"]

    bench = Bench(records(*(f"bad{n}" for n in range(998)), "fine", "bad"), handler=handle)
    await bench.consumer.run()
    assert calls == [1000]
    assert len(bench.producer.published) == 999
    assert bench.member.committed == list(range(1000))


async def test_an_event_with_the_same_id_is_not_dead_lettered() -> None:
    async def handle(events: list[Event]) -> list[InvalidMessage]:
        return [InvalidMessage("REFUSED", event=event) for event in events if event.payload == b"bad"]

    twins = [record_of(replace(an_event(id_="twin"), payload=payload), n) for n, payload in enumerate((b"bad", b"ok"))]
    bench = Bench(twins, handler=handle)
    await bench.consumer.run()
    assert [letter.value for letter in bench.producer.published] == [b"bad"]


async def test_refusing_an_event_of_another_batch_ends_the_consumer() -> None:
    async def handle(events: list[Event]) -> list[InvalidMessage]:
        return [InvalidMessage("REFUSED", event=an_event(id_="another"))]

    bench = Bench(records("a"), handler=handle)
    with pytest.raises(ValueError, match="not in its batch"):
        await bench.consumer.run()
    assert bench.member.committed == []


async def test_a_record_without_key_and_value_is_dead_lettered() -> None:
    bench = Bench([raw_record("t", 0, key=None, value=None, headers=[("ce_id", None)])])
    await bench.consumer.run()
    (letter,) = bench.producer.published
    assert (letter.key, letter.value, letter.headers[0]) == (None, b"", ("ce_id", None))


async def test_a_partition_over_the_dlq_limit_is_held_before_any_dead_letter() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(3, 10)}, dlq_limit=DlqLimit(0.5, 6))
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.producer.published == []
    assert bench.member.committed == []


async def test_other_partitions_are_consumed_while_one_is_held() -> None:
    poison = [raw_record("t", n, value=b"", headers=[]) for n in range(10)]
    others = [replace(record, partition=1) for record in records(*(f"{n}" for n in range(20)))]
    bench = Bench([*poison, *others[:10], *others[10:]], dlq_limit=DlqLimit(0.5, 6), capacity=lambda: 20)
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.member.committed == list(range(20))
    assert [id_ for batch in bench.batches for id_ in batch] == [str(n) for n in range(20)]
    assert bench.producer.published == []


async def test_a_held_partition_resumes_when_its_messages_become_valid() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(10)}, dlq_limit=DlqLimit(0.5, 6))
    await bench.consumer.run()
    bench.bad.clear()
    bench.member.records = bench.records[bench.member.held[0] :]
    await bench.made().run()
    assert bench.member.committed == list(range(10))
    assert bench.producer.published == []


async def test_batches_before_the_dlq_limit_stay_committed() -> None:
    bench = Bench(records(*(f"{n}" for n in range(10))), bad={f"{n}" for n in range(3, 10)}, dlq_limit=DlqLimit(0.5, 6))
    bench.capacity = lambda: 1
    await bench.made().run()
    assert len(bench.producer.published) == 3
    assert bench.member.committed == [0, 1, 2, 3, 4, 5]
    assert bench.member.held == {0: 6}


async def test_nothing_is_committed_before_the_dead_letter_is_written() -> None:
    producer = FakeProducer(failures=[TimeoutError("no broker"), TimeoutError("no broker")])
    bench = Bench(records("bad"), bad={"bad"}, producer=producer)
    await bench.consumer.run()
    assert len(producer.published) == 1
    assert bench.member.committed == [0]


async def test_stop_does_not_wait_for_dead_letters_that_cannot_be_written() -> None:
    bench = Bench(records("bad"), bad={"bad"}, producer=FakeProducer(failures=[TimeoutError("no broker")] * 100))
    bench.member.on_pause = bench.consumer.stop
    await bench.consumer.run()
    assert bench.producer.published == []
    assert bench.member.committed == []


async def test_dead_letters_lost_in_a_rebalance_are_not_committed() -> None:
    """What could not be put away here is dropped with its partition; the other one comes to it again."""
    producer = FakeProducer(failures=[TimeoutError("no broker")])
    here = records("bad")[0]
    bench = Bench([here, replace(here, partition=1, offset=7)], bad={"bad"}, producer=producer)
    bench.member.on_pause = lambda: bench.member.lost.add(1)
    write = producer.publish_records

    async def publish_records(letters: Sequence[Record]) -> list[PublishResult | Exception]:
        bench.member.lost.clear() if not producer._failures else None
        return await write(letters)

    producer.publish_records = publish_records  # type: ignore[method-assign,assignment]
    await bench.made().run()
    assert len(producer.published) == 1
    assert bench.member.committed == [0]
