"""Publishing again what an outbox retains, after the broker lost its topics. Consumers are idempotent."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from aiokafka.errors import KafkaError
from pymongo.errors import PyMongoError

from services.chassis import logs
from services.chassis.events import Event
from services.chassis.mongo import Document, Mongo
from services.chassis.outbox import OUTBOX, to_events
from services.chassis.producer import Producer
from services.chassis.retry import retry_transient
from services.chassis.settings import ProcessSettings
from services.chassis.topics import ensure_topics

BATCH = 500
# With their pauses about 12 seconds and the time that each attempt takes.
ATTEMPTS = 8
REPORT_EVERY = 10_000

log = logs.get(__name__)

Report = Callable[[str], None]


class RepublishFailed(Exception):
    """The broker did not take the events; the message says how to continue."""


def add_command(commands: Any) -> None:
    """Add `republish` to the subcommands (of argparse) of a service."""
    help_text = "publish again what the outbox retains (7 days), after the broker lost its topics"
    parser = commands.add_parser("republish", help=help_text, description=__doc__)
    parser.add_argument("--since", type=_moment, metavar="TIME", help="only events from this time on (ISO 8601)")
    parser.add_argument("--dry-run", action="store_true", help="only count the events")


def run_command(
    settings: ProcessSettings, database: str, topics: Mapping[str, int], arguments: argparse.Namespace
) -> int:
    """Carry out `republish` as add_command has parsed it; the exit code, 1 when the broker or MongoDB failed."""
    try:
        asyncio.run(_run(settings, database, topics, arguments))
    except (RepublishFailed, PyMongoError) as error:
        sys.stderr.write(f"republish stopped: {error}\n")
        return 1
    return 0


async def _run(
    settings: ProcessSettings, database: str, topics: Mapping[str, int], arguments: argparse.Namespace
) -> None:
    mongo = await Mongo.connect(settings.mongo_uri, database, settings.mongo_driver)
    producer = Producer(settings.kafka, topics, idempotence=settings.kafka_idempotence)
    try:
        await republish(mongo, producer, since=arguments.since, dry_run=arguments.dry_run, report=print)
    finally:
        await producer.stop()
        await mongo.close()


async def republish(
    mongo: Mongo,
    producer: Producer,
    *,
    since: datetime | None = None,
    dry_run: bool = False,
    report: Report = lambda _: None,
    attempts: int = ATTEMPTS,
) -> int:
    """Create missing topics and publish the events from `since` on, oldest first, so in order per key; how many.

    Raises:
        RepublishFailed: the broker does not take them.
    """
    rows = mongo.collection(OUTBOX)
    query = {"time": {"$gte": since}} if since else {}
    if dry_run:
        count = await _count(mongo, query)
        report(f"would publish {count} events to {producer.kafka}")
        return count
    await _retry(attempts, lambda: _create_topics(producer))  # before the outbox is read
    total = await _count(mongo, query)
    done = 0
    async for batch in _batches(rows.find(query).sort([("time", 1), ("sequence", 1)])):
        await _retry(attempts, lambda events=batch: _publish(producer, events))  # type: ignore[misc]
        done += len(batch)
        if done % REPORT_EVERY < len(batch):
            report(f"{done} of {total} events, up to {batch[-1].time.isoformat()}")
    report(f"published {done} events to {producer.kafka}")
    return done


async def _count(mongo: Mongo, query: Document) -> int:
    """The number of events."""
    size = {"$group": {"_id": None, "events": {"$sum": {"$size": {"$ifNull": ["$events", [1]]}}}}}
    totals = await mongo.aggregate(OUTBOX, [{"$match": query}, size])
    return totals[0]["events"] if totals else 0


async def _batches(cursor: Any) -> AsyncIterator[list[Event]]:
    batch: list[Event] = []
    async for row in cursor:
        batch += to_events(row)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


async def _create_topics(producer: Producer) -> None:
    try:
        await ensure_topics(producer.kafka, producer.topics)
    except (KafkaError, OSError, TimeoutError) as error:
        raise RepublishFailed(f"{producer.kafka} is not available: {error!r}") from error


async def _publish(producer: Producer, events: list[Event]) -> None:
    failures = [result for result in await producer.publish(events) if isinstance(result, Exception)]
    if failures:
        raise RepublishFailed(
            f"{producer.kafka} did not take {len(failures)} events ({failures[0]!r}); continue with "
            f"--since {events[0].time.isoformat()}"
        )


async def _retry(attempts: int, call: Callable[[], Awaitable[None]]) -> None:
    await retry_transient(
        call,
        log=log,
        event="republish_failed",
        attempts=attempts,
        transient=lambda error: isinstance(error, RepublishFailed),
    )


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
