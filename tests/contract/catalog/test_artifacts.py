"""Artifacts that nothing uses: claimed by one sweeper, gone from the object store, and never under an upload's feet."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from services.catalog.artifact_sweeper import ArtifactSweeper
from services.catalog.publisher import SOURCE, Publisher
from services.catalog.storage.artifacts import MongoUnusedArtifacts
from services.catalog.storage.store import MongoStore
from services.chassis import context
from services.chassis.errors import Aborted, NotFound
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from tests.contract.catalog.conftest import emptied
from tests.fakes.chassis import FakeClock

SHA = "ab" * 32


DAY = 24 * 3600.0


@dataclass
class House:
    """A store, its objects, and a sweeper, on one clock."""

    store: MongoStore
    unused: MongoUnusedArtifacts
    objects: ObjectStore
    clock: FakeClock

    async def keep(self, uses: int = 0) -> None:
        """An artifact that lies in the object store."""
        await self.store.artifacts.expect(SHA, 1)
        await self.objects.put_bytes(f"{context.current().org_id}/{SHA}", b"x")
        await self.store.artifacts.stored(SHA)
        for _ in range(uses):
            await self.store.artifacts.use(SHA, 1)

    async def lies_there(self) -> bool:
        """Whether the object is there."""
        try:
            return await self.objects.head(f"{context.current().org_id}/{SHA}") == 1
        except NotFound:
            return False

    async def swept(self) -> int:
        """How many artifacts a sweep removes."""
        return await ArtifactSweeper(self.unused, self.objects, self.clock).sweep()


@pytest.fixture
async def house(mongo_uri: str, migrated_database: str) -> AsyncIterator[House]:
    """An empty house."""
    async with emptied(mongo_uri, migrated_database, "motor") as mongo:
        clock = FakeClock()
        store = MongoStore(mongo, Publisher(Outbox(mongo, SOURCE)), clock)
        yield House(store, MongoUnusedArtifacts(mongo, clock), ObjectStore.open("memory:///"), clock)


async def test_an_unused_artifact_is_removed_after_a_day(house: House) -> None:
    """Not before; afterwards it is stored anew."""
    await house.keep()
    assert await house.swept() == 0
    house.clock.advance(DAY + 1)
    assert await house.swept() == 1
    assert not await house.lies_there()
    assert not await house.store.artifacts.expect(SHA, 1)


async def test_a_used_artifact_stays(house: House) -> None:
    """Until its last use has ended, and a day longer."""
    await house.keep(uses=2)
    house.clock.advance(9 * DAY)
    assert await house.swept() == 0
    for _ in range(2):
        await house.store.artifacts.use(SHA, -1)
    assert await house.swept() == 0
    house.clock.advance(2 * DAY)
    assert await house.swept() == 1


async def test_the_uses_of_many_builds_end_at_once(house: House) -> None:
    """One for each mention, of each artifact."""
    another = "cd" * 32
    await house.keep(uses=3)
    await house.store.artifacts.expect(another, 1)
    await house.store.artifacts.use(another, 1)
    await house.store.artifacts.release([SHA, another, SHA])
    house.clock.advance(2 * DAY)
    assert await house.swept() == 1
    assert await house.lies_there()
    await house.store.artifacts.release([SHA])
    house.clock.advance(2 * DAY)
    assert await house.swept() == 1
    assert not await house.lies_there()


async def test_an_upload_keeps_an_unused_artifact_for_another_day(house: House) -> None:
    """It is about to be used."""
    await house.keep()
    house.clock.advance(2 * DAY)
    assert await house.store.artifacts.expect(SHA, 1)
    assert await house.swept() == 0
    assert await house.lies_there()


async def test_an_artifact_is_claimed_once(house: House) -> None:
    """And an upload of the same file has to wait until it is gone."""
    await house.keep()
    house.clock.advance(2 * DAY)
    before = house.clock.now() - timedelta(days=1)
    org_id = context.current().org_id
    assert await house.unused.claim(before) == (org_id, SHA)
    assert await house.unused.claim(before) is None
    with pytest.raises(Aborted, match="try again"):
        await house.store.artifacts.expect(SHA, 1)
    await house.unused.forget(org_id, SHA)
    assert not await house.store.artifacts.expect(SHA, 1)


async def test_a_claim_that_died_is_taken_back_by_the_next_upload(house: House) -> None:
    """After a minute, as if the artifact were not there."""
    await house.keep()
    house.clock.advance(2 * DAY)
    await house.unused.claim(house.clock.now() - timedelta(days=1))
    house.clock.advance(120)
    assert not await house.store.artifacts.expect(SHA, 1)
    await house.unused.forget(context.current().org_id, SHA)
    await house.store.artifacts.stored(SHA)
    assert await house.store.artifacts.expect(SHA, 1)
