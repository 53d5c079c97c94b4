"""Baselines of assertScreenshot: one for each test, name and form of device."""

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import PurePosixPath

BASELINES_LIMIT = 100
"""Of a test."""

BASELINE_BYTES = 8 * 1024 * 1024

_KEY = r"[a-z0-9-]{1,16}_[a-z]+-[0-9]+x[0-9]+_[0-9a-f]{12}"
_ACTUAL = re.compile(rf"attempt-[0-9]+-step-[0-9]+-({_KEY})-actual\.png")


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


def baseline_key(name: str, form: str) -> str:
    """The key of a baseline within its test: readable, and unique for its name ("home.png") and form
    ("android-1080x2400").
    """
    stem = re.sub(r"[^a-z0-9]+", "-", PurePosixPath(name).stem.lower())[:16] or "-"
    return f"{stem}_{form}_{sha256(name.encode()).hexdigest()[:12]}"


def is_baseline_key(text: str) -> bool:
    return re.fullmatch(_KEY, text) is not None


def key_of_artifact(artifact_name: str) -> str | None:
    """The key of the baseline with which this picture was compared; None for any other artifact."""
    found = _ACTUAL.fullmatch(artifact_name)
    return found[1] if found is not None else None
