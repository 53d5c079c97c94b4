"""The order in which the runs of one execution are claimed: longest expected duration first.

A long run that starts last delays the end of the execution (Graham 1969: longest first is within 4/3 of the optimum).
"""

from collections.abc import Sequence
from statistics import median

WEIGHT_OF_NEWEST = 0.3
"""The weight of a new duration against the smoothed earlier ones."""


def smoothed_duration(seconds: float, before: float | None) -> float:
    """The exponentially weighted duration after a run of `seconds`; `before` is None for the first."""
    return seconds if before is None else before + WEIGHT_OF_NEWEST * (seconds - before)


def claim_turns(expected: Sequence[float | None]) -> list[int]:
    """The place of each run, from 0, by its expected seconds; an unknown one (None) counts as the median of the known.

    Equal ones keep their order.
    """
    known = [seconds for seconds in expected if seconds is not None]
    middle = median(known) if known else 0.0
    longest = sorted(range(len(expected)), key=lambda index: -(middle if (e := expected[index]) is None else e))
    places = [0] * len(expected)
    for place, index in enumerate(longest):
        places[index] = place
    return places
