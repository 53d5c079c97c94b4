"""The stack as a library: what survives a restart, and parts that are killed on purpose."""

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


async def test_documents_key_and_events_survive_a_second_start(tmp_path: Path) -> None:
    """The broker keeps nothing, so events are republished after each start but the first."""
    republished = tmp_path / "republished"
    async with stack_on(tmp_path) as first, AsyncMongoClient[dict[str, object]](first.mongo_uri) as client:
        assert not republished.exists()
        await client.catalog.apps.insert_one({"_id": "a"})
        await first.restart("broker")
        assert sorted(republished.read_text().split()) == ["catalog", "executor"]
        republished.unlink()
        key, token = first.api_key, first.tokens
    async with stack_on(tmp_path) as second, AsyncMongoClient[dict[str, object]](second.mongo_uri) as client:
        assert sorted(republished.read_text().split()) == ["catalog", "executor"]
        assert await client.catalog.apps.find_one() == {"_id": "a"}
        assert (second.api_key, second.tokens) == (key, token)


async def test_parts_can_be_killed_started_and_added(tmp_path: Path) -> None:
    async with stack_on(tmp_path) as stack, AsyncMongoClient[dict[str, object]](stack.mongo_uri) as client:
        await client.catalog.apps.insert_one({"_id": "a"})
        for name in ("mongod", "worker-1", "broker"):
            pid = stack.pid_of(name)
            await stack.kill(name)
            stack.check()
            assert not is_alive(pid)
            await stack.start(name)
            assert stack.pid_of(name) != pid
        assert await client.catalog.apps.find_one() == {"_id": "a"}
        # What a killed worker leaves is in the state folder, where the next one finds it.
        assert f"FILES_FOLDER={tmp_path}/files\n" in (tmp_path / "env" / "worker-1.env").read_text()
        producer = AIOKafkaProducer(bootstrap_servers=stack.kafka_bootstrap)
        await producer.start()
        await producer.stop()
        assert await stack.start_worker() == "worker-2"
        added = stack.pid_of("worker-2")
        assert is_alive(added)
        assert await stack.new_organisation("A") != await stack.new_organisation("B")
    assert not is_alive(added)


async def test_a_service_that_does_not_start_leaves_no_process(tmp_path: Path) -> None:
    with pytest.raises(ChildDied, match="No module named"):
        async with run_stack(tmp_path, package="tests.fakes.nowhere"):
            pass
    assert not (tmp_path / "ready.json").exists()
    async with stack_on(tmp_path):
        pass
