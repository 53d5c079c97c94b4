"""Artifacts that nothing uses: claimed by one sweeper and removed from the object store, but never during an upload."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from services.catalog.events import SOURCE
from services.catalog.storage.artifacts import ArtifactSweeper
from services.catalog.storage.store import MongoStore
from services.chassis import context
from services.chassis.errors import Aborted, NotFound
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from tests.fakes.chassis import FakeClock

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHA = "ab" * 32


DAY = 24 * 3600.0


@dataclass
class Storage:
    """A store, its objects, and a sweeper, on one clock."""

    store: MongoStore
    sweeper: ArtifactSweeper
    objects: ObjectStore
    clock: FakeClock

    async def keep(self, uses: int = 0) -> None:
        await self.store.artifacts.expect(SHA, 1)
        await self.objects.put_bytes(f"{context.current().org_id}/{SHA}", b"x")
        await self.store.artifacts.stored(SHA)
        for _ in range(uses):
            await self.store.artifacts.use(SHA, 1)

    async def is_stored(self) -> bool:
        try:
            return [chunk async for chunk in self.objects.get_stream(f"{context.current().org_id}/{SHA}")] == [b"x"]
        except NotFound:
            return False


@pytest.fixture
def storage(mongo: Mongo) -> Storage:
    """Without artifacts."""
    clock, objects = FakeClock(), ObjectStore.open("memory:///")
    store = MongoStore(mongo, Outbox(mongo, SOURCE), clock)
    return Storage(store, ArtifactSweeper(mongo, objects, clock), objects, clock)


async def test_an_unused_artifact_is_removed_after_a_day(storage: Storage) -> None:
    await storage.keep()
    assert await storage.sweeper.sweep() == 0
    storage.clock.advance(DAY + 1)
    assert await storage.sweeper.sweep() == 1
    assert not await storage.is_stored()
    assert not await storage.store.artifacts.expect(SHA, 1)


async def test_a_used_artifact_stays(storage: Storage) -> None:
    await storage.keep(uses=2)
    storage.clock.advance(9 * DAY)
    assert await storage.sweeper.sweep() == 0
    for _ in range(2):
        await storage.store.artifacts.use(SHA, -1)
    assert await storage.sweeper.sweep() == 0
    storage.clock.advance(2 * DAY)
    assert await storage.sweeper.sweep() == 1


async def test_the_uses_of_many_builds_end_at_once(storage: Storage) -> None:
    """Each artifact loses one use for each time it is listed."""
    another = "cd" * 32
    await storage.keep(uses=3)
    await storage.store.artifacts.expect(another, 1)
    await storage.store.artifacts.use(another, 1)
    await storage.store.artifacts.release([SHA, another, SHA])
    storage.clock.advance(2 * DAY)
    assert await storage.sweeper.sweep() == 1
    assert await storage.is_stored()
    await storage.store.artifacts.release([SHA])
    storage.clock.advance(2 * DAY)
    assert await storage.sweeper.sweep() == 1
    assert not await storage.is_stored()


async def test_an_upload_keeps_an_unused_artifact_for_another_day(storage: Storage) -> None:
    await storage.keep()
    storage.clock.advance(2 * DAY)
    assert await storage.store.artifacts.expect(SHA, 1)
    assert await storage.sweeper.sweep() == 0
    assert await storage.is_stored()


async def test_an_artifact_is_claimed_once(storage: Storage) -> None:
    await storage.keep()
    storage.clock.advance(2 * DAY)
    before = storage.clock.now() - timedelta(days=1)
    org_id = context.current().org_id
    assert await storage.sweeper.claim(before) == (org_id, SHA)
    assert await storage.sweeper.claim(before) is None
    with pytest.raises(Aborted, match="try again"):
        await storage.store.artifacts.expect(SHA, 1)
    await storage.sweeper.forget(org_id, SHA)
    assert not await storage.store.artifacts.expect(SHA, 1)


async def test_a_claim_that_died_is_taken_back_by_the_next_upload(storage: Storage) -> None:
    await storage.keep()
    storage.clock.advance(2 * DAY)
    await storage.sweeper.claim(storage.clock.now() - timedelta(days=1))
    storage.clock.advance(120)
    assert not await storage.store.artifacts.expect(SHA, 1)
    await storage.sweeper.forget(context.current().org_id, SHA)
    await storage.store.artifacts.stored(SHA)
    assert await storage.store.artifacts.expect(SHA, 1)


async def test_uploads_of_the_same_file_at_the_same_moment_are_all_expected(storage: Storage) -> None:
    for number in range(5):
        sha256 = f"{number:02}" * 32
        assert not any(await asyncio.gather(*(storage.store.artifacts.expect(sha256, 1) for _ in range(10))))
