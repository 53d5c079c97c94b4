"""The ports Builds and Artifacts."""

import pytest

from services.catalog.model.builds import BuildFilter
from services.catalog.model.values import Page
from services.catalog.storage.store import MongoStore
from services.chassis import context
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import at, build

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHA = "ab" * 32


async def test_a_build_is_kept_as_it_is(store: MongoStore) -> None:
    metadata = {"$where": "1", "a.b": [1, 2.5, None, True], "": {"\u00e9\U0001f600": "x"}, "n": 2**53}
    full = build(
        artifact_url="org/sha",
        metadata=metadata,
        owner="o",
        package_name="p",
        was_reused=True,
        sha256=SHA,
        size=2**40,
        file_name="a.apk",
        revision=4,
    )
    await store.builds.add(full)
    assert await store.builds.get(full.id) == full
    assert await store.builds.many([full.id, "unknown"]) == [full]


async def test_versions_differ_by_case(store: MongoStore) -> None:
    await store.builds.add(build("1.0-rc"))
    await store.builds.add(build("1.0-RC"))
    assert await store.builds.of_version("app", "1.0-RC") == build("1.0-RC")


async def test_the_newest_build_comes_first_and_ids_break_ties(store: MongoStore) -> None:
    for version, minutes in (("1", 1), ("2", 3), ("3", 3), ("4", 2)):
        await store.builds.add(build(version, minutes=minutes))
    await store.builds.add(build("9", "another app", minutes=9))
    pages = [await store.builds.page("app", Page(number, 3)) for number in (1, 2)]
    assert [[b.version for b in page] for page in pages] == [["3", "2", "4"], ["1"]]
    newest = await store.builds.newest("app")
    assert newest is not None
    assert newest.version == "3"
    assert await store.builds.newest("empty app") is None


async def test_builds_by_versions_and_of_an_app(store: MongoStore) -> None:
    kept = [build("1", "a"), build("2", "a"), build("1", "b")]
    for each in kept:
        await store.builds.add(each)
    assert {b.id for b in await store.builds.of_versions({"a", "b"}, {"1"})} == {"a@1", "b@1"}
    assert {b.id for b in await store.builds.of_app("a")} == {"a@1", "a@2"}


async def test_all_builds_of_an_app_are_deleted_at_once(store: MongoStore) -> None:
    """Those of other apps and organisations stay; a version may be used again."""
    for each in (build("1", "a"), build("2", "a"), build("1", "b")):
        await store.builds.add(each)
    with foreign() as other:
        await store.builds.add(build("1", "a", id="foreign"))
        await store.builds.delete_all("b", at(1))
    await store.builds.delete_all("a", at(1))
    with context.bind(other):
        assert len(await store.builds.of_app("a")) == 1
    assert await store.builds.of_app("a") == []
    assert await store.builds.of_app("b") == [build("1", "b")]
    await store.builds.add(build("1", "a", id="again"))


async def test_foreign_builds_do_not_exist(store: MongoStore) -> None:
    await store.builds.add(build())
    with foreign():
        assert await store.builds.get(build().id) is None
        assert await store.builds.of_version("app", "1.0") is None
        assert await store.builds.page("app", Page(1, 10)) == []
        await store.builds.add(build("1.0", id="another"))


async def test_builds_of_a_content_or_version(store: MongoStore) -> None:
    """Each filter for itself, and both together; only live builds of the app."""
    for each in (build("1", sha256=SHA), build("2", sha256=SHA), build("3", sha256="cd" * 32)):
        await store.builds.add(each)
    await store.builds.add(build("1", "another app", sha256=SHA))
    await store.builds.add(build("4", sha256=SHA, deleted_at=at(1)))
    app_id = build("1").app_id
    for filter, versions in [
        (BuildFilter(sha256=SHA), {"1", "2"}),
        (BuildFilter(version="3"), {"3"}),
        (BuildFilter(SHA, "2"), {"2"}),
        (BuildFilter(SHA, "3"), set()),
        (BuildFilter(version="4"), set()),
    ]:
        assert {build.version for build in await store.builds.page(app_id, Page(1, 10), filter)} == versions
        assert await store.builds.count(app_id, filter) == len(versions)
    with foreign():
        assert await store.builds.count(app_id, BuildFilter(SHA)) == 0
