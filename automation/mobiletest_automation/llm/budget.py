"""What models may cost in an attempt: tokens and time are counted, and bounded by a budget."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed, ModelQuota, ModelUsage

# A larger number of tokens, as reported by an endpoint, is not believed.
MAX_PLAUSIBLE_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBudget:
    """Limits: actions and seconds per step, tokens and seconds per attempt."""

    step_actions: int = 15
    step_seconds: float = 120.0
    tokens: int = 200_000
    seconds: float = 300.0


class BudgetTracker:
    """What an attempt has used of its budget.

    Raises:
        ModelFailed: the budget is used up (llm_budget_exceeded).
    """

    def __init__(self, budget: ModelBudget, quota: ModelQuota | None = None, org_id: str = "") -> None:
        """`quota` limits what the attempt's organisation may use each day."""
        self.budget = budget
        self._quota = quota
        self._org_id = org_id
        self.spent = ModelUsage()
        self._seconds = 0.0

    @property
    def tokens_left(self) -> int:
        return self.budget.tokens - self.spent.tokens

    async def start_call(self, estimate: int) -> None:
        """Count a request of about `estimate` tokens, whether or not it succeeds."""
        if self._quota is not None:
            await self._quota.start_call(self._org_id, estimate)
        self.spent = ModelUsage(self.spent.calls + 1, self.spent.tokens)

    def add_tokens(self, tokens: int) -> None:
        self.spent = ModelUsage(self.spent.calls, self.spent.tokens + tokens)
        if self._quota is not None:
            self._quota.add_tokens(self._org_id, tokens)

    def check(self, estimate: int) -> None:
        """Check before a request that the budget allows it.

        Raises:
            ModelFailed: a request of about `estimate` tokens exceeds the budget.
        """
        if estimate > self.tokens_left:
            raise ModelFailed(
                Category.LLM_BUDGET_EXCEEDED,
                f"the attempt has used {self.spent.tokens} of its {self.budget.tokens} tokens, and the next request "
                f"needs about {estimate}; MOBILETEST_LLM_TOKEN_LIMIT allows more",
            )

    @asynccontextmanager
    async def timed(self) -> AsyncIterator[None]:
        """Count the time inside the block, and end the block when the attempt has no model time left."""
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
                f"the attempt has used its {self.budget.seconds:g} s of model time; "
                "MOBILETEST_LLM_SECONDS_LIMIT allows more",
            ) from error
        finally:
            self._seconds += monotonic() - began


def tokens_of(usage: object) -> int:
    """Tokens of a request and its reply as reported by the endpoint; 0 if the report is not plausible."""
    if not isinstance(usage, Mapping):
        return 0
    parts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    reported = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    total = sum(reported)
    plausible = len(reported) == len(parts) and min(reported) >= 0 and 0 < total <= MAX_PLAUSIBLE_TOKENS
    return total if plausible else 0
