"""Quarantine: a test whose failures count and show, and do not block a gate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why, until when, set by whom, since when; `until` may lie in the past."""

    reason: str
    until: datetime
    by: str
    since: datetime


def active_quarantine(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine while it lasts; None when there is none or it is over."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def active_quarantines(known: Mapping[str, Quarantine | None], now: datetime) -> dict[str, Quarantine]:
    """Those that last, by test."""
    return {test_id: quarantine for test_id, quarantine in known.items() if quarantine and quarantine.until > now}
