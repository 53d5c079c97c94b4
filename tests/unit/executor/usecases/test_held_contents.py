"""What is made in memory for callers and not read by them is bounded."""

from collections.abc import AsyncIterator

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import Unavailable
from services.executor.usecases.held_contents import CHUNK_BYTES, HeldContents

CONTENT_BYTES = 2 * CHUNK_BYTES


@pytest.fixture
def held() -> HeldContents:
    return HeldContents(organisation_bytes=2 * CONTENT_BYTES, process_bytes=3 * CONTENT_BYTES)


async def begin(held: HeldContents, org_id: str = "org-1") -> AsyncIterator[bytes]:
    """A download of which the caller has read the first piece."""
    with bind(Caller(org_id)):
        chunks = held.send(bytes(CONTENT_BYTES))
        await anext(chunks)
    return chunks


async def test_the_oldest_download_of_an_organisation_is_given_up(held: HeldContents) -> None:
    first, second, third = [await begin(held) for _ in range(3)]
    other = await begin(held, "org-2")
    with pytest.raises(Unavailable, match="left unread"):
        await anext(first)
    for chunks in (second, third, other):
        assert [len(chunk) async for chunk in chunks] == [CHUNK_BYTES]


async def test_what_was_read_counts_no_more(held: HeldContents) -> None:
    for _ in range(5):
        assert [len(chunk) async for chunk in await begin(held)] == [CHUNK_BYTES]
