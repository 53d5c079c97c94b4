"""How much the workers get in each other's way, and what this one does about it: it looks a little further down.

Workers that look at the same time find the same runs, and all but one of them lose. As long as that does not happen the
order is kept exactly; each loss makes this worker choose at random among more of those that come next.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

FURTHEST = 16
CALM = 32
"""After as many claims without a loss it looks one less far."""

T = TypeVar("T")


class ClaimContention:
    """`ahead` is how many more candidates there are than are wanted; 0 while nobody is in the way."""

    def __init__(self) -> None:
        self.ahead = 0
        self._won = 0

    def lost(self) -> None:
        """Somebody else was faster."""
        self.ahead = min(FURTHEST, 2 * self.ahead + 1)
        self._won = 0

    def won(self) -> None:
        """A claim was ours."""
        self._won += 1
        if self._won >= CALM:
            self.ahead = max(0, self.ahead - 1)
            self._won = 0

    def some(self, candidates: Sequence[T], wanted: int) -> list[T]:
        """As many as are wanted, in their order."""
        if len(candidates) <= wanted:
            return list(candidates)
        return [candidates[index] for index in sorted(random.sample(range(len(candidates)), wanted))]

    def turns(self, names: Sequence[str]) -> dict[str, int]:
        """An order of the names that other workers do not have."""
        return {name: random.randrange(1 << 30) for name in names}  # noqa: S311 (not a secret)
