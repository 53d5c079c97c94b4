"""How long an execution takes when its longest runs start first, against a random order and the best that is possible.

A simulation in virtual time: slots take runs in the order of starts (`model/claim_order.py`), computed from earlier
executions' durations. Durations are lognormal (a few tests take many times the median, as in UI suites), vary between
executions, and one test in ten is new. `python -m benchmarks.ordering`.
"""

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from services.executor.model.claim_order import claim_orders, smoothed_duration

TESTS = 40
SUITES = 400
PAST = 5
# Sigma of the lognormal over tests: the 95th percentile is 3.7 times the median.
SPREAD = 0.8
# Sigma of one run around its test's usual duration.
NOISE = 0.2
NEW = 0.1


@dataclass(frozen=True, slots=True)
class Makespans:
    """Means over all suites, each relative to the lower bound: total work over slots, and the longest run."""

    longest_first: float
    random_order: float


def makespan(durations: Sequence[float], slots: int) -> float:
    """When the last run ends if each free slot takes the next one."""
    free = [0.0] * slots
    for seconds in durations:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def measure(slots: int, seed: int = 7) -> Makespans:
    chance = random.Random(seed)
    rows = [_suite(chance, slots) for _ in range(SUITES)]
    return Makespans(*(mean(column) for column in zip(*rows, strict=True)))


def _suite(chance: random.Random, slots: int) -> tuple[float, float]:
    usual = [60 * chance.lognormvariate(0, SPREAD) for _ in range(TESTS)]
    expected = [None if chance.random() < NEW else _past(chance, seconds) for seconds in usual]
    today = [seconds * chance.lognormvariate(0, NOISE) for seconds in usual]
    bound = max(sum(today) / slots, max(today))
    by_turn = [seconds for _, seconds in sorted(zip(claim_orders(expected), today, strict=True))]
    shuffled = chance.sample(today, len(today))
    return makespan(by_turn, slots) / bound, makespan(shuffled, slots) / bound


def _past(chance: random.Random, usual: float) -> float:
    seconds: float | None = None
    for _ in range(PAST):
        seconds = smoothed_duration(usual * chance.lognormvariate(0, NOISE), seconds)
    return seconds or usual


def main() -> None:
    print(f"{SUITES} suites of {TESTS} tests, makespan over the lower bound (1 is the best possible).\n")
    print("| slots | longest first | random order | ratio |\n| --- | --- | --- | --- |")
    for slots in (4, 8):
        makespans = measure(slots)
        ratio = makespans.longest_first / makespans.random_order
        print(f"| {slots} | {makespans.longest_first:.3f} | {makespans.random_order:.3f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
