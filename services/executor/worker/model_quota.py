"""The calls and tokens that organisations may use each day, over all workers.

A worker takes them from the shared account in portions, so that a call rarely costs a write. What it has not used goes
back when it ends; a worker that is killed loses a portion. The tokens of a call are only known at its end, so calls
under way may exceed the limit.
"""

from dataclasses import dataclass
from datetime import UTC, date

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from services.chassis.clock import Clock, SystemClock
from services.chassis.errors import DomainError, Unavailable
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.limit_refusals import limit_reached
from services.executor.model.organisation_limits import ModelDay, ModelUse
from services.executor.ports.organisation_limits import ModelUsageLedger, OrganisationLimitsSource

PORTION_CALLS = 20
PORTION_TOKENS = 50_000
# A portion is at most one part in so many of the limit.
SMALLEST_SHARE = 100
ADVICE = "the days of this limit begin at 00:00 UTC; ask fewer questions of models, or ask the operator for more"


@dataclass(slots=True)
class _Account:
    """What this worker may still use of the portions that it has taken; the tokens may be overdrawn."""

    day: date
    calls: int = 0
    tokens: int = 0


class DailyModelQuota:
    """The daily limits of all organisations on this worker."""

    def __init__(self, ledger: ModelUsageLedger, limits: OrganisationLimitsSource, clock: Clock | None = None) -> None:
        self._ledger = ledger
        self._limits = limits
        self._clock = clock or SystemClock()
        self._accounts: dict[str, _Account] = {}
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def start_call(self, org_id: str, estimate: int) -> None:
        """Count a call of about `estimate` tokens.

        Raises:
            ModelFailed: beyond a limit of the day (llm_budget_exceeded).
        """
        async with self._locks[org_id]:
            account = self._today(org_id)
            if account.calls < 1 or account.tokens < estimate:
                await self._take(org_id, account, estimate)
            account.calls -= 1

    def add_tokens(self, org_id: str, tokens: int) -> None:
        """Count the tokens of a call at its end."""
        self._today(org_id).tokens -= tokens

    async def close(self) -> None:
        """Give back what was not used."""
        accounts, self._accounts = self._accounts, {}
        for org_id, account in accounts.items():
            unused = ModelUse(account.calls, max(0, account.tokens))
            if unused != ModelUse():
                await self._ledger.give_back(ModelDay(org_id, account.day), unused)

    def _today(self, org_id: str) -> _Account:
        today = self._clock.now().astimezone(UTC).date()
        account = self._accounts.get(org_id)
        if account is None or account.day != today:
            self._accounts = {other: each for other, each in self._accounts.items() if each.day == today}
            account = self._accounts[org_id] = _Account(today)
        return account

    async def _take(self, org_id: str, account: _Account, estimate: int) -> None:
        limits = await self._limits.get(org_id)
        calls, tokens = limits.model_calls_per_day, limits.model_tokens_per_day
        missing = max(0, estimate - account.tokens)
        wanted = ModelUse(
            _portion(PORTION_CALLS, calls) if account.calls < 1 else 0,
            max(missing, _portion(PORTION_TOKENS, tokens)) if missing else 0,
        )
        try:
            granted = await self._ledger.take(ModelDay(org_id, account.day), wanted, limits)
        except Unavailable as error:
            raise ModelFailed(Category.LLM_UNAVAILABLE, "the use of models cannot be counted right now") from error
        account.calls += granted.calls
        account.tokens += granted.tokens
        if account.calls < 1 and calls is not None:
            raise _exhausted(limit_reached("model_calls_per_day", calls, ADVICE))
        if account.tokens < estimate and tokens is not None:
            raise _exhausted(limit_reached("model_tokens_per_day", tokens, ADVICE))


def _portion(largest: int, limit: int | None) -> int:
    return largest if limit is None else max(1, min(largest, limit // SMALLEST_SHARE))


def _exhausted(error: DomainError) -> ModelFailed:
    return ModelFailed(Category.LLM_BUDGET_EXCEEDED, error.message)
