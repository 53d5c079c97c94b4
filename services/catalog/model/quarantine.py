"""Quarantine: for a limited time, failures of a test are counted and shown but do not block a gate."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from services.catalog.model.text import validate_text
from services.catalog.model.values import InvalidValue

DEFAULT_DAYS = 14
MOST_DAYS = 366
REASON_LIMIT = 1000
INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A quarantine of a test. `until` may lie in the past: expiry needs no job."""

    reason: str
    until: datetime
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class QuarantineRequest:
    """A client's request for a quarantine and who sent it; without `until` the default duration applies."""

    reason: str
    until: datetime | None
    by: str


def active_quarantine(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine if it is still in force, else None."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def grant_quarantine(request: QuarantineRequest, before: Quarantine | None, now: datetime) -> Quarantine:
    """The quarantine from now on; if one is in force, its `since` is kept. InvalidValue."""
    present = active_quarantine(before, now)
    return Quarantine(
        reason=validate_text(request.reason, "reason", REASON_LIMIT),
        until=_validate_end(request.until, now),
        by=request.by,
        since=present.since if present else now,
    )


def _validate_end(until: datetime | None, now: datetime) -> datetime:
    if until is None:
        return now + timedelta(days=DEFAULT_DAYS)
    if until <= now:
        raise InvalidValue("until", "must be in the future")
    if until > now + timedelta(days=MOST_DAYS):
        raise InvalidValue("until", f"must be at most {MOST_DAYS} days ahead; the quarantine can be renewed later")
    return until
