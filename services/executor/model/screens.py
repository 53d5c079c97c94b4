"""What is kept of screens: elements and pictures, each under the hash of its content, once in an organisation."""

from dataclasses import dataclass
from datetime import date

from mobiletest_automation.model.results import TREE, WEBP

CONTENT_TYPES = frozenset((TREE, WEBP))

# Of one tree or picture.
SCREEN_BYTES = 8 * 1024 * 1024
# What each counts beside its own bytes, for its document and its object.
OVERHEAD_BYTES = 1024


@dataclass(frozen=True, slots=True)
class ScreenKey:
    """A tree or picture of an organisation; `hash` has 32 hexadecimal digits."""

    org_id: str
    hash: str


@dataclass(frozen=True, slots=True)
class StoredScreen:
    """A kept tree or picture, last referred to on the day `used_on` (UTC).

    `object_key` is its key in the object store, which no other one has ever had.
    """

    key: ScreenKey
    content_type: str
    size_bytes: int
    used_on: date
    object_key: str

    @property
    def counted_bytes(self) -> int:
        """As how many bytes it counts."""
        return self.size_bytes + OVERHEAD_BYTES
