"""Uploads in parts: what has arrived of a file survives broken connections and lost processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

PART_BYTES = 8 * 1024 * 1024
# How long an upload waits for its next part.
KEPT = timedelta(days=1)
# An upload that has waited for so long ends if a new one needs its room.
IDLE = timedelta(minutes=30)
# Uploads in parts that one organisation may have under way.
MOST_UPLOADS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PartUpload:
    """A file of an app that is uploaded in parts; `parts` are the numbers of those that have arrived, from 1.

    Its id becomes that of the build, so that it is completed once, however often that is tried.
    """

    id: str
    org_id: str
    app_id: str
    sha256: str
    size: int
    part_bytes: int
    expires_at: datetime
    parts: frozenset[int] = frozenset()

    @property
    def count(self) -> int:
        """The number of parts."""
        return -(-self.size // self.part_bytes)

    @property
    def missing(self) -> Sequence[int]:
        """The numbers of the parts that have not arrived, in order."""
        return [number for number in range(1, self.count + 1) if number not in self.parts]

    def size_of(self, number: int) -> int:
        """The size of a part."""
        return min(self.part_bytes, self.size - (number - 1) * self.part_bytes)

    def key_of(self, number: int) -> str:
        """The key of a part in the object store."""
        return f"{parts_prefix(self.org_id, self.id)}/{number}"


def parts_prefix(org_id: str, upload_id: str) -> str:
    """What the keys of all parts of an upload begin with."""
    return f"{org_id}/uploads/{upload_id}"
