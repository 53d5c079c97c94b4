"""What is known of a step on a stored screen."""

from enum import StrEnum


class Verdict(StrEnum):
    """Whether a step holds on a screen."""

    HOLDS = "holds"
    FAILS = "does_not_hold"
    UNKNOWN = "not_known"
