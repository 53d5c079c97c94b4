"""The ports Tests and Attachments."""

from dataclasses import replace
from functools import partial

import pytest

from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.model.attachments import detach
from services.catalog.model.tests import Quarantine, Step, TestFilter, TestVersion
from services.catalog.model.values import Page, Platform
from services.catalog.storage.store import MongoStore
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.text_search import search_pattern
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import a_test, at, attachment, org

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS: tuple[Step, ...] = ('Tap "Log in"', {"tapOn": {"id": "$x.y", "index": 1}}, {"launchApp": None})
FILE = MediaFile("p/cat.png", "ab" * 32, 9)


async def test_a_test_is_kept_as_it_is(store: MongoStore) -> None:
    full = a_test(
        platform=Platform.IOS,
        description="d",
        tags=("a", "b"),
        steps=STEPS,
        timeout_seconds=9,
        version_number=3,
        revision=5,
        files=(FILE,),
    )
    await store.tests.add(full)
    assert await store.tests.get("test") == full
    with pytest.raises(DuplicateValue):
        await store.tests.add(full)


async def test_a_deleted_test_is_seen_on_demand_only(store: MongoStore) -> None:
    """For the workflows that still list it."""
    gone = a_test(deleted_at=at(1))
    await store.tests.add(gone)
    assert await store.tests.get("test") is None
    assert await store.tests.many(["test"]) == []
    assert await store.tests.with_deleted(["test"]) == [gone]


async def test_no_more_steps_than_asked_for_are_read(store: MongoStore) -> None:
    await store.tests.add(a_test(tags=("x",), steps=("s" * 2000,)))
    for read in (partial(store.tests.with_deleted, ["test"]), partial(store.tests.tagged, ["x"])):
        assert len(await read(most_bytes=10_000)) == 1
        with pytest.raises(InvalidArgument) as refusal:
            await read(most_bytes=1000)
        assert refusal.value.reason == TOO_LARGE


FILTERS = [
    (TestFilter(), ["d", "c", "b", "a"]),
    (TestFilter(platform=Platform.IOS), ["d", "b", "a"]),
    (TestFilter(tag="smoke"), ["c", "a"]),
    (TestFilter(ids=("a", "d", "x")), ["d", "a"]),
    (TestFilter(ids=()), []),
    (TestFilter(pattern=search_pattern("IN")), ["b", "a"]),
    (TestFilter(platform=Platform.IOS, tag="smoke", pattern=search_pattern("log")), ["a"]),
    (TestFilter(quarantined_at=at(5)), ["d", "b"]),
    (TestFilter(quarantined_at=at(9), pattern=search_pattern("in")), []),
]


@pytest.mark.parametrize(("filter", "expected"), FILTERS)
async def test_filters(store: MongoStore, filter: TestFilter, expected: list[str]) -> None:
    """All conditions hold at once; a test without a platform fits every platform; newest first.

    A quarantine that is over does not count.
    """
    over, short, long = (Quarantine("Flaky", at(minutes), "CI", at(1)) for minutes in (5, 9, 10))
    await store.tests.add(a_test("a", None, 1, name="Log in", tags=("smoke",)))
    await store.tests.add(a_test("b", Platform.IOS, 2, name="Check in", quarantine=short))
    await store.tests.add(a_test("c", Platform.ANDROID, 3, name="Buy", tags=("slow", "smoke"), quarantine=over))
    await store.tests.add(a_test("d", None, 4, name="Pay", quarantine=long))
    assert [t.id for t in await store.tests.page(filter, Page(1, 10), with_steps=True)] == expected
    assert await store.tests.count(filter) == len(expected)


async def test_quarantines_are_found_by_the_tests(store: MongoStore) -> None:
    """With those that are over; of live tests of the caller's organisation only."""
    until = Quarantine("Flaky", at(9), "CI", at(1))
    kept = a_test("1", quarantine=until)
    await store.tests.add(kept)
    await store.tests.add(a_test("2"))
    await store.tests.add(a_test("3", quarantine=until, deleted_at=at(2)))
    assert await store.tests.get("1") == kept
    assert await store.tests.existing(["1", "2", "3", "4"]) == {"1", "2"}
    assert await store.tests.quarantines(["1", "2", "3", "4"]) == {"1": until}
    assert await store.tests.quarantines([]) == {}
    await store.tests.replace(replace(kept, quarantine=None))
    assert await store.tests.quarantines(["1"]) == {}
    with foreign():
        assert await store.tests.quarantines(["1"]) == {}


async def test_tagged_tests_come_by_name(store: MongoStore) -> None:
    await store.tests.add(a_test("1", name="beta", tags=("x", "y")))
    await store.tests.add(a_test("2", name="Alpha", tags=("y",)))
    await store.tests.add(a_test("3", name="gamma", tags=("z",)))
    assert [t.name for t in await store.tests.tagged(["x", "y"])] == ["Alpha", "beta"]


async def test_selected_tests_come_by_name_without_steps(store: MongoStore) -> None:
    await store.tests.add(a_test("1", name="beta", tags=("x", "y"), steps=STEPS))
    await store.tests.add(a_test("2", name="Alpha"))
    await store.tests.add(a_test("3", name="gamma", tags=("z",)))
    assert [(t.name, t.steps) for t in await store.tests.selected(["1", "2"], ["y"])] == [("Alpha", ()), ("beta", ())]
    assert await store.tests.selected([], []) == []


async def test_versions_come_newest_first(store: MongoStore) -> None:
    kept = [TestVersion("test", org(), number, STEPS[:number], at(number)) for number in (1, 2, 3)]
    for version in kept:
        await store.tests.add_version(version)
    assert await store.tests.versions("test", Page(1, 2), with_steps=True) == [kept[2], kept[1]]
    assert await store.tests.versions("test", Page(2, 2), with_steps=True) == [kept[0]]


async def test_steps_move_in_the_test_and_in_their_version_alone(store: MongoStore) -> None:
    test = a_test(steps=STEPS, version_number=2, positions="old")
    await store.tests.add(test)
    for number in (1, 2):
        await store.tests.add_version(TestVersion("test", org(), number, STEPS, at(number), positions="old"))
    await store.tests.move_steps(replace(test, name="not stored", positions="new"))
    moved = await store.tests.get("test")
    assert (moved, moved and moved.positions) == (test, "new")
    versions = await store.tests.versions("test", Page(1, 2), with_steps=True)
    assert [version.positions for version in versions] == ["new", "old"]
    assert [version.positions for version in await store.tests.versions("test", Page(1, 2), with_steps=False)] == [
        "",
        "",
    ]
    with foreign():
        await store.tests.move_steps(replace(test, positions="theirs"))
    moved = await store.tests.get("test")
    assert moved is not None
    assert moved.positions == "new"


async def test_files_of_all_versions_of_a_test(store: MongoStore) -> None:
    other = replace(FILE, sha256="cd" * 32)
    for number, files in enumerate(((), (FILE,), (FILE, other)), start=1):
        await store.tests.add_version(TestVersion("test", org(), number, STEPS, at(number), files))
    await store.tests.add_version(TestVersion("another", org(), 1, STEPS, at(0), (replace(FILE, sha256="ef" * 32),)))
    (newest,) = await store.tests.versions("test", Page(1, 1), with_steps=False)
    assert newest.files == (FILE, other)
    assert await store.tests.kept_files("test") == {FILE.sha256, other.sha256}
    with foreign():
        assert await store.tests.kept_files("test") == frozenset()


async def test_files_that_a_workspace_has_already(store: MongoStore) -> None:
    await store.tests.add(replace(a_test("a"), workspace="w", source_path="a.yaml", files=(FILE,)))
    assert await store.tests.stored_files("w", [FILE.sha256, "cd" * 32]) == {FILE.sha256}
    assert await store.tests.stored_files("other", [FILE.sha256]) == set()
    with foreign():
        assert await store.tests.stored_files("w", [FILE.sha256]) == set()


async def test_pages_have_steps_only_when_asked_for(store: MongoStore) -> None:
    await store.tests.add(a_test("a", steps=STEPS))
    await store.tests.add_version(TestVersion("a", org(), 1, STEPS, at(0)))
    pages = [await store.tests.page(TestFilter(), Page(1, 10), with_steps=asked) for asked in (False, True)]
    versions = [await store.tests.versions("a", Page(1, 10), with_steps=asked) for asked in (False, True)]
    assert [page[0].steps for page in pages] == [version[0].steps for version in versions] == [(), STEPS]


async def test_foreign_tests_do_not_exist(store: MongoStore) -> None:
    await store.tests.add(a_test(tags=("x",)))
    await store.tests.add_version(TestVersion("test", org(), 1, STEPS, at(0)))
    await store.attachments.put([attachment()])
    with foreign():
        assert await store.tests.get("test") is None
        assert await store.tests.with_deleted(["test"]) == []
        assert await store.tests.tagged(["x"]) == []
        assert await store.tests.versions("test", Page(1, 10), with_steps=True) == []
        assert await store.attachments.get("app", "test") is None
        assert await store.attachments.of_app("app") == []
        assert await store.attachments.of_tests(["test"]) == []


async def test_an_attachment_is_kept_changed_and_ended(store: MongoStore) -> None:
    """An ended one is seen only by those who ask for it alone."""
    pinned = attachment(pin="1.0")
    await store.attachments.put([pinned])
    assert await store.attachments.get("app", "test") == pinned
    ended = detach(pinned)
    await store.attachments.put([ended])
    assert await store.attachments.get("app", "test") == ended
    assert await store.attachments.of_app("app") == []
    assert await store.attachments.page("app", Page(1, 10)) == []
    assert await store.attachments.of_tests(["test"]) == []


async def test_all_attachments_of_an_app_end_at_once(store: MongoStore) -> None:
    """As if each was detached; those of other apps, and those that had ended, stay as they are."""
    before = detach(attachment(test_id="3", pin="1"))
    kept = [attachment(test_id="1", pin="1"), attachment(test_id="2"), before, attachment("other", "1")]
    await store.attachments.put(kept)
    await store.attachments.detach_all("app")
    attachments = [await store.attachments.get(each.app_id, each.test_id) for each in kept]
    assert attachments == [detach(kept[0]), detach(kept[1]), before, kept[3]]


async def test_the_attachments_of_an_app_come_by_name(store: MongoStore) -> None:
    named = {"1": "beta", "2": "Alpha", "3": "alpha"}
    await store.attachments.put([replace(attachment(test_id=id), test_name=name) for id, name in named.items()])
    assert [a.test_id for a in await store.attachments.of_app("app")] == ["2", "3", "1"]
    assert [a.test_id for a in await store.attachments.page("app", Page(2, 2))] == ["1"]
    await store.attachments.rename_test("2", "zeta")
    assert [a.test_name for a in await store.attachments.of_app("app")] == ["alpha", "beta", "zeta"]


async def test_the_attachments_of_tests_come_oldest_first(store: MongoStore) -> None:
    await store.attachments.put(
        [attachment("b", "1", minutes=2), attachment("a", "2", minutes=1), attachment("c", "3")]
    )
    assert [a.app_id for a in await store.attachments.of_tests(["1", "2"])] == ["a", "b"]


async def test_empty_queries_find_nothing(store: MongoStore) -> None:
    await store.tests.add(a_test(tags=("x",)))
    await store.attachments.put([attachment()])
    answers = [await store.tests.many([]), await store.tests.with_deleted([]), await store.tests.tagged([])]
    assert [list(tests) for tests in answers] == [[], [], []]
    assert list(await store.attachments.of_tests([])) == []


async def test_a_path_of_a_workspace_is_unique_among_live_tests(store: MongoStore) -> None:
    source = {"workspace": "w", "source_path": "a.yaml"}
    first = a_test("first", steps=STEPS, **source)
    await store.tests.add(first)
    with pytest.raises(DuplicateValue):
        await store.tests.add(a_test("second", **source))
    await store.tests.replace(replace(first, deleted_at=at(1)))
    await store.tests.add(a_test("second", **source))
    with foreign():
        await store.tests.add(a_test("third", **source))


async def test_tests_of_a_workspace(store: MongoStore) -> None:
    """Those at some paths with their steps, and the first ones elsewhere without."""
    for id, workspace, path in (
        ("1", "w", "b.yaml"),
        ("2", "w", "a.yaml"),
        ("3", "other", "a.yaml"),
        ("4", None, None),
    ):
        await store.tests.add(a_test(id, steps=STEPS, env={"A": "b"}, workspace=workspace, source_path=path))
    tests = await store.tests.elsewhere("w", ["c.yaml"], 10)
    assert [(test.id, test.source_path) for test in tests] == [("2", "a.yaml"), ("1", "b.yaml")]
    assert not any(test.steps or test.env for test in tests)
    assert [test.id for test in await store.tests.elsewhere("w", ["a.yaml"], 10)] == ["1"]
    assert [test.id for test in await store.tests.elsewhere("w", [], 1)] == ["2"]
    at_paths = await store.tests.at_paths("w", ["a.yaml", "c.yaml"])
    assert [(test.id, test.steps) for test in at_paths] == [("2", STEPS)]


async def test_versions_of_several_tests(store: MongoStore) -> None:
    """Those that exist, with their steps, and no more bytes than asked for."""
    for test_id, number in (("a", 1), ("a", 2), ("b", 1)):
        await store.tests.add_version(TestVersion(test_id, org(), number, (f"step {number}" * 200,), at(0)))
    test_versions = await store.tests.of_versions({"a": 1, "b": 1, "c": 1})
    assert {(version.test_id, version.version_number) for version in test_versions} == {("a", 1), ("b", 1)}
    assert all(version.steps == ("step 1" * 200,) for version in test_versions)
    assert not await store.tests.of_versions({"b": 2})
    assert not await store.tests.of_versions({})
