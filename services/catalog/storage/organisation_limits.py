"""The limits that operators set for organisations, in the documents of the organisations."""

from typing import Any

from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.storage.keys import ORGANISATIONS
from services.chassis import context
from services.chassis.clock import Clock
from services.chassis.errors import NotFound
from services.chassis.mongo import Document, Mongo

FRESH_SECONDS = 10.0
CAPACITY = 10_000


class MongoLimits:
    """The port `Limits` on MongoDB. Limits are read with every start and verified key, so they are cached."""

    def __init__(self, mongo: Mongo, clock: Clock, defaults: OrganisationLimits) -> None:
        self._organisations = mongo.collection(ORGANISATIONS)
        self._clock = clock
        self._defaults = defaults
        self._read: dict[str, tuple[float, OrganisationLimits]] = {}

    async def get(self) -> OrganisationLimits:
        return await self.of(context.current().org_id)

    async def of(self, org_id: str) -> OrganisationLimits:
        read, now = self._read.get(org_id), self._clock.monotonic()
        if read is not None and now - read[0] < FRESH_SECONDS:
            return read[1]
        document: Document | None = await self._organisations.find_one({"_id": org_id}, {"limits": 1})
        limits = _from_document((document or {}).get("limits", {})).over(self._defaults)
        if len(self._read) >= CAPACITY:
            self._read.clear()
        self._read[org_id] = (now, limits)
        return limits

    async def set(self, limits: OrganisationLimits) -> None:
        org_id = context.current().org_id
        written = await self._organisations.update_one({"_id": org_id}, {"$set": {"limits": limits.as_set()}})
        if not written.matched_count:
            raise _not_found(org_id)
        self._read.pop(org_id, None)

    async def overrides(self) -> OrganisationLimits:
        """The limits that were set, without defaults.

        Raises:
            NotFound: there is no such organisation.
        """
        org_id = context.current().org_id
        document: Document | None = await self._organisations.find_one({"_id": org_id}, {"limits": 1})
        if document is None:
            raise _not_found(org_id)
        return _from_document(document.get("limits", {}))


def _not_found(org_id: str) -> NotFound:
    return NotFound(f"There is no organisation {org_id}", reason="ORGANISATION_NOT_FOUND")


def _from_document(document: Document) -> OrganisationLimits:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    return OrganisationLimits(**values)
