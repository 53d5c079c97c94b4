"""What is made in memory for one caller, such as a report or a video: bounds how much of it callers leave unread."""

from collections.abc import AsyncIterator

from services.chassis.context import current
from services.chassis.errors import Unavailable
from services.chassis.unread_answers import UnreadAnswers

# Of all contents that are being sent; a single one has at most 48 MiB.
ORGANISATION_BYTES, PROCESS_BYTES = 64 * 1024 * 1024, 128 * 1024 * 1024
# Bytes in one message.
CHUNK_BYTES = 1024 * 1024
GIVEN_UP = "Too much of such downloads is left unread: read them faster, or fewer at once"


class HeldContents:
    """Contents on their way to callers. Beyond the limits, those that have waited longest are given up."""

    def __init__(self, *, organisation_bytes: int = ORGANISATION_BYTES, process_bytes: int = PROCESS_BYTES) -> None:
        self._unread = UnreadAnswers(organisation_bytes, process_bytes)

    async def send(self, content: bytes) -> AsyncIterator[bytes]:
        """The content in pieces that each fit into a message.

        Raises:
            Unavailable: it was given up.
        """
        held, size = _Held(content), len(content)
        del content  # or it would stay in memory after it was given up
        self._unread.hold(held, current().org_id, size)
        try:
            for first in range(0, size, CHUNK_BYTES):
                if held.content is None:
                    raise Unavailable(GIVEN_UP, reason="UNREAD")
                yield held.content[first : first + CHUNK_BYTES]
        finally:
            self._unread.release(held)


class _Held:
    """One content, until it is given up."""

    def __init__(self, content: bytes) -> None:
        self.content: bytes | None = content

    def abort(self) -> None:
        self.content = None
