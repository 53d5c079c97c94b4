"""The port Store: changes happen wholly or not at all, with their announcements."""

import asyncio

import pytest

from services.catalog.model.apps import App, raise_revision
from services.catalog.model.values import Counts
from services.catalog.ports import Transaction
from services.catalog.storage.store import MongoStore
from services.chassis.mongo_errors import DuplicateValue
from tests.fakes.catalog_samples import app, at, build

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Stop(Exception):
    """Ends a change in its middle."""


async def test_a_change_gives_its_result_and_is_kept(store: MongoStore) -> None:
    async def work(change: Transaction) -> str:
        await change.apps.add(app())
        await change.counters.add(Counts(android=1))
        return "done"

    assert await store.change(work) == "done"
    assert await store.apps.get("app") == app()
    assert await store.counters.get() == Counts(android=1)


async def test_a_failed_change_is_rolled_back(store: MongoStore) -> None:
    async def work(change: Transaction) -> None:
        await change.apps.add(app())
        await change.counters.add(Counts(android=1))
        raise Stop

    with pytest.raises(Stop):
        await store.change(work)
    assert await store.apps.get("app") is None
    assert await store.counters.get() == Counts()


async def test_a_taken_value_undoes_the_change(store: MongoStore) -> None:
    await store.builds.add(build("1.0"))

    async def work(change: Transaction) -> None:
        await change.apps.add(app())
        await change.builds.add(build("1.0", id="another"))

    with pytest.raises(DuplicateValue):
        await store.change(work)
    assert await store.apps.get("app") is None


async def test_a_change_reads_what_it_has_written(store: MongoStore) -> None:
    async def work(change: Transaction) -> App | None:
        await change.apps.add(app())
        assert await store.apps.get("app") is None
        return await change.apps.get("app")

    assert await store.change(work) == app()


async def test_changes_at_the_same_time_follow_each_other(store: MongoStore) -> None:
    await store.apps.add(app())

    async def work(change: Transaction) -> None:
        current = await change.apps.get("app")
        assert current is not None
        await change.apps.replace(raise_revision(current, at(1)))
        await change.counters.add(Counts(tests=1))

    await asyncio.gather(*(store.change(work) for _ in range(8)))
    kept = await store.apps.get("app")
    assert kept is not None
    assert kept.revision == 9
    assert await store.counters.get() == Counts(tests=8)
