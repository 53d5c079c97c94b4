"""The ports of baselines, on MongoDB with a local object store."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from mobiletest_automation.model.baseline_keys import baseline_key
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import PermissionDenied, ResourceExhausted
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.executor.maintenance.deleted_tests import DeletedTests
from services.executor.model.baselines import BASELINES_LIMIT
from services.executor.ports.baselines import TestKey
from services.executor.storage.baselines import MongoBaselines
from services.executor.storage.schema import BASELINES
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import FakeExistingTests

KEY = baseline_key("home.png", "android-720x1280")
OTHER = baseline_key("home.png", "ios-720x1280")


@dataclass
class Scene:
    """`folder` is that of the object store."""

    baselines: MongoBaselines
    folder: Path

    def objects(self) -> int:
        return sum(path.is_file() for path in self.folder.rglob("*"))


@pytest.fixture
def scene(mongo: Mongo, tmp_path: Path) -> Scene:
    return Scene(MongoBaselines(mongo, ObjectStore.open(tmp_path.as_uri())), tmp_path)


@pytest.fixture
def baselines(scene: Scene) -> MongoBaselines:
    return scene.baselines


@pytest.fixture
def test() -> TestKey:
    return TestKey(str(uuid4()), str(uuid4()))


async def test_a_baseline_is_of_one_test_of_one_organisation(baselines: MongoBaselines, test: TestKey) -> None:
    await baselines.save(test, KEY, b"first", None)
    assert await baselines.load(test, KEY) == b"first"
    assert await baselines.load(TestKey(test.org_id, str(uuid4())), KEY) is None
    assert await baselines.load(TestKey(str(uuid4()), test.test_id), KEY) is None
    assert await baselines.load(test, OTHER) is None


async def test_a_later_picture_replaces_a_baseline(scene: Scene, test: TestKey) -> None:
    await scene.baselines.save(test, KEY, b"first", None)
    await scene.baselines.save(test, KEY, b"second" * 500_000, None)
    assert await scene.baselines.load(test, KEY) == b"second" * 500_000
    assert await scene.baselines.used_bytes(test.org_id) == 3_000_000
    assert scene.objects() == 1


async def test_baselines_are_listed_by_key(baselines: MongoBaselines, test: TestKey) -> None:
    saved = [await baselines.save(test, key, b"png", None) for key in (OTHER, KEY)]
    assert list(await baselines.of_test(test)) == sorted(saved, key=lambda each: each.key)
    assert await baselines.find(test, KEY) == saved[1]
    assert {each.form for each in saved} == {"android-720x1280", "ios-720x1280"}
    assert not await baselines.of_test(TestKey(str(uuid4()), test.test_id))


async def test_a_part_of_a_picture_is_read(baselines: MongoBaselines, test: TestKey) -> None:
    saved = await baselines.save(test, KEY, b"0123456789", None)
    assert b"".join([chunk async for chunk in baselines.read(saved, FilePart(2, 5, 10))]) == b"234"


async def test_a_deleted_baseline_is_gone_with_its_picture(scene: Scene, test: TestKey) -> None:
    await scene.baselines.save(test, KEY, b"png", None)
    assert not await scene.baselines.delete(TestKey(str(uuid4()), test.test_id), KEY)
    assert await scene.baselines.delete(test, KEY)
    assert not await scene.baselines.delete(test, KEY)
    assert (await scene.baselines.load(test, KEY), scene.objects()) == (None, 0)


async def test_a_test_has_a_limited_number(baselines: MongoBaselines, mongo: Mongo, test: TestKey) -> None:
    await baselines.save(test, baseline_key("0.png", "ios-1x1"), b"x", None)
    stored = mongo.collection(BASELINES)
    first = await stored.find_one({"test_id": test.test_id})
    await stored.insert_many([{**first, "_id": f"{first['_id']}{number}"} for number in range(1, BASELINES_LIMIT)])
    with pytest.raises(ResourceExhausted):
        await baselines.save(test, KEY, b"x", None)
    await baselines.save(test, baseline_key("0.png", "ios-1x1"), b"new", None)
    await baselines.save(TestKey(test.org_id, str(uuid4())), KEY, b"x", None)


async def test_the_bytes_of_an_organisation_are_limited_over_its_tests(scene: Scene, test: TestKey) -> None:
    """A picture that replaces another one takes its place; one that is refused leaves nothing."""
    other = TestKey(test.org_id, str(uuid4()))
    await scene.baselines.save(test, KEY, b"x" * 60, 100)
    with pytest.raises(PermissionDenied, match="baseline_bytes"):
        await scene.baselines.save(other, KEY, b"x" * 41, 100)
    await scene.baselines.save(other, KEY, b"x" * 40, 100)
    await scene.baselines.save(test, KEY, b"y" * 60, 100)
    await scene.baselines.save(TestKey(str(uuid4()), test.test_id), KEY, b"x" * 100, 100)
    assert await scene.baselines.used_bytes(test.org_id) == 100
    assert await scene.baselines.delete(other, KEY)
    await scene.baselines.save(test, OTHER, b"x" * 40, 100)
    assert scene.objects() == 3


async def test_pictures_accepted_together_stay_within_the_limit(baselines: MongoBaselines, test: TestKey) -> None:
    tests = [TestKey(test.org_id, str(uuid4())) for _ in range(6)]
    ends = await asyncio.gather(*(baselines.save(each, KEY, b"x" * 40, 100) for each in tests), return_exceptions=True)
    assert sum(isinstance(end, PermissionDenied) for end in ends) == 4
    assert await baselines.used_bytes(test.org_id) == 80


async def test_a_sweep_deletes_the_baselines_of_deleted_tests(scene: Scene, test: TestKey) -> None:
    gone, foreign = TestKey(test.org_id, str(uuid4())), TestKey(str(uuid4()), test.test_id)
    for each in (test, gone, foreign):
        await scene.baselines.save(each, KEY, b"png", None)
        await scene.baselines.save(each, OTHER, b"png", None)
    assert await DeletedTests(scene.baselines, FakeExistingTests(test), FakeLease()).sweep() is None
    assert len(await scene.baselines.of_test(test)) == 2
    assert not await scene.baselines.of_test(gone)
    assert not await scene.baselines.of_test(foreign)
    assert scene.objects() == 2


async def test_tests_are_paged_in_order(baselines: MongoBaselines, test: TestKey) -> None:
    """Pages neither repeat nor leave out a test that has several baselines."""
    own = {TestKey(test.org_id, str(uuid4())) for _ in range(3)}
    for each in own:
        await baselines.save(each, KEY, b"png", None)
        await baselines.save(each, OTHER, b"png", None)
    keys: list[TestKey] = []
    while page := await baselines.tests(keys[-1] if keys else None, 2):
        keys += page
    assert keys == sorted(set(keys))
    assert own <= set(keys)
