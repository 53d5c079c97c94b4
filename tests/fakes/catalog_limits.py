"""The catalog's ports for limits in memory."""

from services.catalog.model.limits import ArtifactBytes, OrganisationLimits
from services.chassis import context
from services.chassis.errors import NotFound
from tests.fakes.catalog import FakeStore


class FakeLimits:
    """The port `Limits`: every organisation exists, except those in `unknown`."""

    def __init__(self, defaults: OrganisationLimits | None = None) -> None:
        self.defaults = defaults or OrganisationLimits()
        self.overrides: dict[str, OrganisationLimits] = {}
        self.unknown: set[str] = set()

    async def get(self) -> OrganisationLimits:
        return await self.of(context.current().org_id)

    async def of(self, org_id: str) -> OrganisationLimits:
        return self.overrides.get(org_id, OrganisationLimits()).over(self.defaults)

    async def set(self, limits: OrganisationLimits) -> None:
        org_id = context.current().org_id
        if org_id in self.unknown:
            raise NotFound("Organisation not found")
        self.overrides[org_id] = limits


class FakeArtifactBytes:
    """The port `ArtifactBytesLedger` over the artifacts of a fake store."""

    def __init__(self, store: FakeStore) -> None:
        self._store = store
        self.reserved: dict[tuple[str, str], int] = {}

    async def sum(self) -> ArtifactBytes:
        org_id = context.current().org_id
        own = [artifact for (owner, _), artifact in self._store.artifacts.rows.items() if owner == org_id]
        reserved = sum(size for (owner, _), size in self.reserved.items() if owner == org_id)
        used = sum(artifact.size for artifact in own if artifact.uses > 0)
        return ArtifactBytes(used + reserved, sum(artifact.size for artifact in own) + reserved)

    async def reserve(self, upload_id: str, size: int) -> None:
        self.reserved[context.current().org_id, upload_id] = size

    async def release(self, upload_id: str) -> None:
        self.reserved.pop((context.current().org_id, upload_id), None)
