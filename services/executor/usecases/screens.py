"""Shows what is kept of screens."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.model.results import TREE
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.context import current
from services.chassis.errors import NotFound
from services.chassis.fair_turns import FairTurns
from services.executor.model.screens import SCREEN_BYTES, ScreenKey, StoredScreen
from services.executor.ports.screens import SCREEN_NOT_FOUND, Screens
from services.executor.usecases.held_contents import HeldContents

SCREEN_UNREADABLE = "SCREEN_UNREADABLE"
JSON = "application/json"


class Trees(Protocol):
    """Makes JSON of stored trees."""

    async def read(self, org_id: str, stored: bytes) -> bytes | None:
        """None if the tree is damaged or too large.

        Raises:
            ResourceExhausted: too many requests wait.
            Unavailable: too many wait.
        """


@dataclass(frozen=True, slots=True)
class ScreenDownload:
    """The part that was asked for, in chunks. `object_key` is where it is stored, None for what is stored otherwise."""

    content_type: str
    part: FilePart
    chunks: AsyncIterator[bytes]
    object_key: str | None = None


class ScreenUseCases:
    """The screens of the caller's organisation."""

    def __init__(self, screens: Screens, trees: Trees, held: HeldContents) -> None:
        self._screens = screens
        self._trees = trees
        self._held = held
        # Taken before trees are read, which have memory while they wait.
        self._turns = FairTurns(4, per_org=2, waiting_per_org=32, waiting=128)

    async def download(self, hash: str, asked: ByteRange | None = None) -> ScreenDownload:
        """The elements or the picture, or a part of it.

        Raises:
            NotFound: it was never kept or is deleted, or the elements cannot be read.
            InvalidArgument: as in `find_part`.
            ResourceExhausted: too many requests for elements wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        screen = await self._screens.find(ScreenKey(current().org_id, hash))
        if screen is None:
            raise NotFound("Screen not found", reason=SCREEN_NOT_FOUND)
        if screen.content_type == TREE:
            elements = await self._elements(screen)
            part = find_part(asked, size=len(elements), etag=hash)
            return ScreenDownload(JSON, part, self._held.send(elements[part.start : part.end]))
        part = find_part(asked, size=screen.size_bytes, etag=hash)
        return ScreenDownload(screen.content_type, part, self._screens.read(screen, part), screen.object_key)

    async def _elements(self, screen: StoredScreen) -> bytes:
        elements = None
        if screen.size_bytes <= SCREEN_BYTES:
            async with self._turns.take(screen.key.org_id):
                stored = b"".join([chunk async for chunk in self._screens.read(screen)])
                elements = await self._trees.read(screen.key.org_id, stored)
        if elements is None:
            raise NotFound("The stored elements of the screen cannot be read", reason=SCREEN_UNREADABLE)
        return elements


async def read_screen(screens: Screens, hash: str, content_type: str | None = None) -> bytes | None:
    """All of a screen of the caller's organisation; None if it is not stored any more, too large or of another type.

    Raises:
        Unavailable: the storage does not answer.
    """
    screen = await screens.find(ScreenKey(current().org_id, hash))
    if screen is None or screen.size_bytes > SCREEN_BYTES or content_type not in (None, screen.content_type):
        return None
    return await read_whole(screens.read(screen))


async def read_whole(chunks: AsyncIterator[bytes]) -> bytes | None:
    """All chunks; None if what they are read from is not stored any more."""
    try:
        return b"".join([chunk async for chunk in chunks])
    except NotFound:
        return None
