"""Equal steps are stored once in an organisation, whatever tests and versions have them; nothing shows that."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from services.catalog.model.tests import VERSION_BYTES, Step, Test, TestFilter
from services.catalog.model.values import Counts, Page
from services.catalog.storage.apps import COUNTERS
from services.catalog.storage.deleted_tests import DeletedTestSweeper
from services.catalog.storage.inline_steps import FIRST, ROLLOUT, SHARED, InlineStepsSweeper, sharing_since
from services.catalog.storage.recount import recount
from services.catalog.storage.test_steps import TEST_STEPS, encode_steps
from services.catalog.storage.tests import TEST_VERSIONS, TESTS
from services.catalog.usecases.tests import NewTest
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument
from services.chassis.migrations import MIGRATIONS
from services.chassis.mongo import Mongo
from tests.fakes.catalog_samples import at, org
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

A: Sequence[Step] = ("Tap " + "a" * 400,) * 30
B: Sequence[Step] = ("Tap " + "b" * 400,) * 30
SIZE = len(encode_steps(tuple(A)))
DAY_MINUTES = 24 * 60
FIRST_PAGE = Page(1, 100)


async def create(catalog: Catalog, steps: Sequence[Step] = A, **fields: Any) -> Test:
    return (await catalog.tests.create(NewTest("T", tuple(steps), **fields))).test


async def edit(catalog: Catalog, test: Test, steps: Sequence[Step]) -> None:
    await catalog.tests.update(test.id, {"steps": steps})


async def delete(catalog: Catalog, *tests: Test) -> None:
    """Delete the tests, and what is stored of them a day later."""
    for test in tests:
        await catalog.tests.delete(test.id)
    catalog.clock.minutes += DAY_MINUTES + 1
    await DeletedTestSweeper(catalog.mongo, catalog.clock).sweep()


async def counted(catalog: Catalog) -> int:
    assert await recount(catalog.mongo) == Counts()
    return (await catalog.store.counters.with_reserved()).test_bytes


async def stored(catalog: Catalog) -> int:
    """The bytes of all documents with steps of the organisation."""
    sizes = [{"$match": {"org_id": org()}}, {"$group": {"_id": None, "bytes": {"$sum": {"$bsonSize": "$$ROOT"}}}}]
    totals_by_collection = [await catalog.mongo.aggregate(name, sizes) for name in (TESTS, TEST_VERSIONS, TEST_STEPS)]
    return sum(int(total["bytes"]) for totals in totals_by_collection for total in totals)


async def contents(catalog: Catalog) -> int:
    return int(await catalog.mongo.collection(TEST_STEPS).count_documents({"org_id": org()}))


class TestStored:
    async def test_edits_to_and_fro_cost_a_row_each(self, catalog: Catalog) -> None:
        test = await create(catalog)
        for steps in (B, A, B, A, B):
            await edit(catalog, test, steps)
        assert await counted(catalog) == 6 * VERSION_BYTES + 2 * SIZE
        assert await stored(catalog) < 3 * SIZE

    async def test_copies_cost_a_row_each(self, catalog: Catalog) -> None:
        for _ in range(10):
            await create(catalog)
        assert await counted(catalog) == 10 * VERSION_BYTES + SIZE
        assert await stored(catalog) < 2 * SIZE

    async def test_copies_that_are_made_at_the_same_time_share_their_steps(self, catalog: Catalog) -> None:
        other = Catalog(catalog.mongo, catalog.spool_folder)
        await asyncio.gather(*(create(process) for process in (catalog, other) for _ in range(5)))
        assert await counted(catalog) == 10 * VERSION_BYTES + SIZE
        assert await contents(catalog) == 1

    async def test_others_have_their_own(self, catalog: Catalog) -> None:
        await create(catalog)
        with context.bind(Caller(f"{org()}-other")):
            await create(catalog)
            assert (await contents(catalog), await counted(catalog)) == (1, VERSION_BYTES + SIZE)

    async def test_steps_are_removed_with_the_last_test_that_has_them(self, catalog: Catalog) -> None:
        first, second, other = await create(catalog), await create(catalog), await create(catalog, B)
        await edit(catalog, first, B)
        await edit(catalog, first, A)
        await delete(catalog, first)
        assert (await catalog.tests.get(second.id)).test.steps == A
        assert await counted(catalog) == 2 * VERSION_BYTES + 2 * SIZE
        await delete(catalog, second)
        assert (await catalog.tests.get(other.id)).test.steps == B
        assert (await contents(catalog), await counted(catalog)) == (1, VERSION_BYTES + SIZE)
        await create(catalog)
        await delete(catalog, other)
        assert await counted(catalog) == VERSION_BYTES + SIZE


class TestRead:
    async def test_every_read_has_the_steps(self, catalog: Catalog) -> None:
        first, second = await create(catalog, tags=("x",)), await create(catalog, tags=("x",))
        await edit(catalog, first, B)
        steps = {first.id: B, second.id: A}
        tests, ids = catalog.store.tests, list(steps)
        reads: list[Awaitable[Sequence[Test]]] = [
            tests.many(ids),
            tests.with_deleted(ids),
            tests.tagged(["x"]),
            tests.page(TestFilter(), FIRST_PAGE, with_steps=True),
        ]
        for read in reads:
            assert {test.id: test.steps for test in await read} == steps
        listed = (await catalog.tests.versions(first.id, FIRST_PAGE, with_steps=True)).items
        assert [(version.version_number, version.steps) for version in listed] == [(2, B), (1, A)]
        assert [version.steps for version in await tests.of_versions({first.id: 1})] == [A]
        for test in await tests.page(TestFilter(), FIRST_PAGE, with_steps=False):
            assert test.steps == ()
        assert [version.steps for version in await tests.versions(first.id, FIRST_PAGE, with_steps=False)] == [(), ()]

    async def test_a_plan_of_many_copies_is_as_large_as_the_copies(self, catalog: Catalog) -> None:
        """The executor gets the steps of each, beside all else that a test has."""
        ids = [(await create(catalog, tags=("x",))).id for _ in range(3)]
        for most, fits in ((3 * SIZE + 10_000, True), (3 * SIZE + 100, False)):
            for read in (
                catalog.store.tests.with_deleted(ids, most_bytes=most),
                catalog.store.tests.tagged(["x"], most_bytes=most),
                catalog.store.tests.of_versions(dict.fromkeys(ids, 1), most_bytes=most),
            ):
                if fits:
                    assert len(await read) == 3
                else:
                    with pytest.raises(InvalidArgument, match="would read more"):
                        await read

    async def test_a_test_whose_steps_are_missing_is_an_error(self, catalog: Catalog) -> None:
        """It is never one without steps, which would pass."""
        test = await create(catalog)
        await catalog.mongo.collection(TEST_STEPS).delete_many({"org_id": org()})
        with pytest.raises(LookupError, match=test.id):
            await catalog.tests.get(test.id)


class TestRollout:
    """Older versions of the service read only steps that tests and versions have themselves."""

    @pytest.fixture
    def catalog(self, catalog: Catalog) -> Catalog:
        return Catalog(catalog.mongo, catalog.spool_folder, sharing_since=at(60))

    async def sweep(self, catalog: Catalog) -> int:
        return await InlineStepsSweeper(catalog.mongo, catalog.clock, catalog.sharing_since).sweep()

    async def test_steps_are_moved_when_it_has_ended(self, catalog: Catalog) -> None:
        first, second = await create(catalog), await create(catalog)
        await edit(catalog, first, B)
        before = [await catalog.tests.get(test.id) for test in (first, second)]
        assert await counted(catalog) == 3 * (VERSION_BYTES + SIZE)
        assert (await self.sweep(catalog), await contents(catalog)) == (0, 0)
        catalog.clock.minutes = 60
        assert await self.sweep(catalog) >= 5
        assert [await catalog.tests.get(test.id) for test in (first, second)] == before
        listed = (await catalog.tests.versions(first.id, FIRST_PAGE, with_steps=True)).items
        assert [(version.version_number, version.steps) for version in listed] == [(2, B), (1, A)]
        assert await counted(catalog) == 3 * VERSION_BYTES + 2 * SIZE
        assert await stored(catalog) < 3 * SIZE
        await delete(catalog, first, second)
        assert (await contents(catalog), await counted(catalog)) == (0, 0)

    async def test_versions_that_were_not_counted_with_their_size(self, catalog: Catalog) -> None:
        await create(catalog)
        await catalog.mongo.collection(TEST_VERSIONS).update_many({"org_id": org()}, {"$unset": {"bytes": 1}})
        catalog.clock.minutes = 60
        await self.sweep(catalog)
        assert await counted(catalog) == VERSION_BYTES + SIZE

    async def test_what_older_versions_stored_is_counted_afterwards(self, catalog: Catalog) -> None:
        await catalog.limit()
        await create(catalog)
        await catalog.mongo.collection(COUNTERS).delete_many({"org_id": org()})
        catalog.clock.minutes = 60
        await self.sweep(catalog)
        counts = await catalog.store.counters.with_reserved()
        assert (counts.tests, counts.test_bytes) == (1, VERSION_BYTES + SIZE)

    async def test_what_changes_before_steps_are_moved(self, catalog: Catalog) -> None:
        """A test keeps its own steps until its version is moved: those of another test may be removed before."""
        old = await create(catalog)
        catalog.clock.minutes = 60
        new = await create(catalog)
        await catalog.tests.update(old.id, {"name": "Renamed"})
        await delete(catalog, new)
        assert await contents(catalog) == 0
        assert (await catalog.tests.get(old.id)).test.steps == A
        await edit(catalog, old, B)
        await self.sweep(catalog)
        assert (await catalog.tests.get(old.id)).test.steps == B
        assert await counted(catalog) == 2 * VERSION_BYTES + 2 * SIZE

    async def test_several_processes_move_a_version_once(self, catalog: Catalog) -> None:
        for _ in range(5):
            await create(catalog)
        catalog.clock.minutes = 60
        await asyncio.gather(*(self.sweep(catalog) for _ in range(3)))
        assert await counted(catalog) == 5 * VERSION_BYTES + SIZE


async def test_a_new_database_shares_steps_at_once_and_an_older_one_after_the_rollout(storage: Mongo) -> None:
    rows = storage.collection(MIGRATIONS)
    migrated = (await rows.find_one({"_id": SHARED}) or {})["applied_at"]
    assert await sharing_since(storage) == migrated
    before: dict[str, Any] = await rows.find_one({"_id": FIRST}) or {}
    try:
        await rows.update_one({"_id": FIRST}, {"$set": {"applied_at": migrated - ROLLOUT}})
        assert await sharing_since(storage) == migrated + ROLLOUT
    finally:
        await rows.replace_one({"_id": FIRST}, before)
