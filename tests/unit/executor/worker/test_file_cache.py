"""Files of builds and tests on disk: downloaded once, verified, bounded, and never evicted while in use."""

import asyncio
import os
from hashlib import sha256
from math import inf
from pathlib import Path

import pytest

from services.chassis.errors import DeadlineExceeded, Unavailable
from services.executor.automation.devices.port import DeviceFailure
from services.executor.model.failures import Category
from services.executor.worker.file_cache import CatalogFile, FileCache
from tests.fakes.executor import FakeCatalog


def files_of(catalog: FakeCatalog, folder: Path, limit: int = 1_000_000) -> FileCache:
    return FileCache(catalog, folder, limit)


def known(catalog: FakeCatalog, name: str, content: bytes, file_name: str = "Shop.APK") -> CatalogFile:
    """A build with this id and file."""
    catalog.files[name] = content
    return CatalogFile("org", sha256(content).hexdigest(), file_name, name)


def on_disk(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in folder.iterdir()}


async def test_a_file_is_downloaded_once_and_keeps_its_suffix(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app, same = known(catalog, "one", b"x" * 2500), known(catalog, "two", b"x" * 2500)
    files = files_of(catalog, tmp_path / "files")
    with files.open_files(until=inf) as fetch:
        paths = await asyncio.gather(*(fetch(wanted) for wanted in (app, app, same)))
    assert len(set(paths)) == 1
    assert (paths[0].name, paths[0].read_bytes()) == (f"{app.sha256}.apk", b"x" * 2500)
    assert catalog.reads == 1


async def test_a_file_name_cannot_escape_the_folder(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"x", "../../etc/passwd/..%2f.a/b")
    with files_of(catalog, tmp_path).open_files(until=inf) as fetch:
        assert (await fetch(app)).parent == tmp_path


async def test_a_file_with_a_wrong_hash_is_refused_and_not_kept(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"good")
    catalog.files["one"] = b"evil"
    with files_of(catalog, tmp_path).open_files(until=inf) as fetch:
        with pytest.raises(DeviceFailure, match="differs from the uploaded one") as raised:
            await fetch(app)
        assert raised.value.category is Category.ARTIFACT_INVALID
        assert on_disk(tmp_path) == set()
        catalog.files["one"] = b"good"
        assert (await fetch(app)).read_bytes() == b"good"


async def test_a_file_missing_from_the_catalog_is_artifact_invalid(tmp_path: Path) -> None:
    files = files_of(FakeCatalog(), tmp_path)
    with files.open_files(until=inf) as fetch, pytest.raises(DeviceFailure, match="Build not found") as raised:
        await fetch(CatalogFile("org", "ab" * 32, "a.apk", "none"))
    assert raised.value.category is Category.ARTIFACT_INVALID


def picture(catalog: FakeCatalog, content: bytes) -> CatalogFile:
    """A picture of a test with this content."""
    catalog.files[sha256(content).hexdigest()] = content
    return CatalogFile("org", sha256(content).hexdigest(), "media/cat.png")


async def test_a_picture_of_a_test_is_kept_like_a_build(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    cat, files = picture(catalog, b"cat"), files_of(catalog, tmp_path)
    for _ in range(2):
        with files.open_files(until=inf) as fetch:
            path = await fetch(cat)
    assert (path.name, path.read_bytes(), catalog.reads) == (f"{cat.sha256}.png", b"cat", 1)


@pytest.mark.parametrize(
    ("content", "limit", "message"),
    [
        (None, 100, "The catalog did not deliver the file media/cat.png: "),
        (b"dog", 100, "The downloaded file media/cat.png differs from the uploaded one"),
        (b"cat", 2, "The file media/cat.png is larger than the worker's file cache"),
    ],
)
async def test_a_picture_that_cannot_be_used_is_told_by_its_name(
    tmp_path: Path, content: bytes | None, limit: int, message: str
) -> None:
    catalog = FakeCatalog()
    cat = picture(catalog, b"cat")
    catalog.files = {cat.sha256: content} if content is not None else {}
    with files_of(catalog, tmp_path, limit).open_files(until=inf) as fetch, pytest.raises(DeviceFailure) as raised:
        await fetch(cat)
    assert raised.value.category is Category.ARTIFACT_INVALID
    assert raised.value.message.startswith(message)


OUTAGES = [Unavailable("connections to all backends failing"), DeadlineExceeded("no answer")]


async def test_an_outage_of_the_catalog_is_waited_out(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"app")
    catalog.outages = [*OUTAGES]
    with files_of(catalog, tmp_path).open_files(until=inf) as fetch:
        assert (await fetch(app)).read_bytes() == b"app"
    assert on_disk(tmp_path) == {b"app"}


async def test_an_outage_longer_than_the_run_is_a_network_error(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"app")
    catalog.outages = [*OUTAGES]
    with files_of(catalog, tmp_path).open_files(until=0.0) as fetch, pytest.raises(DeviceFailure) as raised:
        await fetch(app)
    assert raised.value.category is Category.NETWORK_ERROR
    assert raised.value.message == "The catalog did not deliver the build's file: connections to all backends failing."


async def test_the_least_recently_used_file_is_evicted(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    a, b, c = (known(catalog, name, name.encode() * 2000) for name in "abc")
    files = files_of(catalog, tmp_path, 5000)
    for wanted in (a, b, a, c):
        with files.open_files(until=inf) as fetch:
            await fetch(wanted)
    assert on_disk(tmp_path) == {b"a" * 2000, b"c" * 2000}


async def test_a_file_in_use_is_never_evicted(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    a, b, c = (known(catalog, name, name.encode() * 2000) for name in "abc")
    files = files_of(catalog, tmp_path, 4000)
    with files.open_files(until=inf) as one, files.open_files(until=inf) as other:
        await one(a)
        await other(b)
        with pytest.raises(DeviceFailure, match="full of files that other runs use") as raised:
            await other(c)
        assert raised.value.category is Category.DEVICE_UNAVAILABLE
        assert on_disk(tmp_path) == {b"a" * 2000, b"b" * 2000}
    with files.open_files(until=inf) as fetch:
        await fetch(c)
    assert len(on_disk(tmp_path)) == 2


async def test_a_file_larger_than_the_cache_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"x" * 50_000)
    files = files_of(catalog, tmp_path, 3000)
    with files.open_files(until=inf) as fetch, pytest.raises(DeviceFailure, match="worker's file cache") as raised:
        await fetch(app)
    assert raised.value.category is Category.ARTIFACT_INVALID
    assert on_disk(tmp_path) == set()


async def test_files_survive_a_restart_and_partial_downloads_do_not(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    old, new = (known(catalog, name, name.encode() * 2000) for name in "ab")
    with files_of(catalog, tmp_path).open_files(until=inf) as fetch:
        aged = await fetch(old)
        await fetch(new)
    os.utime(aged, (1, 1))
    (tmp_path / "unfinished.part").write_bytes(b"x")
    files = files_of(catalog, tmp_path, 3000)
    with files.open_files(until=inf) as fetch:
        await fetch(new)
    assert catalog.reads == 2
    assert on_disk(tmp_path) == {b"b" * 2000}


async def test_a_file_deleted_from_disk_is_downloaded_again(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"x" * 100)
    files = files_of(catalog, tmp_path)
    with files.open_files(until=inf) as fetch:
        (await fetch(app)).unlink()
        assert (await fetch(app)).read_bytes() == b"x" * 100


async def test_a_disk_error_is_an_infrastructure_failure(tmp_path: Path) -> None:
    catalog = FakeCatalog()
    app = known(catalog, "one", b"x" * 100)
    folder = tmp_path / "files"
    files = files_of(catalog, folder)
    with files.open_files(until=inf) as fetch:
        await fetch(app)
        (folder / f"{app.sha256}.apk").unlink()
        folder.rmdir()
        folder.write_text("a file where the folder should be")
        with pytest.raises(DeviceFailure, match="cannot store files") as raised:
            await fetch(app)
    assert raised.value.category is Category.DEVICE_UNAVAILABLE
