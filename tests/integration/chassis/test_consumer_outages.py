"""A consumer whose broker restarts again and again, or whose handler is slow, is never silently stuck."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import pytest

from services.chassis import metrics
from services.chassis.consumer import Consumer
from services.chassis.events import Event, InvalidMessage, TransientError
from services.chassis.lifecycle import Background
from services.chassis.producer import Producer, PublishResult
from tests.eventually import eventually
from tests.integration.chassis.consuming import consuming
from tests.integration.chassis.proxies import BrokerProxy
from tests.unit.chassis.samples import an_event

RESTARTS = 6


@dataclass
class Bench:
    """A consumer of a broker that restarts."""

    broker: BrokerProxy
    topic: str
    producer: Producer
    seen: set[str] = field(default_factory=set)
    refuses: Callable[[], Exception | None] = lambda: None

    async def handle(self, events: list[Event]) -> None:
        if error := self.refuses():
            raise error
        self.seen |= {event.key for event in events}

    def consuming(self) -> AbstractAsyncContextManager[Consumer]:
        return consuming(self.producer, self.topic, self.handle, max_batch=50)

    async def publish(self, *keys: str) -> None:
        """Until the broker has them, whether it is there yet or not."""
        for key in keys:
            await eventually(lambda key=key: self._published(key))  # type: ignore[misc]

    async def _published(self, key: str) -> bool:
        return isinstance((await self.producer.publish([an_event(self.topic, key=key)]))[0], PublishResult)

    async def sees(self, *keys: str) -> None:
        """They arrive, while the consumer says that it is well."""
        await eventually(lambda: set(keys) <= self.seen)


@pytest.fixture
async def bench(broker_proxy: BrokerProxy, topic_suffix: str) -> AsyncIterator[Bench]:
    topic = f"outages-{topic_suffix}"
    async with Producer(broker_proxy.bootstrap, {topic: 3}, idempotence=False, timeout=2.0) as producer:
        yield Bench(broker_proxy, topic, producer)


async def test_a_consumer_survives_repeated_restarts_of_the_broker(bench: Bench) -> None:
    """The broker goes while events flow; what is published after each return arrives, and liveness never fails."""
    async with bench.consuming() as consumer, Background() as background:
        for number in range(RESTARTS):
            flood = background.start(
                "flood", endless(lambda: bench.producer.publish([an_event(bench.topic) for _ in range(20)]))
            )
            await bench.publish(f"before-{number}")
            await bench.sees(f"before-{number}")
            await bench.broker.restart()
            await bench.publish(f"after-{number}")
            await bench.sees(f"after-{number}")
            flood.cancel()
            await consumer.check()


async def test_a_consumer_is_current_only_while_its_broker_answers(bench: Bench) -> None:
    async with bench.consuming() as consumer:
        await eventually(lambda: consumer.is_current(0.5))
        await bench.broker.stop()
        await eventually(lambda: not consumer.is_current(0.5))
        await bench.broker.start()
        await eventually(lambda: consumer.is_current(0.5))


@pytest.mark.parametrize("error", [TransientError("later"), InvalidMessage("REFUSED", "no such thing")])
async def test_a_consumer_survives_a_restart_while_its_handler_retries_or_refuses(
    bench: Bench, error: Exception
) -> None:
    """A dead letter cannot be written at first; the partition moves on all the same."""
    asked = asyncio.Event()

    def refuses() -> Exception:
        asked.set()
        return error

    async with bench.consuming() as consumer:
        bench.refuses = refuses
        await bench.publish("in hand")
        await asked.wait()
        await bench.broker.restart()
        bench.refuses = lambda: None
        await bench.publish("after")
        await bench.sees("after")
        await consumer.check()


async def test_the_lag_of_a_slow_handler_is_shown_until_it_has_caught_up(bench: Bench) -> None:
    slow, fetched = asyncio.Event(), asyncio.Event()

    async def handle(events: list[Event]) -> None:
        fetched.set()
        await slow.wait()
        bench.seen |= {event.key for event in events}

    bench.handle = handle  # type: ignore[method-assign]
    keys = [f"key-{number}" for number in range(300)]
    async with Producer(bench.broker.bootstrap, {bench.topic: 3}, idempotence=False, timeout=60.0) as producer:
        results = await producer.publish([an_event(bench.topic, key=key) for key in keys])
    assert all(isinstance(result, PublishResult) for result in results)
    async with bench.consuming():
        await fetched.wait()
        assert 0 < behind(bench) <= len(keys)
        slow.set()
        await bench.sees(*keys)
        await eventually(lambda: behind(bench) == 0)
    assert behind(bench) == 0


def behind(bench: Bench) -> float:
    """Over all partitions that are shown."""
    samples = [
        sample.value
        for metric in metrics.REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "mobiletest_kafka_consumer_lag_records" and sample.labels["topic"] == bench.topic
    ]
    return sum(samples)


async def endless(work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await work()
        await asyncio.sleep(0.01)  # the pace of a publisher
