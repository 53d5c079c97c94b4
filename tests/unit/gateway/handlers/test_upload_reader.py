"""An upload has to have a minimum average rate."""

from itertools import repeat

import pytest

from services.gateway.handlers.upload_reader import UploadReader
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings
from tests.fakes.gateway import TOKEN

RATE, GRACE = 1000, 30


class SlowBody:
    """A body whose chunks take a second each to arrive, on a clock of its own."""

    def __init__(self, *chunks: bytes) -> None:
        self.now = 0.0
        self._chunks = list(chunks)

    async def readany(self) -> bytes:
        if not self._chunks:
            return b""
        self.now += 1
        return self._chunks.pop(0)


async def receive(body: SlowBody, *, seconds_per_chunk: float = 0, rate: int = RATE) -> int:
    """The size of the body, whose receiver takes so long for each chunk."""
    settings = Settings(
        service_token=TOKEN,  # type: ignore[arg-type]
        object_store="memory:///",
        idle_timeout_seconds=GRACE,
        min_upload_bytes_per_second=rate,
    )
    reader, size = UploadReader(body, settings, clock=lambda: body.now), 0  # type: ignore[arg-type]
    async for chunk in reader.chunks():
        size += len(chunk)
        body.now += seconds_per_chunk
    return size


async def test_a_byte_a_second_is_refused_after_the_grace() -> None:
    body = SlowBody(*repeat(b"x", 1000))
    with pytest.raises(HttpError, match="slower than 1000 bytes per second") as refused:
        await receive(body)
    assert (refused.value.status, refused.value.code, body.now) == (408, "BODY_TOO_SLOW", GRACE + 1)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"x" * RATE] * 1000,
        [b"x"] * GRACE,
        [b"x" * RATE * 100, *[b"x"] * 100],
    ],
    ids=["steady", "within the grace", "slow at the end"],
)
async def test_a_fast_enough_upload_is_received(chunks: list[bytes]) -> None:
    assert await receive(SlowBody(*chunks)) == sum(map(len, chunks))


async def test_a_slow_receiver_does_not_make_the_client_slow() -> None:
    assert await receive(SlowBody(*repeat(b"x", GRACE)), seconds_per_chunk=1000) == GRACE


async def test_a_rate_of_0_allows_any() -> None:
    assert await receive(SlowBody(*repeat(b"x", 1000)), rate=0) == 1000
