"""Files of builds and tests on disk: downloaded once, verified, bounded, and never evicted while in use."""

import asyncio
import os
from hashlib import sha256
from math import inf
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from services.chassis.errors import DeadlineExceeded, Unavailable
from services.executor.worker.file_cache import CatalogFile, FileCache
from tests.fakes.executor import FakeCatalog

OUTAGES = [Unavailable("connections to all backends failing"), DeadlineExceeded("no answer")]


@pytest.fixture
def catalog() -> FakeCatalog:
    return FakeCatalog()


def build(catalog: FakeCatalog, name: str, content: bytes, file_name: str = "Shop.APK") -> CatalogFile:
    """A build with this id and file."""
    catalog.files[name] = content
    return CatalogFile("org", sha256(content).hexdigest(), file_name, name)


def picture(catalog: FakeCatalog, content: bytes) -> CatalogFile:
    """A picture of a test with this content."""
    catalog.files[sha256(content).hexdigest()] = content
    return CatalogFile("org", sha256(content).hexdigest(), "media/cat.png")


def on_disk(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in folder.iterdir()}


async def fetch_each(files: FileCache, *wanted: CatalogFile) -> list[Path]:
    """Fetch files for one run after another."""
    paths = []
    for file in wanted:
        with files.open_files(until=inf) as fetch:
            paths.append(await fetch(file))
    return paths


async def refusal(files: FileCache, wanted: CatalogFile, until: float = inf) -> DeviceFailure:
    with files.open_files(until=until) as fetch, pytest.raises(DeviceFailure) as raised:
        await fetch(wanted)
    return raised.value


async def test_a_file_is_downloaded_once_and_keeps_its_suffix(catalog: FakeCatalog, tmp_path: Path) -> None:
    app, same = build(catalog, "one", b"x" * 2500), build(catalog, "two", b"x" * 2500)
    with FileCache(catalog, tmp_path / "files", 1_000_000).open_files(until=inf) as fetch:
        paths = await asyncio.gather(*(fetch(wanted) for wanted in (app, app, same)))
    assert len(set(paths)) == 1
    assert (paths[0].name, paths[0].read_bytes()) == (f"{app.sha256}.apk", b"x" * 2500)
    assert catalog.reads == 1


async def test_a_picture_of_a_test_is_kept_like_a_build(catalog: FakeCatalog, tmp_path: Path) -> None:
    cat = picture(catalog, b"cat")
    _, path = await fetch_each(FileCache(catalog, tmp_path, 1_000_000), cat, cat)
    assert (path.name, path.read_bytes(), catalog.reads) == (f"{cat.sha256}.png", b"cat", 1)


async def test_a_file_name_cannot_escape_the_folder(catalog: FakeCatalog, tmp_path: Path) -> None:
    app = build(catalog, "one", b"x", "../../etc/passwd/..%2f.a/b")
    [path] = await fetch_each(FileCache(catalog, tmp_path, 1_000_000), app)
    assert path.parent == tmp_path


@pytest.mark.parametrize(
    ("wanted", "stored", "limit", "message"),
    [
        (build, None, 100, "Build not found"),
        (build, b"evil", 100, "differs from the uploaded one"),
        (build, b"x" * 50_000, 3000, "worker's file cache"),
        (picture, None, 100, "The catalog did not deliver the file media/cat.png: "),
        (picture, b"dog", 100, "The downloaded file media/cat.png differs from the uploaded one"),
        (picture, b"cat", 2, "The file media/cat.png is larger than the worker's file cache"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_and_not_kept(
    catalog: FakeCatalog, tmp_path: Path, wanted: object, stored: bytes | None, limit: int, message: str
) -> None:
    good = b"x" * 50_000 if limit == 3000 else b"cat"
    file = picture(catalog, good) if wanted is picture else build(catalog, "one", good)
    [name] = catalog.files
    catalog.files = {name: stored} if stored is not None else {}
    files = FileCache(catalog, tmp_path, limit)
    failure = await refusal(files, file)
    assert (failure.category, message in failure.message) == (Category.ARTIFACT_INVALID, True)
    assert on_disk(tmp_path) == set()
    if limit == 100:
        catalog.files[name] = good
        assert (await fetch_each(files, file))[0].read_bytes() == good


async def test_an_outage_of_the_catalog_is_waited_out(catalog: FakeCatalog, tmp_path: Path) -> None:
    catalog.outages = [*OUTAGES]
    await fetch_each(FileCache(catalog, tmp_path, 1_000_000), build(catalog, "one", b"app"))
    assert on_disk(tmp_path) == {b"app"}


async def test_an_outage_longer_than_the_run_is_a_network_error(catalog: FakeCatalog, tmp_path: Path) -> None:
    catalog.outages = [*OUTAGES]
    failure = await refusal(FileCache(catalog, tmp_path, 1_000_000), build(catalog, "one", b"app"), until=0.0)
    assert failure.category is Category.NETWORK_ERROR
    assert failure.message == "The catalog did not deliver the build's file: connections to all backends failing."


async def test_the_least_recently_used_file_is_evicted(catalog: FakeCatalog, tmp_path: Path) -> None:
    a, b, c = (build(catalog, name, name.encode() * 2000) for name in "abc")
    await fetch_each(FileCache(catalog, tmp_path, 5000), a, b, a, c)
    assert on_disk(tmp_path) == {b"a" * 2000, b"c" * 2000}


async def test_a_file_in_use_is_never_evicted(catalog: FakeCatalog, tmp_path: Path) -> None:
    a, b, c = (build(catalog, name, name.encode() * 2000) for name in "abc")
    files = FileCache(catalog, tmp_path, 4000)
    with files.open_files(until=inf) as one, files.open_files(until=inf) as other:
        await one(a)
        await other(b)
        with pytest.raises(DeviceFailure, match="full of files that other runs use") as raised:
            await other(c)
        assert raised.value.category is Category.DEVICE_UNAVAILABLE
        assert on_disk(tmp_path) == {b"a" * 2000, b"b" * 2000}
    await fetch_each(files, c)
    assert len(on_disk(tmp_path)) == 2


async def test_files_survive_a_restart_and_partial_downloads_do_not(catalog: FakeCatalog, tmp_path: Path) -> None:
    old, new = (build(catalog, name, name.encode() * 2000) for name in "ab")
    aged, _ = await fetch_each(FileCache(catalog, tmp_path, 1_000_000), old, new)
    os.utime(aged, (1, 1))
    (tmp_path / "unfinished.part").write_bytes(b"x")
    await fetch_each(FileCache(catalog, tmp_path, 3000), new)
    assert (catalog.reads, on_disk(tmp_path)) == (2, {b"b" * 2000})


async def test_a_file_deleted_from_disk_is_downloaded_again(catalog: FakeCatalog, tmp_path: Path) -> None:
    app = build(catalog, "one", b"x" * 100)
    with FileCache(catalog, tmp_path, 1_000_000).open_files(until=inf) as fetch:
        (await fetch(app)).unlink()
        assert (await fetch(app)).read_bytes() == b"x" * 100


async def test_a_disk_error_is_an_infrastructure_failure(catalog: FakeCatalog, tmp_path: Path) -> None:
    app, folder = build(catalog, "one", b"x" * 100), tmp_path / "files"
    files = FileCache(catalog, folder, 1_000_000)
    [path] = await fetch_each(files, app)
    path.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder should be")
    failure = await refusal(files, app)
    assert (failure.category, "cannot store files" in failure.message) == (Category.DEVICE_UNAVAILABLE, True)
