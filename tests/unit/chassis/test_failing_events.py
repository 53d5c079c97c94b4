"""Events on which a handler has a bug are found by bisection, dead-lettered and counted."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from aiokafka import ConsumerRecord
from bson.errors import InvalidDocument
from pymongo.errors import AutoReconnect, OperationFailure

from services.chassis.consumer import MAX_ATTEMPTS, MAX_POLL_AGE_SECONDS
from services.chassis.dead_letters.limit import DlqLimit
from services.chassis.events import Event, InvalidMessage, TransientError
from services.chassis.retry import is_bug
from tests.fakes.chassis import FakeClock, FakeGroupMember, FakeProducer, raw_record, record_of
from tests.unit.chassis.consumers import make_consumer
from tests.unit.chassis.samples import an_event

HALF_OF_200 = DlqLimit(0.5, 200)
Fails = Callable[[Sequence[str]], Exception | None]


@dataclass
class Bench:
    """A consumer with a limit over events named "0", "1" ...; `fails` gives the error for the ids of a call.

    A call takes `seconds`.
    """

    count: int
    fails: Fails
    dlq_limit: DlqLimit | None = HALF_OF_200
    records: list[ConsumerRecord] = field(default_factory=list)
    capacity: Callable[[], int] | None = None
    seconds: float = 0.0
    calls: int = 0
    handled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.records = self.records or [record_of(an_event(id_=str(n)), n) for n in range(self.count)]
        self.producer = FakeProducer()
        self.clock = FakeClock()
        self.member = FakeGroupMember(list(self.records), self.clock)
        limits = {"capacity": self.capacity, "dlq_limit": self.dlq_limit}
        self.consumer = make_consumer(self.member, self.handle, self.producer, self.clock, **limits)

    async def handle(self, events: list[Event]) -> None:
        self.calls += 1
        self.clock.advance(self.seconds)
        ids = [event.id for event in events]
        if error := self.fails(ids):
            raise error
        self.handled += ids

    def dead_lettered(self) -> list[str]:
        return [(dict(letter.headers)["ce_id"] or b"").decode() for letter in self.producer.published]


def on(*guilty: str) -> Fails:
    return lambda ids: KeyError("colour") if set(guilty) & set(ids) else None


async def test_one_failing_event_of_a_thousand_is_found_and_dead_lettered() -> None:
    bench = Bench(1000, on("617"))
    await bench.consumer.run()
    (letter,) = bench.producer.published
    headers = dict(letter.headers)
    assert (headers["ce_id"], headers["dlq_reason"]) == (b"617", b"HANDLER_FAILED")
    assert headers["dlq_message"] == b"KeyError: 'colour'"
    assert bench.handled == [str(n) for n in range(1000) if n != 617]
    assert bench.member.committed == list(range(1000))
    assert bench.calls <= 2 * 10 + 1 + MAX_ATTEMPTS


async def test_several_failing_events_are_found_and_the_others_handled_in_order() -> None:
    guilty = {"0", "1", "500", "998", "999"}
    bench = Bench(1000, on(*guilty))
    await bench.consumer.run()
    assert set(bench.dead_lettered()) == guilty
    assert bench.handled == [str(n) for n in range(1000) if str(n) not in guilty]


@pytest.mark.parametrize("pair", [("3", "4"), ("0", "999"), ("499", "500")])
async def test_two_events_that_fail_only_together_are_handled_separately(pair: tuple[str, str]) -> None:
    bench = Bench(1000, lambda ids: KeyError("both") if set(pair) <= set(ids) else None)
    await bench.consumer.run()
    assert bench.producer.published == []
    assert bench.handled == [str(n) for n in range(1000)]


async def test_a_bug_that_affects_all_events_holds_the_partition() -> None:
    bench = Bench(1000, lambda _: KeyError("colour"))
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.producer.published == []
    assert bench.member.committed == []
    assert bench.calls <= 200 * (2 + MAX_ATTEMPTS) + 10


async def test_the_partition_is_held_when_the_window_is_full() -> None:
    bench = Bench(1000, lambda _: KeyError("colour"), dlq_limit=DlqLimit(0.5, 4), capacity=lambda: 1)
    await bench.consumer.run()
    assert bench.dead_lettered() == ["0", "1", "2"]
    assert bench.member.committed == [0, 1, 2]
    assert bench.member.held == {0: 3}


async def test_a_bug_holds_only_the_partition_of_its_events() -> None:
    other = [replace(record_of(an_event(id_=f"o{n}"), n), partition=1) for n in range(10)]
    records = [*(record_of(an_event(id_=str(n)), n) for n in range(10)), *other]
    bench = Bench(20, on(*map(str, range(10))), dlq_limit=DlqLimit(0.5, 5), records=records)
    await bench.consumer.run()
    assert bench.member.held == {0: 0}
    assert bench.handled == [f"o{n}" for n in range(10)]
    assert bench.member.committed == list(range(10))


async def test_bugs_and_invalid_messages_are_counted_together() -> None:
    strange = [raw_record("t", n, value=b"", headers=[]) for n in range(4)]
    records = [*strange, *(record_of(an_event(id_=str(n)), n) for n in range(4, 10))]
    bench = Bench(10, on("8", "9"), dlq_limit=DlqLimit(0.5, 10), records=records)
    await bench.consumer.run()
    assert bench.member.held == {0: 0}


async def test_a_transient_error_does_not_dead_letter_an_event() -> None:
    left = [KeyError("once"), KeyError("twice")]
    bench = Bench(1, lambda _: left.pop() if left else None)
    await bench.consumer.run()
    assert (bench.handled, bench.dead_lettered()) == (["0"], [])


async def test_transient_errors_are_retried_during_bisection() -> None:
    raised: list[Exception] = []

    def fails(ids: Sequence[str]) -> Exception | None:
        if len(ids) == 5 and len(raised) < 3:
            raised.append(TransientError("later"))
            return raised[-1]
        return on("7")(ids)

    bench = Bench(10, fails)
    await bench.consumer.run()
    assert (len(raised), bench.dead_lettered()) == (3, ["7"])
    assert bench.handled == [str(n) for n in range(10) if n != 7]


async def test_the_consumer_polls_during_bisection() -> None:
    def slow(ids: Sequence[str]) -> Exception | None:
        assert bench.consumer.poll_age() <= MAX_POLL_AGE_SECONDS
        return on("1", "40")(ids)

    bench = Bench(64, slow, seconds=20.0)
    await bench.consumer.run()
    assert len(bench.handled) == 62


async def test_only_the_first_event_of_an_error_is_retried_with_pauses() -> None:
    bench = Bench(64, on("1", "2", "40"))
    await bench.consumer.run()
    assert bench.member.pauses == MAX_ATTEMPTS - 1


async def test_events_lost_in_a_rebalance_are_neither_handled_nor_dead_lettered() -> None:
    bench = Bench(10, on("7"), seconds=2.0)
    bench.member.on_pause = lambda: setattr(bench.member, "revoked", True)
    await bench.consumer.run()
    assert (bench.handled, bench.dead_lettered(), bench.member.committed) == ([], [], [])


async def test_stop_ends_bisection() -> None:
    bench = Bench(1000, on("7"), seconds=2.0)
    bench.member.on_pause = bench.consumer.stop
    await bench.consumer.run()
    assert (bench.calls, bench.dead_lettered(), bench.member.committed) == (1, [], [])


@pytest.mark.parametrize(
    "error", [OperationFailure("not authorised"), OSError("disk full"), MemoryError(), RuntimeError("loop is closed")]
)
async def test_no_event_is_dead_lettered_for_an_error_of_a_dependency(error: Exception) -> None:
    bench = Bench(10, lambda _: error)
    with pytest.raises(type(error)):
        await bench.consumer.run()
    assert (bench.calls, bench.dead_lettered()) == (1, [])


async def test_invalid_events_that_are_not_named_are_found_by_bisection() -> None:
    bench = Bench(1000, lambda ids: InvalidMessage("REFUSED") if "617" in ids else None)
    await bench.consumer.run()
    assert (bench.dead_lettered(), len(bench.handled)) == (["617"], 999)
    assert bench.calls <= 2 * 10 + 2


@pytest.mark.parametrize(
    ("error", "bug"),
    [
        (KeyError("x"), True),
        (ZeroDivisionError(), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), True),
        (OverflowError("MongoDB can only handle up to 8-byte ints"), True),
        (InvalidDocument("cannot encode object"), True),
        (ssl.SSLCertVerificationError("expired"), False),
        (AutoReconnect("gone"), False),
        (TimeoutError(), False),
    ],
)
def test_is_bug(error: Exception, bug: bool) -> None:
    assert is_bug(error) == bug
