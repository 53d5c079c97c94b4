"""Quarantine: for a while, failures of a test count and show, and do not block a gate. Why: docs/decisions/."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from services.catalog.model.refusals import Refused
from services.catalog.model.text import checked_text

DEFAULT_DAYS = 14
MOST_DAYS = 366
REASON_LIMIT = 1000
INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Why, until when, set by whom, since when; `until` may lie in the past: nothing is written when it is over."""

    reason: str
    until: datetime
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client says of a quarantine, and who it is; without an end it gets the usual one."""

    reason: str
    until: datetime | None
    by: str


def lasting(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine while it lasts; None when there is none or it is over."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def granted(wish: Wish, before: Quarantine | None, now: datetime) -> Quarantine:
    """The quarantine from now on; one that still lasted goes on, so it keeps its beginning. Refused."""
    present = lasting(before, now)
    return Quarantine(
        reason=checked_text(wish.reason, "reason", REASON_LIMIT),
        until=_checked_end(wish.until, now),
        by=wish.by,
        since=present.since if present else now,
    )


def _checked_end(until: datetime | None, now: datetime) -> datetime:
    if until is None:
        return now + timedelta(days=DEFAULT_DAYS)
    if until <= now:
        raise Refused("until", "must lie in the future")
    if until > now + timedelta(days=MOST_DAYS):
        raise Refused("until", f"must lie at most {MOST_DAYS} days ahead: a quarantine ends, and may be renewed then")
    return until
