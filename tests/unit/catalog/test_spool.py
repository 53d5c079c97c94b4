"""Files on their way in: whole or not there, and never larger than allowed."""

import os
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from services.catalog.spool import LEFTOVER_SECONDS, Spool, read
from services.chassis.errors import InvalidArgument


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """A file in parts."""
    for part in parts:
        yield part


def inside(folder: Path) -> list[Path]:
    """The files of a folder."""
    return sorted(folder.iterdir())


async def test_a_file_is_there_while_it_is_needed(tmp_path: Path) -> None:
    """With its size and hash; gone afterwards."""
    async with Spool(tmp_path, max_bytes=6).receive(chunks(b"abc", b"", b"def")) as file:
        assert (file.size, file.sha256) == (6, sha256(b"abcdef").hexdigest())
        assert [part async for part in read(file.path)] == [b"abcdef"]
    assert inside(tmp_path) == []


async def test_a_file_that_is_too_large_is_cut_off(tmp_path: Path) -> None:
    """At the first byte too many."""
    with pytest.raises(InvalidArgument) as refusal:
        async with Spool(tmp_path, max_bytes=5).receive(chunks(b"abc", b"def", b"never read")):
            pass
    assert refusal.value.reason == "ARTIFACT_TOO_LARGE"
    assert inside(tmp_path) == []


async def test_leftovers_of_killed_processes_are_discarded(tmp_path: Path) -> None:
    """Files of uploads that go on, and of others, stay."""
    spool = Spool(tmp_path, max_bytes=5)
    async with spool.receive(chunks(b"abc")) as file:
        old = file.path.with_name(file.path.name + "-old")
        other = tmp_path / "other"
        for path in (old, other):
            path.write_bytes(b"x")
            os.utime(path, (0, file.path.stat().st_mtime - LEFTOVER_SECONDS - 1))
        spool.prepare()
        assert inside(tmp_path) == sorted([file.path, other])
