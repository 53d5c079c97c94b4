"""Compares servers under the same load in turns: requests a second, their ratio, and CPU per request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.load import Load, Target, measure
from benchmarks.processes import cpu_of_each, wait_until_quiet

ROUNDS = 3
SECONDS = 3.0
WARM_SECONDS = 1.0

Requests = Callable[[Target], Sequence[bytes]]


class DifferentAnswers(Exception):
    """Sides answered the same request differently."""


@dataclass(frozen=True, slots=True)
class Side:
    """A server that takes part, and the pids of all processes that work for it, by name."""

    name: str
    target: Target
    processes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Turn:
    """A measurement of one side. `cpu`: milliseconds per request of each process, background work included."""

    load: Load
    cpu: dict[str, float]


@dataclass(slots=True)
class Comparison:
    """The turns of each side, by its name; the n-th turns of all sides belong to the same round."""

    name: str
    turns: dict[str, list[Turn]] = field(default_factory=dict)

    def rate(self, side: str) -> float:
        """The median of requests a second."""
        return median(turn.load.requests_per_second for turn in self.turns[side])

    def ratio(self, side: str, other: str) -> float:
        """The median of the rounds' ratios."""
        pairs = zip(self.turns[side], self.turns[other], strict=True)
        return median(mine.load.requests_per_second / its.load.requests_per_second for mine, its in pairs)

    def cpu(self, side: str) -> dict[str, float]:
        """The medians of CPU milliseconds per request of each process."""
        turns = self.turns[side]
        return {name: median(turn.cpu[name] for turn in turns) for name in turns[0].cpu}


async def compare(name: str, sides: Sequence[Side], requests: Requests, rounds: int = ROUNDS) -> Comparison:
    """Measure all sides in turns, in another order each round.

    Raises:
        UnexpectedAnswer: one refuses a request.
    """
    supplies = {side.name: requests(side.target) for side in sides}
    for side in sides:
        await measure(side.target, supplies[side.name], seconds=WARM_SECONDS)
        await wait_until_quiet(side.processes)
    compared = Comparison(name, {side.name: [] for side in sides})
    for number in range(rounds):
        first = number % len(sides)
        for side in (*sides[first:], *sides[:first]):
            compared.turns[side.name].append(await _turn(side, supplies[side.name]))
    return compared


async def _turn(side: Side, supply: Sequence[bytes]) -> Turn:
    """Measure, then let the work end that the requests left behind: the next turn belongs to another side."""
    before = cpu_of_each(side.processes)
    load = await measure(side.target, supply, seconds=SECONDS)
    await wait_until_quiet(side.processes)
    after = cpu_of_each(side.processes)
    return Turn(load, {name: (after[name] - before[name]) * 1000 / load.requests for name in after})


def show(compared: Sequence[Comparison]) -> None:
    """Print Markdown: a row for each side of each comparison."""
    print("\n| Requests | Side | Requests/s | p50 / p99 ms | CPU ms per request |\n| --- | --- | --- | --- | --- |")
    for comparison in compared:
        for side, turns in comparison.turns.items():
            p50, p99 = (median(getattr(turn.load, name) for turn in turns) for name in ("p50", "p99"))
            print(f"| {comparison.name} | {side} | {comparison.rate(side):,.0f} | {p50:.1f} / {p99:.1f} | ", end="")
            generator = median(turn.load.generator for turn in turns)
            costs = comparison.cpu(side) | {"load generator": generator}
            print(", ".join(f"{name} {cost:.2f}" for name, cost in costs.items() if cost >= 0.005), "|", flush=True)
