"""Time as a port, so that tests can hold it still."""

from datetime import UTC, datetime
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """What use-cases need to know about time."""

    def now(self) -> datetime:
        """UTC, aware, whole milliseconds (MongoDB keeps no more)."""

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return truncate_to_milliseconds(datetime.now(UTC))

    def monotonic(self) -> float:
        return monotonic()


def truncate_to_milliseconds(moment: datetime) -> datetime:
    """`moment` without what is below a millisecond: what MongoDB gives back equals what was stored."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
