"""The keys of the pictures with which assertScreenshot compares: one for each name and form of device of a test."""

import re
from hashlib import sha256
from pathlib import PurePosixPath

_KEY = r"[a-z0-9-]{1,16}_[a-z]+-[0-9]+x[0-9]+_[0-9a-f]{12}"
_ACTUAL = re.compile(rf"attempt-[0-9]+-step-[0-9]+-({_KEY})-actual\.png")


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
    match = _ACTUAL.fullmatch(artifact_name)
    return match[1] if match is not None else None
