"""What people write about groups of failures, as the catalog tells it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# Of a note, where many may be shown.
NOTE_SHOWN = 200


class FailureState(StrEnum):
    """What people know about a failure; the values are those of the contract."""

    OPEN = "open"
    KNOWN = "known"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class TriageSnapshot:
    """What was written about the failures of an app with a fingerprint; None is nothing."""

    app_id: str
    fingerprint: str
    org_id: str
    revision: int
    state: FailureState
    fixed_in: str | None
    note: str | None
    ticket_url: str | None
    owner: str | None
    updated_by: str | None
    updated_at: datetime | None

    @property
    def empty(self) -> bool:
        """Whether all that was written was removed again."""
        return self.state is FailureState.OPEN and not (self.note or self.ticket_url or self.owner)
