"""Ports for the limits of organisations."""

from typing import Protocol

from services.executor.model.organisation_limits import ModelDay, ModelUse, OrganisationLimits


class OrganisationLimitsSource(Protocol):
    """The limits of any organisation."""

    async def get(self, org_id: str) -> OrganisationLimits:
        """The limits; they may be half a minute old."""


class ConfirmedLimits(Protocol):
    """The limits of any organisation, for what cannot be undone."""

    async def confirmed_limits(self, org_id: str) -> OrganisationLimits:
        """The limits as they are now.

        Raises:
            Unavailable: while that cannot be found out.
        """


class EvidenceBytes(Protocol):
    """How many bytes the evidence of organisations has."""

    async def used_bytes(self, org_id: str) -> int:
        """That of the runs that have ended, up to a minute ago or so."""


class ModelUsageLedger(Protocol):
    """What organisations have used of language models, shared by all workers."""

    async def take(self, account: ModelDay, wanted: ModelUse, limits: OrganisationLimits) -> ModelUse:
        """Add what is wanted to the account, as far as the limits allow; what was added.

        Raises:
            Unavailable: the account cannot be read.
        """

    async def give_back(self, account: ModelDay, unused: ModelUse) -> None:
        """Subtract what was taken and not used."""

    async def used(self, account: ModelDay) -> ModelUse:
        """What has been taken."""
