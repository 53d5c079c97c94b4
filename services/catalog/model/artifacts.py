"""Uploaded files: what they are known by, and what they say of themselves."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Received:
    """A file that has arrived whole: where it lies until it is stored, its SHA-256 (hexadecimal) and size in bytes."""

    path: Path
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an artifact says of itself, None where it says nothing; `error` says why it could not be read."""

    package_name: str | None = None
    version: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Hostile:
    """An artifact that no build tool makes (a zip bomb); `reason` says which limit it breaks."""

    reason: str
