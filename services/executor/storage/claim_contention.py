"""How often workers compete for the same runs, and how this worker reacts: it looks further down the queue.

Workers that search at the same time find the same runs, and all but one of them lose. While that does not happen, the
order of the queue is kept exactly; after each lost claim this worker chooses at random among more candidates.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

MAX_LOOKAHEAD = 16
CALM_CLAIMS = 32
"""After this many successful claims in a row the lookahead shrinks by one."""

T = TypeVar("T")


class ClaimContention:
    """`lookahead` is how many more candidates than needed are read; 0 without contention."""

    def __init__(self) -> None:
        self.lookahead = 0
        self._won = 0

    def record_loss(self) -> None:
        """Another worker was faster."""
        self.lookahead = min(MAX_LOOKAHEAD, 2 * self.lookahead + 1)
        self._won = 0

    def record_win(self) -> None:
        """A claim succeeded."""
        self._won += 1
        if self._won >= CALM_CLAIMS:
            self.lookahead = max(0, self.lookahead - 1)
            self._won = 0

    def pick(self, candidates: Sequence[T], count: int) -> list[T]:
        """`count` of the candidates at random, in their order."""
        if len(candidates) <= count:
            return list(candidates)
        return [candidates[index] for index in sorted(random.sample(range(len(candidates)), count))]

    def shuffle_orgs(self, org_ids: Sequence[str]) -> dict[str, int]:
        """A random order of the organisations, so that workers do not all serve the same one first."""
        return {org_id: random.randrange(1 << 30) for org_id in org_ids}  # noqa: S311 (not a secret)
