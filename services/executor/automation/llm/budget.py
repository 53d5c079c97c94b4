"""Counts what models take in an attempt, and stops when it is enough."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic

from services.executor.automation.llm.endpoint import ModelBudget
from services.executor.automation.ports import ModelFailed, ModelUsage
from services.executor.model.failures import Category

MAX_PLAUSIBLE_TOKENS = 10_000_000
"""An endpoint that says a call took more is not believed."""


class BudgetTracker:
    """What an attempt has spent of its budget; asking beyond it raises ModelFailed (llm_budget_exceeded)."""

    def __init__(self, budget: ModelBudget) -> None:
        self.budget = budget
        self.spent = ModelUsage()
        self._seconds = 0.0

    @property
    def tokens_left(self) -> int:
        return self.budget.tokens - self.spent.tokens

    def count_call(self) -> None:
        """A request goes out, whatever comes of it."""
        self.spent = ModelUsage(self.spent.calls + 1, self.spent.tokens)

    def add_tokens(self, tokens: int) -> None:
        self.spent = ModelUsage(self.spent.calls, self.spent.tokens + tokens)

    def check(self, estimate: int) -> None:
        """Whether a question of about so many tokens may still be asked."""
        if estimate > self.tokens_left:
            raise ModelFailed(
                Category.LLM_BUDGET_EXCEEDED,
                f"the attempt has used {self.spent.tokens} of its {self.budget.tokens} tokens, and the next question "
                f"needs about {estimate}; MOBILETEST_LLM_TOKEN_LIMIT allows more",
            )

    @asynccontextmanager
    async def timed(self) -> AsyncIterator[None]:
        """Counts the time inside, and ends it when the attempt has no time left for models."""
        began = monotonic()
        limit = asyncio.timeout(self.budget.seconds - self._seconds)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ModelFailed(
                Category.LLM_BUDGET_EXCEEDED,
                f"models took the {self.budget.seconds:g} s that they may take in an attempt; "
                "MOBILETEST_LLM_SECONDS_LIMIT allows more",
            ) from error
        finally:
            self._seconds += monotonic() - began


def tokens_of(usage: object, estimate: int) -> int:
    """Question and answer together, as the endpoint says; the estimate where it says nothing that can be so."""
    if not isinstance(usage, Mapping):
        return estimate
    parts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    told = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    total = sum(told)
    plausible = len(told) == len(parts) and min(told) >= 0 and 0 < total <= MAX_PLAUSIBLE_TOKENS
    return total if plausible else estimate
