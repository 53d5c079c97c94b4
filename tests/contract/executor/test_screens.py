"""The ports of kept screens: in memory, and on MongoDB with a local object store."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TypeAlias, cast
from uuid import uuid4

import pytest

from mobiletest_automation.model.results import TREE, WEBP
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.executor.model.screens import OVERHEAD_BYTES, ScreenKey, StoredScreen
from services.executor.storage.schema import SCREENS
from services.executor.storage.screens import MongoScreens
from tests.fakes.screens import FakeScreens

DAY = date(2026, 3, 4)
NEXT_DAY = DAY + timedelta(days=1)

AnyScreens: TypeAlias = FakeScreens | MongoScreens


@pytest.fixture
def stored(mongo: Mongo, tmp_path: Path) -> MongoScreens:
    return MongoScreens(mongo, ObjectStore.open(tmp_path.as_uri()))


@pytest.fixture(params=["fake", "mongo"])
def screens(request: pytest.FixtureRequest, stored: MongoScreens) -> AnyScreens:
    return FakeScreens() if request.param == "fake" else stored


@pytest.fixture
def org_id() -> str:
    return str(uuid4())


@dataclass
class Objects:
    """The files of the object store."""

    folder: Path

    def all(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path)


MakeKey: TypeAlias = Callable[[int], ScreenKey]


@pytest.fixture
def key(org_id: str) -> MakeKey:
    return lambda number: ScreenKey(org_id, f"{number:032x}")


async def content(screens: AnyScreens, screen: StoredScreen | None, part: FilePart | None = None) -> bytes:
    assert screen is not None
    return b"".join([chunk async for chunk in screens.read(screen, part)])


async def test_a_screen_is_of_one_organisation(screens: AnyScreens, key: MakeKey) -> None:
    await screens.store(key(1), b"0123456789", WEBP, DAY)
    screen = await screens.find(key(1))
    assert screen is not None
    assert (screen.key, screen.content_type, screen.size_bytes, screen.used_on) == (key(1), WEBP, 10, DAY)
    assert await content(screens, screen) == b"0123456789"
    assert await content(screens, screen, FilePart(2, 5, 10)) == b"234"
    foreign = ScreenKey(str(uuid4()), key(1).hash)
    assert await screens.find(foreign) is None
    assert not await screens.refresh(foreign, DAY)
    assert await screens.find(key(2)) is None


async def test_whoever_refers_to_a_screen_makes_it_younger_and_never_older(screens: AnyScreens, key: MakeKey) -> None:
    assert not await screens.refresh(key(1), DAY)
    await screens.store(key(1), b"tree", TREE, DAY)
    assert await screens.refresh(key(1), NEXT_DAY)
    assert await screens.refresh(key(1), DAY)
    screen = await screens.find(key(1))
    assert screen is not None
    assert screen.used_on == NEXT_DAY


async def test_each_counts_its_bytes_and_its_overhead(screens: AnyScreens, key: MakeKey, org_id: str) -> None:
    assert await screens.used_bytes(org_id) == 0
    await screens.store(key(1), b"x" * 60, WEBP, DAY)
    await screens.store(key(2), b"x" * 40, TREE, DAY)
    await screens.store(ScreenKey(str(uuid4()), key(1).hash), b"x" * 500, TREE, DAY)
    assert await screens.used_bytes(org_id) == 100 + 2 * OVERHEAD_BYTES
    assert org_id in await screens.organisations()


async def test_those_used_least_recently_are_deleted_first_and_of_one_day_the_largest(
    screens: AnyScreens, key: MakeKey, org_id: str
) -> None:
    for number, size, day in ((1, 10, NEXT_DAY), (2, 10, DAY), (3, 90, DAY)):
        await screens.store(key(number), b"x" * size, WEBP, day)
    excesses = {1: [3], 91 + OVERHEAD_BYTES: [3, 2], 10**6: [3, 2, 1]}
    for excess, expected in excesses.items():
        chosen = await screens.least_used(org_id, excess, 10)
        assert [screen.key for screen in chosen] == [key(number) for number in expected]
    assert len(await screens.least_used(org_id, 10**6, 2)) == 2
    assert await screens.delete(await screens.least_used(org_id, 1, 10)) == 1
    assert await screens.find(key(3)) is None
    assert await screens.used_bytes(org_id) == 20 + 2 * OVERHEAD_BYTES


async def test_a_screen_that_was_referred_to_meanwhile_is_not_deleted(screens: AnyScreens, key: MakeKey) -> None:
    await screens.store(key(1), b"used", TREE, DAY)
    await screens.store(key(2), b"unused", TREE, DAY)
    unused = [screen for number in (1, 2) if (screen := await screens.find(key(number))) is not None]
    await screens.refresh(key(1), NEXT_DAY)
    assert await screens.delete(unused) == 1
    assert await content(screens, await screens.find(key(1))) == b"used"
    assert not await screens.refresh(key(2), NEXT_DAY)


async def test_a_screen_that_lost_its_object_is_stored_again(
    stored: MongoScreens, objects: Objects, key: MakeKey
) -> None:
    await stored.store(key(1), b"lost", TREE, DAY)
    [lost] = objects.all()
    lost.unlink()
    with pytest.raises(NotFound) as error:
        await content(stored, await stored.find(key(1)))
    assert error.value.reason == "SCREEN_NOT_FOUND"
    assert not await stored.refresh(key(1), DAY)
    await stored.store(key(1), b"again", TREE, DAY)
    assert await content(stored, await stored.find(key(1))) == b"again"
    assert await stored.refresh(key(1), DAY)


async def test_those_unused_for_long_are_found_over_all_organisations(stored: MongoScreens, key: MakeKey) -> None:
    long_ago = date(1990, 1, 1)
    await stored.store(key(1), b"old", TREE, long_ago)
    await stored.store(ScreenKey(str(uuid4()), key(1).hash), b"older", TREE, long_ago - timedelta(days=1))
    await stored.store(key(2), b"young", TREE, DAY)
    unused = await stored.unused_since(long_ago + timedelta(days=1), 10)
    assert [screen.size_bytes for screen in unused] == [5, 3]
    assert len(await stored.unused_since(long_ago + timedelta(days=1), 1)) == 1
    assert not await stored.unused_since(long_ago - timedelta(days=1), 10)
    assert await stored.delete(unused) == 2


async def test_screens_stored_together_leave_one_object(stored: MongoScreens, objects: Objects, key: MakeKey) -> None:
    await asyncio.gather(*(stored.store(key(1), b"same", TREE, DAY) for _ in range(5)))
    assert len(objects.all()) == 1
    assert await content(stored, await stored.find(key(1))) == b"same"


async def test_a_screen_that_is_deleted_while_another_worker_stores_it_is_stored(
    mongo: Mongo, tmp_path: Path, key: MakeKey
) -> None:
    objects = ObjectStore.open(tmp_path.as_uri())
    stored = MongoScreens(mongo, objects)
    await stored.store(key(1), b"old", TREE, DAY)

    class Swept:
        """The object store, in which a sweep deletes the screen before the first other deletion."""

        put_bytes, get_stream = objects.put_bytes, objects.get_stream

        async def delete(self, object_key: str) -> None:
            if (old := await stored.find(key(1))) is not None:
                await stored.delete([old])
            await objects.delete(object_key)

    await MongoScreens(mongo, cast(ObjectStore, Swept())).store(key(1), b"old", TREE, DAY)
    assert await content(stored, await stored.find(key(1))) == b"old"


async def test_a_deletion_keeps_what_is_stored_at_the_same_time(
    stored: MongoScreens, mongo: Mongo, objects: Objects, key: MakeKey
) -> None:
    """A sweep that was killed has marked the screen; a worker stores it again, and then another sweep goes on."""
    await stored.store(key(1), b"old", TREE, DAY)
    old = await stored.find(key(1))
    assert old is not None
    await mongo.collection(SCREENS).update_one({"object": old.object_key}, {"$set": {"replaceable": True}})
    assert not await stored.refresh(key(1), DAY)
    await stored.store(key(1), b"new", TREE, DAY)
    assert await stored.delete([old]) == 0
    assert await content(stored, await stored.find(key(1))) == b"new"
    assert len(objects.all()) == 1


async def test_a_sweep_that_was_killed_is_finished_by_the_next(
    stored: MongoScreens, mongo: Mongo, objects: Objects, key: MakeKey, org_id: str
) -> None:
    await stored.store(key(1), b"old", TREE, DAY)
    await mongo.collection(SCREENS).update_one({"org_id": org_id}, {"$set": {"replaceable": True}})
    [file] = objects.all()
    file.unlink()
    assert await stored.delete(await stored.least_used(org_id, 1, 10)) == 1
    assert await stored.used_bytes(org_id) == 0
