"""The limits of organisations and the bytes that they store."""

import asyncio
from dataclasses import dataclass

import pytest
import pytest_asyncio

from services.catalog.events import SOURCE
from services.catalog.model.keys import Organisation
from services.catalog.model.organisation_limits import ArtifactBytes, OrganisationLimits
from services.catalog.storage.artifacts import RESERVATION_LIFETIME, MongoArtifactBytes
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.organisation_limits import FRESH_SECONDS, MongoLimits
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.chassis import context
from services.chassis.errors import PermissionDenied
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import START
from tests.fakes.chassis import FakeClock

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEFAULTS = OrganisationLimits(api_keys=100, artifact_bytes=1000)
SHA = "ab" * 32


@dataclass(frozen=True)
class Backend:
    store: MongoStore
    limits: MongoLimits
    ledger: MongoArtifactBytes
    clock: FakeClock
    mongo: Mongo


@pytest_asyncio.fixture(loop_scope="session")
async def backend(mongo: Mongo) -> Backend:
    """With an organisation of the caller."""
    clock = FakeClock(START)
    await MongoKeyRing(mongo).add_organisation(Organisation(context.current().org_id, "Org", START))
    store = MongoStore(mongo, Outbox(mongo, SOURCE), clock)
    return Backend(store, MongoLimits(mongo, clock, DEFAULTS), MongoArtifactBytes(mongo, clock), clock, mongo)


async def store_artifact(store: MongoStore, sha256: str, size: int, *, uses: int) -> None:
    await store.artifacts.expect(sha256, size)
    await store.artifacts.stored(sha256)
    for _ in range(uses):
        await store.artifacts.use(sha256, 1)


async def test_limits_that_are_set_replace_those_before(backend: Backend) -> None:
    assert await backend.limits.get() == DEFAULTS
    await backend.limits.set(
        OrganisationLimits(api_keys=3, requests_per_second=5, allowed_models=("a", "b"), script_hosts=("c.d",))
    )
    assert await backend.limits.get() == OrganisationLimits(
        api_keys=3,
        artifact_bytes=1000,
        requests_per_second=5,
        allowed_models=("a", "b"),
        script_hosts=("c.d",),
    )
    await backend.limits.set(OrganisationLimits(artifact_bytes=0))
    assert await backend.limits.get() == OrganisationLimits(api_keys=100, artifact_bytes=0)


async def test_other_organisations_keep_theirs(backend: Backend) -> None:
    await backend.limits.set(OrganisationLimits(api_keys=3))
    assert (await backend.limits.of("another")) == DEFAULTS
    assert (await backend.limits.of(context.current().org_id)).api_keys == 3


async def test_limits_set_by_another_process_are_seen_soon(backend: Backend) -> None:
    other = MongoLimits(backend.mongo, backend.clock, DEFAULTS)
    assert (await backend.limits.get()).api_keys == 100
    await other.set(OrganisationLimits(api_keys=3))
    backend.clock.advance(FRESH_SECONDS)
    assert (await backend.limits.get()).api_keys == 3
    assert await other.overrides() == OrganisationLimits(api_keys=3)


async def test_artifacts_in_use_and_uploads_under_way_are_summed(backend: Backend) -> None:
    """An artifact counts once for all builds that use it; one that none uses is only stored."""
    await store_artifact(backend.store, SHA, 100, uses=2)
    await store_artifact(backend.store, "cd" * 32, 20, uses=0)
    await backend.ledger.reserve("upload 1", 3)
    assert await backend.ledger.sum() == ArtifactBytes(103, 123)
    await backend.ledger.reserve("upload 1", 5)
    with foreign():
        await store_artifact(backend.store, SHA, 7000, uses=1)
        await backend.ledger.reserve("upload 2", 1)
        assert await backend.ledger.sum() == ArtifactBytes(7001, 7001)
    assert await backend.ledger.sum() == ArtifactBytes(105, 125)
    await backend.ledger.release("upload 1")
    assert await backend.ledger.sum() == ArtifactBytes(100, 120)


async def test_a_reservation_of_a_killed_process_ends(backend: Backend) -> None:
    await backend.ledger.reserve("upload 1", 3)
    backend.clock.advance(RESERVATION_LIFETIME.total_seconds())
    assert await backend.ledger.sum() == ArtifactBytes(0, 0)


async def test_uploads_that_begin_at_the_same_time_never_exceed_the_limit(backend: Backend) -> None:
    quota = ArtifactQuota(backend.ledger, backend.limits, backend.clock)
    together, admitted = asyncio.Barrier(20), list[int]()

    async def upload() -> None:
        try:
            async with quota.reserve(300):
                admitted.append(1)
                await together.wait()
        except PermissionDenied:
            await together.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(upload())
    assert len(admitted) <= 3
    assert await backend.ledger.sum() == ArtifactBytes(0, 0)
    async with quota.reserve(1000):
        pass
