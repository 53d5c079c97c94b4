"""Quarantine: the failures of a test are counted and shown, but do not block a gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Quarantine:
    """`by` is who set it; `until` may be in the past."""

    reason: str
    until: datetime
    by: str
    since: datetime


def active_quarantine(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine if it has not expired."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def active_quarantines(known: Mapping[str, Quarantine | None], now: datetime) -> dict[str, Quarantine]:
    """The quarantines that have not expired, by test."""
    return {test_id: quarantine for test_id, quarantine in known.items() if quarantine and quarantine.until > now}
