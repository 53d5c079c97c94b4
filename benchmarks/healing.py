"""How many proposals for steps whose element has changed are right: `python -m benchmarks.healing [SEED ...]`.

Each seed makes 200 changes of app models, of which a third removes the element for good.
"""

import asyncio
import sys
from collections.abc import Sequence

from benchmarks.goals import Goal, show
from tests.unit.automation.stored_screens.mutations import Healing, heal

CASES = 200
SEEDS = (1, 2, 3)
LEAST_SHARE = 0.7


async def goals(seeds: Sequence[int] = SEEDS) -> list[Goal]:
    measured = [(seed, await heal(seed, CASES)) for seed in seeds]
    for seed, healing in measured:
        _print_cases(seed, healing)
    return [goal for seed, healing in measured for goal in _goals(seed, healing)]


def _print_cases(seed: int, healing: Healing) -> None:
    print(f"\nSeed {seed}: change, cases, proposals")
    for change, cases, proposals in healing.rows():
        print(f"  {change:28} {cases:4} {proposals:4}")
    for wrong in healing.wrong:
        print(f"  wrong: {wrong}")


def _goals(seed: int, healing: Healing) -> list[Goal]:
    return [
        Goal(f"seed {seed}: wrong proposals", len(healing.wrong), 0, unit="", at_most=True),
        Goal(f"seed {seed}: share of the elements that are still there with a proposal", healing.share, LEAST_SHARE),
    ]


if __name__ == "__main__":
    show("Healing", asyncio.run(goals([int(seed) for seed in sys.argv[1:]] or SEEDS)))
