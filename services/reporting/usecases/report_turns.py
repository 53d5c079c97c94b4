"""The turns of organisations at composing reports, whose cost grows with the tests of an app, and at polling."""

from contextlib import AbstractAsyncContextManager

from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

# A turn at polling has a pause in it (see Polls), so these are also bounds on the reads a second.
POLLS_AT_ONCE, POLLS_OF_ORG = 10, 3


class ReportTurns:
    """Take one after waiting for what is not known yet: who has a turn works. See FairTurns for the refusals."""

    def __init__(self, at_once: int = 4, *, per_org: int = 1, waiting_per_org: int = 64, waiting: int = 512) -> None:
        self._turns = FairTurns(at_once, per_org=per_org, waiting_per_org=waiting_per_org, waiting=waiting)
        self._polls = FairTurns(POLLS_AT_ONCE, per_org=POLLS_OF_ORG, waiting_per_org=None, waiting=None)

    def take(self) -> AbstractAsyncContextManager[None]:
        """A turn of the caller's organisation inside the block. ResourceExhausted, Unavailable."""
        return self._turns.take(current().org_id)

    def poll(self) -> AbstractAsyncContextManager[None]:
        """A turn of the caller's organisation at polling, which is never refused."""
        return self._polls.take(current().org_id)
