"""The stack as a library: what survives a restart, and parts that are broken and mended on purpose."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from pymongo import AsyncMongoClient

from deploy.local.child import ChildDied
from deploy.local.stack import Stack, run_stack
from tests.integration.local.processes import is_alive

pytestmark = pytest.mark.usefixtures("programs")


@asynccontextmanager
async def stack_on(state_dir: Path) -> AsyncIterator[Stack]:
    async with run_stack(state_dir, package="tests.fakes.local") as stack:
        yield stack


async def test_a_second_start_finds_documents_and_key_again(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as first:
        async with AsyncMongoClient[dict[str, object]](first.mongo_uri) as client:
            await client.catalog.apps.insert_one({"_id": "a"})
        key, token = first.api_key, first.service_token
    async with stack_on(tmp_path) as second:
        async with AsyncMongoClient[dict[str, object]](second.mongo_uri) as client:
            assert await client.catalog.apps.find_one() == {"_id": "a"}
        assert (second.api_key, second.service_token) == (key, token)


async def test_servers_come_back_at_the_same_addresses(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as stack, AsyncMongoClient[dict[str, object]](stack.mongo_uri) as client:
        await client.catalog.apps.insert_one({"_id": "a"})
        await stack.kill("mongod")
        await stack.start("mongod")
        await stack.restart("broker")
        assert await client.catalog.apps.find_one() == {"_id": "a"}
        producer = AIOKafkaProducer(bootstrap_servers=stack.kafka_bootstrap)
        await producer.start()
        await producer.stop()


async def test_events_are_republished_to_a_restarted_broker(tmp_path: Path) -> None:
    republished = tmp_path / "republished"
    async with stack_on(tmp_path) as first:
        assert not republished.exists()
        await first.restart("broker")
        assert sorted(republished.read_text().split()) == ["catalog", "executor"]
        republished.unlink()
    async with stack_on(tmp_path):
        assert sorted(republished.read_text().split()) == ["catalog", "executor"]


async def test_a_part_that_was_killed_on_purpose_can_be_started_again(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as stack:
        first = stack.pid_of("worker-1")
        await stack.kill("worker-1")
        stack.check()
        assert not is_alive(first)
        await stack.start("worker-1")
        assert stack.pid_of("worker-1") != first


async def test_workers_can_be_added(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as stack:
        assert await stack.start_worker() == "worker-2"
        assert is_alive(stack.pid_of("worker-2"))
    assert not is_alive(stack.pid_of("worker-2"))


async def test_a_service_that_does_not_start_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(ChildDied, match="No module named"):
        async with run_stack(tmp_path, package="tests.fakes.nowhere"):
            pass
    assert not (tmp_path / "ready.json").exists()
    async with stack_on(tmp_path):
        pass


async def test_organisations_differ(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as stack:
        assert await stack.new_organisation("A") != await stack.new_organisation("B")
