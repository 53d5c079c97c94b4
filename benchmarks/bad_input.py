"""How long a valid event waits behind invalid ones of its partition: reporting as a process, Kafka in, MongoDB written.

    python -m benchmarks.bad_input

From the broker's acknowledgement of the last message until the service's own metrics say that the valid one is applied.
"""

import asyncio
import itertools
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import uvloop

from benchmarks.completions import EventGenerator
from benchmarks.reporting import Servers, Service, cpu_seconds, servers
from services.chassis.events import Event, encode_headers
from services.chassis.producer import Producer, Record
from services.reporting.consumer import TOPICS

MEBIBYTE = 1024 * 1024
LONGEST_SECONDS = 60.0


def kinds(good: Event) -> dict[str, list[Record]]:
    """What is put before the valid event."""
    record = Record(good.topic, b"one partition", good.payload, encode_headers(good))
    truncated = replace(record, value=good.payload[: len(good.payload) // 2])
    return {
        "nothing": [],
        "random bytes": [replace(record, value=b"\xff\x00" * 100)],
        "half a message": [truncated],
        "no headers": [replace(record, headers=[])],
        "no value": [replace(record, value=None)],
        "1 MiB": [replace(record, value=b"\xff" * MEBIBYTE)],
        "20 of 1 MiB": [replace(record, value=b"\xff" * MEBIBYTE)] * 20,
        "1,000 halves": [truncated] * 1_000,
        "10,000 halves": [truncated] * 10_000,
    }


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with servers(Path(folder)) as parts:
            await parts.publish([])
            service = Service(parts, "bad-input", {"MOBILETEST_INVALID_SHARE": "1"})
            service.child.start()
            try:
                await measure(parts, service)
            finally:
                await service.child.kill()


async def measure(parts: Servers, service: Service) -> None:
    """Each kind in turn, behind a first event that shows that the service consumes."""
    events = (event for execution in EventGenerator(seed=1).executions() for event in execution)
    async with Producer(parts.broker.bootstrap, TOPICS, idempotence=False, timeout=LONGEST_SECONDS) as producer:
        count = itertools.count(1)
        await wait_behind([], next(events), next(count), producer, service)
        for name, bad in kinds(next(events)).items():
            began = cpu_seconds(service.child.pid)
            seconds = await wait_behind(bad, next(events), next(count), producer, service)
            used = cpu_seconds(service.child.pid) - began
            print(f"{name:15} {seconds * 1000:6.0f} ms, {used * 1000:5.0f} ms of reporting's CPU", flush=True)


async def wait_behind(bad: list[Record], good: Event, applied: int, producer: Producer, service: Service) -> float:
    """Publish, and give the seconds from the last acknowledgement until `applied` events were."""
    valid = Record(good.topic, b"one partition", good.payload, encode_headers(good))
    for result in await producer.publish_records([*bad, valid]):
        if isinstance(result, Exception):
            raise result
    began = time.monotonic()
    async with asyncio.timeout(LONGEST_SECONDS):
        while await service.applied() < applied:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.005)
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
