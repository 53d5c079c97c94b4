"""Baselines of assertScreenshot: one for each test, name and form of device."""

from dataclasses import dataclass
from datetime import datetime

# Of a test.
BASELINES_LIMIT = 100

BASELINE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Baseline:
    """An accepted picture; `key` is that of `baseline_key`, `sha256` in hexadecimal digits."""

    org_id: str
    test_id: str
    key: str
    size_bytes: int
    sha256: str
    accepted_at: datetime

    @property
    def form(self) -> str:
        """The form of the devices that it is for: "android-1080x2400"."""
        return self.key.split("_")[1]
