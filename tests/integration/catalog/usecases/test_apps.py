"""Registering, listing, changing and deleting apps."""

from uuid import uuid4

import pytest

from services.catalog.model.apps import App
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.chassis import context, ids
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument, NotFound
from tests.fakes.catalog_samples import at, chunks, org
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

IOS, ANDROID = Platform.IOS, Platform.ANDROID
FIRST = Page(1, 50)


async def made(catalog: Catalog, name: str = "Shop", platform: Platform = ANDROID) -> App:
    return await catalog.apps.create(name, platform, None)


async def test_a_new_app_is_kept_counted_and_announced(catalog: Catalog) -> None:
    app = await catalog.apps.create("  Shop ", IOS, "sells")
    assert (app.name, app.platform, app.description, app.org_id) == ("Shop", IOS, "sells", org())
    assert (app.created_at, app.revision, app.versions_count) == (at(0), 1, 0)
    assert await catalog.apps.get(app.id) == app
    assert await catalog.store.counters.get() == Counts(ios=1)
    assert catalog.store.facts == [app]


async def test_a_repeat_under_the_same_key_makes_one_app(catalog: Catalog) -> None:
    """A crash between the change and its record in the idempotency store leaves no second app."""
    apps = []
    for _ in range(2):
        with context.bind(Caller(org(), idempotency_key="k")), ids.derive_ids(org(), "CreateApp", "k"):
            apps.append(await made(catalog))
    assert apps[0] == apps[1]
    assert await catalog.store.counters.get() == Counts(android=1)


async def test_a_list_counts_without_looking(catalog: Catalog) -> None:
    """Totals come from the counters; counts per platform know no filter."""
    for name, platform in (("A", IOS), ("B", ANDROID), ("C", ANDROID)):
        await made(catalog, name, platform)
    for asked, total in ((None, 3), (IOS, 1), (ANDROID, 2)):
        listed, counts = await catalog.apps.list(asked, None, FIRST)
        assert (listed.total, len(listed.items)) == (total, total)
        assert counts == Counts(ios=1, android=2)


@pytest.mark.parametrize(
    ("search", "names"), [("SHO", {"Shop", "Photoshop"}), (".", set()), ("\x00", set()), ("x" * 900, set())]
)
async def test_a_search_counts_what_it_finds(catalog: Catalog, search: str, names: set[str]) -> None:
    for name in ("Shop", "Photoshop", "Bank"):
        await made(catalog, name)
    listed, counts = await catalog.apps.list(None, search, FIRST)
    assert ({app.name for app in listed.items}, listed.total) == (names, len(names))
    assert counts.apps == 3


async def test_apps_are_found_by_the_package_of_a_build(catalog: Catalog) -> None:
    """Live builds count, whatever number an app has of them."""
    shop, lite, other, gone = [await made(catalog, name) for name in ("Shop", "Shop lite", "Bank", "Old shop")]
    for app, version, package in (
        (shop, "1", "com.shop"),
        (shop, "2", "com.shop"),
        (lite, "1", "com.shop"),
        (other, "1", "com.shopping"),
        (gone, "1", "com.shop"),
    ):
        await catalog.upload(NewBuild(app.id, version, package_name=package), chunks(b"x"))
    await catalog.apps.delete(gone.id)
    listed, _ = await catalog.apps.list(None, None, FIRST, package_name="com.shop")
    assert ({app.name for app in listed.items}, listed.total) == ({"Shop", "Shop lite"}, 2)
    for platform, search, package in ((IOS, None, "com.shop"), (None, "bank", "com.shop"), (None, None, "com.sho")):
        listed, _ = await catalog.apps.list(platform, search, FIRST, package_name=package)
        assert (listed.items, listed.total) == ([], 0)


async def test_an_unknown_app_is_not_found(catalog: Catalog) -> None:
    app = await made(catalog)
    with context.bind(Caller(str(uuid4()))):
        for app_id in (app.id, str(uuid4())):
            for attempt in (catalog.apps.get(app_id), catalog.apps.update(app_id, {}), catalog.apps.delete(app_id)):
                with pytest.raises(NotFound, match=r"^App not found$"):
                    await attempt
        assert await catalog.apps.many([app.id]) == []


async def test_a_batch_keeps_the_order_and_leaves_out_the_unknown(catalog: Catalog) -> None:
    a, b = await made(catalog), await made(catalog)
    assert await catalog.apps.many([b.id, "unknown", a.id, b.id]) == [b, a, b]


async def test_an_empty_change_changes_nothing(catalog: Catalog) -> None:
    app = await made(catalog)
    assert await catalog.apps.update(app.id, {}) == app
    assert await catalog.apps.update(app.id, {"name": "Shop", "description": None}) == app
    assert catalog.store.facts == [app]


async def test_null_clears_but_leaves_the_name(catalog: Catalog) -> None:
    app = await made(catalog)
    texts = {"static_url": "https://x.test", "current_version": "2", "description": "d", "system_prompt": "p"}
    full = await catalog.apps.update(app.id, {"name": "Other", **texts})
    assert {name: getattr(full, name) for name in texts} == texts
    cleared = await catalog.apps.update(app.id, {"name": None, **dict.fromkeys(texts)})
    assert cleared.name == "Other"
    assert {getattr(cleared, name) for name in texts} == {None}
    assert (cleared.revision, catalog.store.facts[-1]) == (3, cleared)


async def test_links_that_run_scripts_or_read_files_are_refused(catalog: Catalog) -> None:
    app = await made(catalog)
    with pytest.raises(InvalidArgument, match="javascript: links are refused") as raised:
        await catalog.apps.update(app.id, {"static_url": "java\nscript:alert(1)"})
    assert [violation.field for violation in raised.value.violations] == ["static_url"]
    with pytest.raises(InvalidArgument, match="data: links are refused") as raised:
        await catalog.uploads.refer(NewBuild(app.id, "1", artifact_url="data:text/html,x"))
    assert [violation.field for violation in raised.value.violations] == ["artifact_url"]


async def test_the_current_version_may_be_yet_to_come(catalog: Catalog) -> None:
    """Its build is null until it is uploaded, set then, and null again when it is deleted."""
    app = await made(catalog)
    assert (await catalog.apps.update(app.id, {"current_version": "2.0"})).current_build_id is None
    build = await catalog.uploads.refer(NewBuild(app.id, "2.0", artifact_url="https://x.test/a.apk"))
    assert (await catalog.apps.get(app.id)).current_build_id == build.id
    await catalog.builds.delete(build.id)
    now = await catalog.apps.get(app.id)
    assert (now.current_version, now.current_build_id) == ("2.0", None)


async def test_a_deleted_app_takes_its_builds_and_attachments_along(catalog: Catalog) -> None:
    app = await made(catalog)
    build = await catalog.uploads.refer(NewBuild(app.id, "1", artifact_url="https://x.test/a.apk"))
    test = (await catalog.tests.create(NewTest("Pay", ("Tap Pay",)))).test
    await catalog.attachments.attach(app.id, test.id, "1")
    catalog.store.facts.clear()
    await catalog.apps.delete(app.id)
    counts = await catalog.store.counters.get()
    assert (counts.apps, counts.tests, counts.builds) == (0, 1, 0)
    assert await catalog.builds.many([build.id]) == []
    assert await catalog.store.attachments.of_tests([test.id]) == []
    assert [type(fact).__name__ for fact in catalog.store.facts] == ["Build", "Attachment", "App"]
    assert catalog.store.facts[-1].revision > app.revision
    with pytest.raises(NotFound):
        await catalog.apps.get(app.id)
