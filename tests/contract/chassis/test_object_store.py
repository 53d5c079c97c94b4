"""One suite for every kind of store that runs without a cloud."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound, ResourceExhausted
from services.chassis.object_store import ObjectStore

MIB = 1024 * 1024


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return ObjectStore.open("memory:///" if request.param == "memory" else (tmp_path / "new folder").as_uri())


async def chunks(count: int, size: int = MIB) -> AsyncIterator[bytes]:
    for number in range(count):
        yield bytes([number % 256]) * size


async def broken(count: int) -> AsyncIterator[bytes]:
    async for chunk in chunks(count):
        yield chunk
    raise ConnectionResetError("the client went away")


async def content(store: ObjectStore, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.get_stream(key)])


async def test_a_stored_object_can_be_read(store: ObjectStore) -> None:
    stored = await store.put_bytes("org/a b.txt", b"hello")
    assert await content(store, "org/a b.txt") == b"hello"
    assert (stored.size, stored.sha256) == (5, sha256(b"hello").hexdigest())


async def test_a_stream_is_stored_with_its_size_and_hash(store: ObjectStore) -> None:
    expected = b"".join([chunk async for chunk in chunks(13)])
    stored = await store.put_stream("k", chunks(13))
    assert await content(store, "k") == expected
    assert (stored.size, stored.sha256) == (13 * MIB, sha256(expected).hexdigest())


async def test_an_empty_stream_is_an_empty_object(store: ObjectStore) -> None:
    assert (await store.put_stream("k", chunks(0))).size == 0
    assert await content(store, "k") == b""


async def test_a_large_object_is_read_in_chunks(store: ObjectStore) -> None:
    await store.put_stream("k", chunks(9))
    sizes = [len(chunk) async for chunk in store.get_stream("k")]
    assert max(sizes) <= 9 * MIB
    assert sum(sizes) == 9 * MIB


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 3 * MIB), (MIB - 1, MIB + 1), (3 * MIB - 1, 3 * MIB)])
async def test_a_part_of_an_object_is_read(store: ObjectStore, start: int, end: int) -> None:
    expected = b"".join([chunk async for chunk in chunks(3)])
    await store.put_stream("k", chunks(3))
    part = store.get_stream("k", FilePart(start, end, len(expected)))
    assert b"".join([chunk async for chunk in part]) == expected[start:end]


async def test_a_broken_stream_leaves_no_object(store: ObjectStore) -> None:
    with pytest.raises(ConnectionResetError):
        await store.put_stream("k", broken(12))
    with pytest.raises(NotFound):
        await content(store, "k")


async def test_a_broken_stream_leaves_the_existing_object(store: ObjectStore) -> None:
    await store.put_bytes("k", b"before")
    with pytest.raises(ConnectionResetError):
        await store.put_stream("k", broken(12))
    assert await content(store, "k") == b"before"


async def test_a_stream_that_is_too_large_is_refused_and_leaves_no_object(store: ObjectStore) -> None:
    with pytest.raises(ResourceExhausted) as error:
        await store.put_stream("k", chunks(12), max_bytes=11 * MIB)
    assert error.value.reason == "OBJECT_TOO_LARGE"
    with pytest.raises(NotFound):
        await content(store, "k")


async def test_a_missing_object_is_not_found(store: ObjectStore) -> None:
    with pytest.raises(NotFound):
        await content(store, "nothing")


async def test_delete_is_idempotent(store: ObjectStore) -> None:
    await store.put_bytes("k", b"x")
    await store.delete("k")
    await store.delete("k")
    with pytest.raises(NotFound):
        await content(store, "k")


@pytest.mark.parametrize("key", ["../outside", "a/../../outside"])
async def test_a_key_never_leaves_the_store(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="illegal"):
        await store.put_bytes(key, b"x")


async def test_everything_below_a_prefix_is_deleted_and_nothing_beside_it(store: ObjectStore) -> None:
    for key in ("runs/1/1/a", "runs/1/2/b", "runs/12/1/c", *(f"runs/1/3/{number}" for number in range(120))):
        await store.put_bytes(key, b"x")
    assert await store.delete_all("runs/1") == 122
    assert await content(store, "runs/12/1/c") == b"x"
    with pytest.raises(NotFound):
        await content(store, "runs/1/1/a")
    assert await store.delete_all("runs/1") == 0
