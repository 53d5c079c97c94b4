"""Shows and sets the limits of an organisation."""

import asyncio
from collections.abc import Sequence

from services.catalog.model.attachments import ATTACHED_LIMIT
from services.catalog.model.organisation_limits import LimitUse, OrganisationLimits
from services.catalog.ports import ArtifactBytesLedger, Limits, Store


class LimitUseCases:
    """The limits of the caller's organisation."""

    def __init__(self, store: Store, limits: Limits, ledger: ArtifactBytesLedger) -> None:
        self._store = store
        self._limits = limits
        self._ledger = ledger

    async def in_use(self) -> Sequence[LimitUse]:
        """The limits that the catalog enforces, with their use; that of `attached_tests` is of the app with most."""
        limits, bytes_, keys, counts, attached = await asyncio.gather(
            self._limits.get(),
            self._ledger.sum(),
            self._store.keys.count(),
            self._store.counters.get(),
            self._store.apps.most_attached(),
        )
        used = {
            "artifact_bytes": bytes_.used,
            "api_keys": keys,
            "apps": counts.apps,
            "tests": counts.tests,
            "workflows": counts.workflows,
            "builds": counts.builds,
            "test_bytes": counts.test_bytes,
        }
        shown = [LimitUse(name, getattr(limits, name) or 0, number) for name, number in used.items()]
        return [*shown, LimitUse("attached_tests", ATTACHED_LIMIT, attached)]

    async def get(self) -> OrganisationLimits:
        """The limits, with the catalog's defaults."""
        return await self._limits.get()

    async def set(self, limits: OrganisationLimits) -> OrganisationLimits:
        """Replace the limits that were set.

        Raises:
            NotFound: no such organisation.
        """
        await self._limits.set(limits)
        return limits
