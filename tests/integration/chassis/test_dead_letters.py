"""The operators' commands for dead letters, on a broker."""

import asyncio
import json
import os
import sys
from argparse import Namespace
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from services.chassis.clock import SystemClock
from services.chassis.dead_letters.__main__ import Settings, build_parser, list_letters, replay_letters
from services.chassis.dead_letters.letters import DeadLetterWriter, RefusedRecord
from services.chassis.dead_letters.replay import read_letters
from services.chassis.events import InvalidMessage, encode_headers
from services.chassis.producer import Producer, PublishResult, Record
from services.chassis.topics import open_reader
from tests.eventually import eventually
from tests.fakes.chassis import raw_record
from tests.unit.chassis.samples import an_event

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Desk:
    """A topic of the test's own with its dead letters, and the commands."""

    settings: Settings
    topic: str
    producer: Producer
    reader: AIOKafkaConsumer

    async def write(self, *keys: str, reason: str = "BAD", value: bytes = b"v") -> None:
        """A letter for each key."""
        letters = DeadLetterWriter(self.producer, SystemClock(), "g")
        for offset, key in enumerate(keys):
            record = raw_record(
                self.topic,
                offset,
                value=value,
                key=key.encode(),
                headers=[*encode_headers(an_event(self.topic)), ("x", None)],
            )
            assert await letters.write([RefusedRecord(record, InvalidMessage(reason, "no such thing"))]) == []

    async def run(self, *arguments: str) -> list[dict[str, object]]:
        """What the command reports as JSON."""
        lines: list[str] = []
        parsed: Namespace = build_parser().parse_args([arguments[0], self.topic, "--json", *arguments[1:]])
        await (list_letters if parsed.command == "list" else replay_letters)(self.settings, parsed, lines.append)
        return [json.loads(line) for line in lines]

    async def published(self, count: int) -> list[str]:
        """The keys of all records of the topic, when they are `count`."""

        async def so_many() -> list[str]:
            keys = [key async for key in self._keys()]
            assert len(keys) == count
            return keys

        return await eventually(so_many) if count else [key async for key in self._keys()]

    async def _keys(self) -> AsyncIterator[str]:
        self.reader.assign([TopicPartition(self.topic, 0)])
        async for letter in read_letters(self.settings.kafka_bootstrap, self.reader, self.topic):
            yield (letter.record.key or b"").decode()


@pytest.fixture
async def desk(kafka_bootstrap: str, topic_suffix: str) -> AsyncIterator[Desk]:
    topic = f"letters-{topic_suffix}"
    settings = Settings(kafka_bootstrap=kafka_bootstrap, kafka_idempotence=False)
    async with (
        Producer(kafka_bootstrap, {topic: 1}, idempotence=False) as producer,
        open_reader(kafka_bootstrap) as reader,
    ):
        yield Desk(settings, topic, producer, reader)


async def test_the_list_shows_each_letter_and_the_counts(desk: Desk) -> None:
    await desk.write("a", "b")
    await desk.write("c", reason="WORSE")
    *letters, counts = await desk.run("list")
    assert [letter["key"] for letter in letters] == ["a", "b", "c"]
    assert letters[0] | {"first_seen": ""} == {
        "topic": f"{desk.topic}.dlq",
        "partition": 0,
        "offset": 0,
        "origin": "0/0",
        "reason": "BAD",
        "message": "no such thing",
        "first_seen": "",
        "group": "g",
        "type": "mobiletest.catalog.v1.App",
        "key": "a",
        "bytes": 1,
        "cut": False,
        "replayed": False,
    }
    assert (counts["count"], counts["reasons"]) == (3, {"BAD": 2, "WORSE": 1})


async def test_the_list_can_be_filtered(desk: Desk) -> None:
    await desk.write("a", "b")
    await desk.write("c", "d", reason="WORSE")
    *letters, counts = await desk.run("list", "--reason", "WORSE", "--limit", "1")
    assert ([letter["key"] for letter in letters], counts["count"]) == (["c"], 1)
    assert len(await desk.run("list", "--summary")) == 1


async def test_a_letter_is_replayed_once_unless_asked_again(desk: Desk) -> None:
    await desk.write("a", "b", "c")
    (result,) = await desk.run("replay", "--dry-run")
    assert (result["replayed"], result["dry_run"]) == (3, True)
    assert await desk.published(0) == []
    (result,) = await desk.run("replay")
    assert (result["replayed"], result["replayed_before"], result["reasons"]) == (3, 0, {"BAD": 3})
    (result,) = await desk.run("replay")
    assert (result["replayed"], result["replayed_before"]) == (0, 3)
    assert await desk.published(3) == ["a", "b", "c"]
    assert all(letter["replayed"] for letter in (await desk.run("list"))[:-1])
    await desk.run("replay", "--again")
    assert await desk.published(6) == ["a", "b", "c"] * 2
    (result,) = await desk.run("replay")
    assert result["replayed"] == 0


async def test_reasons_are_replayed_separately_and_a_limit_continues(desk: Desk) -> None:
    for key in ("a", "b", "c"):
        await desk.write(key)
        await desk.write(key.upper(), reason="WORSE")
    await desk.run("replay", "--reason", "WORSE", "--limit", "2")
    assert await desk.published(2) == ["A", "B"]
    await desk.run("replay", "--reason", "WORSE")
    await desk.run("replay")
    assert await desk.published(6) == ["A", "B", "C", "a", "b", "c"]


async def test_many_letters_are_replayed_in_batches(desk: Desk) -> None:
    keys = [str(number) for number in range(250)]
    records = [Record(f"{desk.topic}.dlq", key.encode(), b"x" * 20_000, [("dlq_reason", b"BAD")]) for key in keys]
    results = await desk.producer.publish_records(records)
    assert all(isinstance(result, PublishResult) for result in results)
    (result,) = await desk.run("replay")
    assert result["replayed"] == 250
    assert await desk.published(250) == keys


async def test_a_cut_letter_is_not_replayed(desk: Desk) -> None:
    cut = Record(f"{desk.topic}.dlq", None, b"", [("dlq_reason", b"BAD"), ("dlq_cut", b"4000000")])
    await desk.producer.publish_records([cut])
    await desk.write("a")
    (result,) = await desk.run("replay")
    assert (result["replayed"], result["cut"]) == (1, 1)
    assert await desk.published(1) == ["a"]


async def test_a_missing_topic_is_named(desk: Desk) -> None:
    with pytest.raises(LookupError, match=r"there is no topic nope\.dlq"):
        await replay_letters(desk.settings, build_parser().parse_args(["replay", "nope"]), print)


async def test_without_json_the_commands_print_text(desk: Desk) -> None:
    await desk.write("a")
    lines: list[str] = []
    await list_letters(desk.settings, build_parser().parse_args(["list", desk.topic]), lines.append)
    assert lines[-1] == f"{desk.topic}.dlq: 1 (BAD 1), 0 of them replayed"


async def test_a_process_without_a_broker_explains_its_failure() -> None:
    environment = {"MOBILETEST_KAFKA_BOOTSTRAP": "127.0.0.1:1", "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    command = [sys.executable, "-m", "services.chassis.dead_letters", "list"]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **environment}, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"127.0.0.1:1: ")
