"""Shows and sets the limits of an organisation."""

from dataclasses import dataclass

from services.catalog.model.limits import OrganisationLimits
from services.catalog.ports import ArtifactBytesLedger, Limits, Store


@dataclass(frozen=True, slots=True)
class LimitsInUse:
    """The limits that the catalog enforces, and how much of them is used."""

    limits: OrganisationLimits
    artifact_bytes: int
    api_keys: int


class LimitUseCases:
    """The limits of the caller's organisation."""

    def __init__(self, store: Store, limits: Limits, ledger: ArtifactBytesLedger) -> None:
        self._store = store
        self._limits = limits
        self._ledger = ledger

    async def in_use(self) -> LimitsInUse:
        """The limits with their use."""
        keys, stored = await self._store.keys.count(), await self._ledger.sum()
        return LimitsInUse(await self._limits.get(), stored.used, keys)

    async def get(self) -> OrganisationLimits:
        """The limits, with the catalog's defaults."""
        return await self._limits.get()

    async def set(self, limits: OrganisationLimits) -> OrganisationLimits:
        """Replace the limits that were set. NotFound: no such organisation."""
        await self._limits.set(limits)
        return limits
