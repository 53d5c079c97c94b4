"""What people write about groups of failures: of an app, those with the same fingerprint."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from services.catalog.model.text import validate_text, validate_version
from services.catalog.model.values import InvalidValue

# Groups of an organisation of which something is written.
TRIAGES_LIMIT = 5_000
NOTE_LENGTH, OWNER_LENGTH, TICKET_LENGTH = 2_000, 100, 2_000
# Nothing with which the address could end early where it is shown.
_TICKET = re.compile(r"https?://[^\s<>\"'`\\|]+", re.IGNORECASE | re.UNICODE)
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
# The revision that is shown of a group of which nothing was ever written.
FIRST_REVISION = 1


class FailureState(StrEnum):
    """What is known about a failure; the values are those of the contract."""

    OPEN = "open"
    KNOWN = "known"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class FailureTriage:
    """What was written about a group of failures; None is nothing. One of which nothing is left stays, with its
    revision.
    """

    org_id: str
    app_id: str
    fingerprint: str
    state: FailureState = FailureState.OPEN
    fixed_in: str | None = None
    note: str | None = None
    ticket_url: str | None = None
    owner: str | None = None
    updated_by: str | None = None
    updated_at: datetime | None = None
    revision: int = FIRST_REVISION

    @property
    def empty(self) -> bool:
        """Whether nothing is written."""
        return self.state is FailureState.OPEN and not (self.note or self.ticket_url or self.owner)


def validate_fingerprint(text: str) -> str:
    """The fingerprint.

    Raises:
        InvalidValue: it has not the form of one.
    """
    if _FINGERPRINT.fullmatch(text) is None:
        raise InvalidValue("fingerprint", "must be 16 hexadecimal digits, as reports have them")
    return text


def validate_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The new values of fields, trimmed and normalized.

    Raises:
        InvalidValue: one cannot be written.
    """
    values = dict(changes)
    if "state" in values:
        values["state"] = values["state"] or FailureState.OPEN
    if values.get("fixed_in") is not None:
        values["fixed_in"] = validate_version(values["fixed_in"], "fixed_in")
    if values.get("note") is not None:
        values["note"] = validate_text(values["note"], "note", NOTE_LENGTH, lines=True)
    if values.get("owner") is not None:
        values["owner"] = validate_text(values["owner"], "owner", OWNER_LENGTH)
    if values.get("ticket_url") is not None:
        values["ticket_url"] = _validate_ticket(values["ticket_url"])
    return values


def _validate_ticket(url: str) -> str:
    text = validate_text(url, "ticket_url", TICKET_LENGTH)
    if _TICKET.fullmatch(text) is None:
        raise InvalidValue("ticket_url", "must be an address that begins with http:// or https://", "url_scheme")
    return text


def change_triage(triage: FailureTriage, values: Mapping[str, Any]) -> FailureTriage:
    """The triage with these values; another state than fixed removes `fixed_in`.

    Raises:
        InvalidValue: a version in which it was fixed, without that state.
    """
    changed = replace(triage, **values)
    if changed.state is FailureState.FIXED or changed.fixed_in is None:
        return changed
    if values.get("fixed_in") is not None:
        raise InvalidValue("fixed_in", "only failures with the state fixed have one: set the state to fixed, too")
    return replace(changed, fixed_in=None)
