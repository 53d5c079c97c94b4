"""The turns of organisations at composing reports, whose cost grows with the tests of an app."""

from contextlib import AbstractAsyncContextManager

from services.chassis.context import current
from services.chassis.fair_turns import FairTurns


class ReportTurns:
    """Take one after waiting for what is not known yet: who has a turn works. See FairTurns for the refusals."""

    def __init__(self, at_once: int = 4, *, per_org: int = 1, waiting_per_org: int = 64, waiting: int = 512) -> None:
        self._turns = FairTurns(at_once, per_org=per_org, waiting_per_org=waiting_per_org, waiting=waiting)

    def take(self) -> AbstractAsyncContextManager[None]:
        """A turn of the caller's organisation inside the block. ResourceExhausted, Unavailable."""
        return self._turns.take(current().org_id)
