"""The ports of the limits on language models in memory."""

from services.chassis.errors import Unavailable
from services.executor.model.organisation_limits import ModelDay, ModelUse, OrganisationLimits


class FixedLimits:
    """The port `OrganisationLimitsSource`: the same limits for every organisation."""

    def __init__(self, limits: OrganisationLimits) -> None:
        self.limits = limits

    async def get(self, org_id: str) -> OrganisationLimits:
        return self.limits


class FakeModelUsage:
    """The port `ModelUsageLedger`. Counts the writes; `away` makes them fail."""

    def __init__(self) -> None:
        self.accounts: dict[ModelDay, ModelUse] = {}
        self.writes = 0
        self.away = False

    async def take(self, account: ModelDay, wanted: ModelUse, limits: OrganisationLimits) -> ModelUse:
        if self.away:
            raise Unavailable("away")
        self.writes += 1
        before = await self.used(account)
        granted = ModelUse(
            _granted(before.calls, wanted.calls, limits.model_calls_per_day),
            _granted(before.tokens, wanted.tokens, limits.model_tokens_per_day),
        )
        self.accounts[account] = ModelUse(before.calls + granted.calls, before.tokens + granted.tokens)
        return granted

    async def give_back(self, account: ModelDay, unused: ModelUse) -> None:
        now = await self.used(account)
        self.accounts[account] = ModelUse(now.calls - unused.calls, now.tokens - unused.tokens)

    async def used(self, account: ModelDay) -> ModelUse:
        return self.accounts.get(account, ModelUse())


def _granted(before: int, wanted: int, limit: int | None) -> int:
    return wanted if limit is None else max(0, min(wanted, limit - before))
