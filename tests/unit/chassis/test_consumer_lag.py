"""The lag, on a client of Kafka that knows what the test says."""

from dataclasses import dataclass, field
from uuid import uuid4

from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError

from services.chassis import metrics
from services.chassis.consumer_lag import ConsumerLag

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class FakeClient:
    """Ends as fetches brought them, and as the broker would say when asked."""

    ends: dict[TopicPartition, int | None] = field(default_factory=dict)
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    asked: int = 0
    now: dict[TopicPartition, int] = field(default_factory=dict)

    def assignment(self) -> set[TopicPartition]:
        return set(self.ends)

    def highwater(self, place: TopicPartition) -> int | None:
        return self.ends[place]

    async def position(self, place: TopicPartition) -> int:
        if place not in self.positions:
            raise KafkaConnectionError("taken away")
        return self.positions[place]

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        return {place: self.now[place] for place in places}


@dataclass
class Bench:
    client: FakeClient
    group: str = field(default_factory=lambda: str(uuid4()))

    def lag(self, *, ask_seconds: float = -1) -> ConsumerLag:
        return ConsumerLag(self.client, self.group, ask_seconds=ask_seconds)

    def shown(self, place: TopicPartition) -> float | None:
        labels = {"topic": place.topic, "partition": str(place.partition), "group": self.group}
        return metrics.REGISTRY.get_sample_value("mobiletest_kafka_consumer_lag_records", labels)


async def test_a_partition_without_fetches_yet_has_a_lag() -> None:
    bench = Bench(FakeClient(ends={HERE: 100, THERE: 50}, positions={THERE: 20}))
    lag = bench.lag()
    await lag.learn(lag.fetched({HERE: 10}))
    assert (bench.shown(HERE), bench.shown(THERE)) == (90, 30)


async def test_a_partition_of_unknown_position_shows_no_lag() -> None:
    bench = Bench(FakeClient(ends={HERE: 100, THERE: None}))
    assert bench.lag().fetched({HERE: 10}) == set()
    assert bench.shown(THERE) is None


async def test_a_partition_reassigned_while_asking_shows_no_lag() -> None:
    bench = Bench(FakeClient(ends={THERE: 5}))
    lag = bench.lag()
    await lag.learn(lag.fetched({}))
    assert bench.shown(THERE) is None


async def test_a_reassigned_partition_shows_no_lag() -> None:
    bench = Bench(FakeClient(ends={HERE: 100, THERE: 50}))
    lag = bench.lag()
    lag.fetched({HERE: 10, THERE: 0})
    del bench.client.ends[THERE]
    lag.fetched({})
    assert (bench.shown(HERE), bench.shown(THERE)) == (90, None)
    lag.forget()
    assert bench.shown(HERE) is None


async def test_while_nothing_is_fetched_the_lag_grows() -> None:
    bench = Bench(FakeClient(ends={HERE: 100}, now={HERE: 500}))
    lag = bench.lag()
    lag.fetched({HERE: 10})
    await lag.ask()
    assert bench.shown(HERE) == 490
    bench.client.now[HERE] = 499  # Tansu says too little
    await lag.ask()
    assert bench.shown(HERE) == 490


async def test_the_broker_is_asked_only_now_and_then() -> None:
    bench = Bench(FakeClient(ends={HERE: 100}, now={HERE: 500}))
    lag = bench.lag(ask_seconds=3600)
    lag.fetched({HERE: 10})
    await lag.ask()
    assert bench.client.asked == 0


async def test_a_log_that_begins_again_is_measured_by_its_own_end() -> None:
    """As after a broker lost its topics: the old end would be shown as a lag forever."""
    bench = Bench(FakeClient(ends={HERE: 1000}))
    lag = bench.lag()
    lag.fetched({HERE: 990})
    lag.committed({HERE: 1000})
    bench.client.ends[HERE] = 5
    lag.fetched({HERE: 0})
    assert bench.shown(HERE) == 5
    lag.committed({HERE: 5})
    assert bench.shown(HERE) == 0


async def test_the_lag_of_a_lost_partition_is_not_shown_while_nothing_is_fetched() -> None:
    bench = Bench(FakeClient(ends={HERE: 100, THERE: 50}, now={HERE: 100}))
    lag = bench.lag()
    lag.fetched({HERE: 10, THERE: 10})
    del bench.client.ends[THERE]
    await lag.ask()
    assert (bench.shown(HERE), bench.shown(THERE)) == (90, None)
