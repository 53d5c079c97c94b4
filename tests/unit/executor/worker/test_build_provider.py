"""The beginnings of build files are read once and cached up to a limit."""

import asyncio

import pytest

from services.chassis.errors import NotFound
from services.executor.worker.build_provider import BuildHeadCache
from tests.fakes.executor import FakeCatalog


def catalog(**files: bytes) -> FakeCatalog:
    made = FakeCatalog()
    made.files = dict(files)
    return made


async def test_concurrent_reads_and_builds_with_equal_content_share_one_download() -> None:
    source = catalog(one=b"model", two=b"model")
    files = BuildHeadCache(source, 1000)
    read = await asyncio.gather(*(files.read("org", build, "sha", 100) for build in ("one", "one", "two")))
    assert (read, source.reads) == ([b"model"] * 3, 1)
    assert (await files.read("org", "two", "sha", 100), source.reads) == (b"model", 1)


async def test_the_cache_is_bounded_and_evicts_the_oldest() -> None:
    source = catalog(a=b"x" * 60, b=b"y" * 60)
    files = BuildHeadCache(source, 100)
    for build in ("a", "b", "b", "a"):
        assert len(await files.read("org", build, build, 100)) == 60
    assert source.reads == 3


async def test_a_file_larger_than_the_cache_is_still_read() -> None:
    files = BuildHeadCache(catalog(a=b"x" * 60), 10)
    assert len(await files.read("org", "a", "sha", 100)) == 60


async def test_a_failed_read_is_not_cached() -> None:
    source = catalog()
    files = BuildHeadCache(source, 100)
    with pytest.raises(NotFound):
        await files.read("org", "a", "sha", 100)
    source.files["a"] = b"there now"
    assert await files.read("org", "a", "sha", 100) == b"there now"
