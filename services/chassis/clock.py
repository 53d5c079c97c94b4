"""The clock, a port that tests replace."""

from datetime import UTC, datetime
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """The time, for use-cases."""

    def now(self) -> datetime:
        """The current time: aware, in UTC, in whole milliseconds as MongoDB stores it."""

    def monotonic(self) -> float:
        """Seconds that never go back; only differences are meaningful."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        return truncate_to_milliseconds(datetime.now(UTC))

    def monotonic(self) -> float:
        return monotonic()


def truncate_to_milliseconds(moment: datetime) -> datetime:
    """`moment` in whole milliseconds, which MongoDB stores exactly."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
