"""Where a file waits for its description."""

import errno
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile

import pytest

from services.chassis.errors import Unavailable
from services.gateway.handlers.spool import Spool


class FullDisk(SpooledTemporaryFile[bytes]):
    """Has no room."""

    def write(self, content: bytes) -> int:  # type: ignore[override]
        raise OSError(errno.ENOSPC, "No space left on device")


async def chunks() -> AsyncIterator[bytes]:
    yield b"content"


async def test_a_full_disk_is_no_error_of_ours_but_unavailable() -> None:
    with FullDisk() as file, pytest.raises(Unavailable):
        await Spool(file).fill(chunks())
