"""One suite for every kind of store that runs without a cloud."""

import errno
import os
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound, Unavailable
from services.chassis.object_store import PART_BYTES, ObjectStore

MIB = 1024 * 1024


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return ObjectStore.open("memory:///" if request.param == "memory" else (tmp_path / "new folder").as_uri())


# Of several parts.
CONTENT = b"".join(bytes([number]) * MIB for number in range(2 * PART_BYTES // MIB + 1))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


async def content(store: ObjectStore, key: str) -> bytes:
    return b"".join([chunk async for chunk in store.get_stream(key)])


async def test_a_stored_object_can_be_read(store: ObjectStore) -> None:
    await store.put_bytes("org/a b.txt", b"hello")
    assert await content(store, "org/a b.txt") == b"hello"


async def test_a_file_of_several_parts_is_stored(store: ObjectStore, file: Path) -> None:
    await store.put_file("k", file)
    assert await content(store, "k") == CONTENT


async def test_a_folder_takes_a_file_of_the_same_file_system(tmp_path: Path, file: Path) -> None:
    store = ObjectStore.open((tmp_path / "store").as_uri())
    await store.put_bytes("org/key", b"before")
    await store.put_file("org/key", file)
    assert await content(store, "org/key") == CONTENT
    assert os.listdir(tmp_path) == ["store"]


async def test_a_folder_copies_a_file_of_another_file_system(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "replace", _another_file_system)
    store = ObjectStore.open((tmp_path / "store").as_uri())
    await store.put_file("org/key", file)
    assert await content(store, "org/key") == CONTENT


def _another_file_system(path: Path, target: Path) -> None:
    raise OSError(errno.EXDEV, "another file system", str(target))


async def test_a_file_never_leaves_the_folder(tmp_path: Path, file: Path) -> None:
    store = ObjectStore.open((tmp_path / "store").as_uri())
    with pytest.raises((ValueError, Unavailable)):
        await store.put_file("../outside", file)
    assert sorted(os.listdir(tmp_path)) == ["file", "store"]


async def test_an_empty_file_is_an_empty_object(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    await store.put_file("k", tmp_path / "empty")
    assert await content(store, "k") == b""


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 3 * MIB), (MIB - 1, MIB + 1), (3 * MIB - 1, 3 * MIB)])
async def test_a_part_of_an_object_is_read(store: ObjectStore, file: Path, start: int, end: int) -> None:
    await store.put_file("k", file)
    part = store.get_stream("k", FilePart(start, end, len(CONTENT)))
    assert b"".join([chunk async for chunk in part]) == CONTENT[start:end]


async def test_a_missing_file_leaves_the_existing_object(store: ObjectStore, tmp_path: Path) -> None:
    await store.put_bytes("k", b"before")
    with pytest.raises(FileNotFoundError):
        await store.put_file("k", tmp_path / "nothing")
    assert await content(store, "k") == b"before"


async def test_a_store_that_cannot_be_written_is_unavailable(tmp_path: Path, file: Path) -> None:
    store = ObjectStore.open((tmp_path / "store").as_uri())
    (tmp_path / "store" / "k").mkdir()
    with pytest.raises(Unavailable):
        await store.put_file("k", file)


async def test_a_missing_object_is_not_found(store: ObjectStore) -> None:
    with pytest.raises(NotFound):
        await content(store, "nothing")


async def test_a_reader_does_not_create_the_folder(tmp_path: Path) -> None:
    store = ObjectStore.open((tmp_path / "folder").as_uri(), create=False)
    for key in ("plain", "to be escaped"):
        with pytest.raises((NotFound, Unavailable)):
            await content(store, key)
    assert os.listdir(tmp_path) == []


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


async def arriving(*chunks: bytes | Exception) -> AsyncIterator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("chunks", [[], [b""], [b"a", b"", b"b"], [CONTENT[:MIB], CONTENT[MIB:]]])
async def test_an_object_is_stored_as_it_arrives(store: ObjectStore, chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    await store.put_bytes("org/k", b"before")
    stored = await store.put_stream("org/k", arriving(*chunks))
    assert (stored.sha256, stored.size) == (sha256(whole).hexdigest(), len(whole))
    assert await content(store, "org/k") == whole


async def test_an_object_that_does_not_arrive_leaves_the_existing_one(store: ObjectStore, tmp_path: Path) -> None:
    await store.put_bytes("org/k", b"before")
    with pytest.raises(ConnectionResetError):
        await store.put_stream("org/k", arriving(CONTENT, ConnectionResetError()))
    with pytest.raises(ConnectionResetError):
        await store.put_stream("org/new/file", arriving(CONTENT, ConnectionResetError()))
    assert await content(store, "org/k") == b"before"
    with pytest.raises(NotFound):
        await content(store, "org/new/file")
    assert [path.name for path in files(tmp_path)] in ([], ["k"])
    assert not (tmp_path / "new folder" / "org" / "new").exists()


async def test_what_a_killed_process_leaves_of_an_object_is_below_its_prefix(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())

    async def half() -> AsyncIterator[bytes]:
        yield CONTENT
        [part] = files(tmp_path)
        os.link(part, f"{part}0")
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await store.put_stream("org/uploads/1/file", half())
    assert len(files(tmp_path)) == 1
    assert await store.delete_all("org/uploads/1") == 1
    assert files(tmp_path) == []


async def test_an_object_gets_another_key(store: ObjectStore) -> None:
    await store.put_bytes("org/uploads/1/file", b"new")
    for target in ("org/k", "org/a b"):
        await store.put_bytes(target, b"before")
        await store.put_bytes("org/uploads/1/file", b"new")
        await store.move("org/uploads/1/file", target)
        assert await content(store, target) == b"new"
        with pytest.raises(NotFound):
            await store.move("org/uploads/1/file", target)


async def test_a_folder_has_its_objects_as_files(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    await store.put_bytes("org/k", b"x")
    path = store.local_path("org/k")
    assert path is not None
    assert path.read_bytes() == b"x"
    assert store.local_path("../k") is None
    assert ObjectStore.open("memory:///").local_path("org/k") is None


async def test_a_store_that_cannot_be_written_takes_no_stream(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    (tmp_path / "org").touch()
    with pytest.raises(Unavailable):
        await store.put_stream("org/k", arriving(b"x"))
