"""Files on their way in: whole or not there, and never larger than allowed."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from services.catalog.spool import LEFTOVER_SECONDS, PORTION_BYTES, UploadSpool
from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument, ResourceExhausted, Unavailable
from tests.fakes.catalog_samples import chunks


def spool_of(folder: Path, max_bytes: int, capacity: int = 1 << 30) -> UploadSpool:
    return UploadSpool(folder, max_bytes=max_bytes, capacity=capacity)


async def never(read: list[bytes]) -> AsyncIterator[bytes]:
    """A file that notes in `read` that it was read."""
    read.append(b"")
    yield b"x"


def inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def test_a_file_is_there_while_it_is_needed(tmp_path: Path) -> None:
    async with spool_of(tmp_path, 6).receive(chunks(b"abc", b"", b"def")) as file:
        assert (file.size, file.sha256) == (6, sha256(b"abcdef").hexdigest())
        assert await asyncio.to_thread(file.path.read_bytes) == b"abcdef"
    assert inside(tmp_path) == []


async def test_a_file_that_is_too_large_is_cut_off(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        async with spool_of(tmp_path, 5).receive(chunks(b"abc", b"def", b"never read")):
            pass
    assert refusal.value.reason == "ARTIFACT_TOO_LARGE"
    assert inside(tmp_path) == []


async def test_leftovers_of_killed_processes_are_discarded(tmp_path: Path) -> None:
    """Files of uploads that go on, however old, and of others, stay."""
    spool = spool_of(tmp_path, 5)
    async with spool.receive(chunks(b"abc")) as file:
        left = file.path.with_name(file.path.name + "-left")
        new = file.path.with_name(file.path.name + "-new")
        other = tmp_path / "other"
        for path in (left, new, other):
            path.write_bytes(b"x")
        for path in (left, other, file.path):
            os.utime(path, (0, time.time() - LEFTOVER_SECONDS - 1))
        spool.prepare()
        assert inside(tmp_path) == sorted([file.path, new, other])


async def test_uploads_at_the_same_time_share_the_capacity(tmp_path: Path) -> None:
    """One that does not fit is refused before its bytes are read, and fits when another has ended."""
    spool, read_from = spool_of(tmp_path, 10, capacity=12), list[bytes]()
    async with spool.receive(chunks(b"abcdefgh"), expected=8):
        with pytest.raises(Unavailable, match="MOBILETEST_SPOOL_BYTES") as refusal:
            async with spool.receive(never(read_from), expected=5):
                pass
        assert (refusal.value.reason, refusal.value.retry_after, read_from) == ("SPOOL_FULL", 10.0, [])
        async with spool.receive(chunks(b"abcd"), expected=4) as file:
            assert file.size == 4
    async with spool.receive(chunks(b"abcdefgh"), expected=10) as file:
        assert file.size == 8


async def test_an_organisation_leaves_room_to_others(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, 1, capacity=8 * PORTION_BYTES)
    with bind(Caller("org-1")):
        async with spool.receive(chunks(b"a")), spool.receive(chunks(b"a")):
            with pytest.raises(ResourceExhausted, match="spool_bytes") as refusal:
                async with spool.receive(chunks(b"a")):
                    pass
            with bind(Caller("org-2")):
                async with spool.receive(chunks(b"a")) as file:
                    assert file.size == 1
        async with spool.receive(chunks(b"a")):
            assert refusal.value.retry_after == 10.0


async def test_a_file_larger_than_expected_takes_more_room_or_is_cut_off(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, PORTION_BYTES, capacity=PORTION_BYTES + 1)
    async with spool.receive(chunks(b"abc"), expected=1) as file:
        assert file.size == 3
        with pytest.raises(Unavailable):
            async with spool.receive(chunks(b"a"), expected=1):
                pass
    async with spool.receive(chunks(b"a"), expected=1), spool.receive(chunks(b"a"), expected=1):
        with pytest.raises(Unavailable):
            async with spool.receive(chunks(b"ab"), expected=1):
                pass
    assert inside(tmp_path) == []


async def test_the_announced_size_of_one_file_is_at_most_the_allowed_one(tmp_path: Path) -> None:
    """The request around a file is a bit larger than the file."""
    async with spool_of(tmp_path, 3, capacity=3).receive(chunks(b"abc"), expected=400) as file:
        assert file.size == 3
