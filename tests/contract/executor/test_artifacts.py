"""The port Artifacts on a local object store."""

import asyncio
from pathlib import Path

import pytest

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound
from services.chassis.object_store import ObjectStore
from services.executor.artifacts import ObjectStoreArtifacts

RUN = "6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"


@pytest.fixture
def artifacts(tmp_path: Path) -> ObjectStoreArtifacts:
    return ObjectStoreArtifacts(ObjectStore.open(tmp_path.as_uri()))


async def content(artifacts: ObjectStoreArtifacts, attempt: int, name: str) -> bytes:
    return b"".join([chunk async for chunk in artifacts.read(RUN, attempt, name)])


async def test_an_artifact_is_read_by_run_attempt_and_name(artifacts: ObjectStoreArtifacts) -> None:
    await artifacts.put(RUN, 1, "shot.png", b"first")
    await artifacts.put(RUN, 2, "shot.png", b"second" * 100_000)
    assert await content(artifacts, 1, "shot.png") == b"first"
    assert await content(artifacts, 2, "shot.png") == b"second" * 100_000
    part = artifacts.read(RUN, 1, "shot.png", FilePart(2, 5, 5))
    assert b"".join([chunk async for chunk in part]) == b"rst"
    with pytest.raises(NotFound):
        await content(artifacts, 1, "other.png")


async def test_others_find_an_artifact_in_the_store(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    artifacts = ObjectStoreArtifacts(store)
    await artifacts.put(RUN, 1, "log.txt", b"0123456789")
    assert [chunk async for chunk in store.get_stream(artifacts.object_key(RUN, 1, "log.txt"))] == [b"0123456789"]


async def test_a_store_that_does_not_answer_delays_an_attempt_only_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        for name, value in {"ENDPOINT_URL": f"http://127.0.0.1:{port}", "ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
            monkeypatch.setenv(f"AWS_{name}", "x")
        artifacts = ObjectStoreArtifacts(ObjectStore.open("s3://artifacts"), put_seconds=0.5)
        with pytest.raises(TimeoutError):
            await artifacts.put(RUN, 1, "log.txt", b"0123456789")
        assert asked.is_set()
