"""Consumers of topics of a test's own, each in a group of the topic's own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from services.chassis.consumer import Consumer, Handler
from services.chassis.lifecycle import Background
from services.chassis.producer import Producer


def consumer_of(producer: Producer, topic: str, handle: Handler, *, group: str = "group", **options: Any) -> Consumer:
    """At the producer's broker; the producer publishes its dead letters."""
    return Consumer(
        [topic],
        f"{topic}-{group}",
        handle,
        kafka=producer.kafka,
        instance_id=None,
        dlq=producer,
        session_seconds=1.0,
        **options,
    )


@asynccontextmanager
async def consuming(producer: Producer, topic: str, handle: Handler, **options: Any) -> AsyncIterator[Consumer]:
    """The consumer runs inside the block."""
    consumer = consumer_of(producer, topic, handle, **options)
    async with Background() as background, background.run("consumer", consumer.run(), stop=consumer.stop):
        yield consumer
