"""Writing, listing, changing, deleting, attaching and detaching tests."""

from uuid import uuid4

import pytest
import pytest_asyncio

from services.catalog.model.apps import App
from services.catalog.model.attachments import Relationship
from services.catalog.model.tests import Step, Test
from services.catalog.model.values import Page, Platform
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument, NotFound
from tests.integration.catalog.usecases.conftest import Catalog, refused_fields

pytestmark = pytest.mark.asyncio(loop_scope="session")

IOS, ANDROID = Platform.IOS, Platform.ANDROID

STEPS: tuple[Step, ...] = ('Tap "Log in"', {"tapOn": "Next"})

FIRST = Page(1, 50)


async def written(catalog: Catalog, name: str = "Log in", platform: Platform | None = None, *tags: str) -> Test:
    return (await catalog.tests.create(NewTest(name, STEPS, platform=platform, tags=tags))).test


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    """An Android app."""
    return await catalog.apps.create("Shop", ANDROID, None)


async def test_a_new_test_is_kept_with_its_first_version(catalog: Catalog) -> None:
    test = await written(catalog, " Log in ", IOS, "smoke", " smoke")
    assert (test.name, test.platform, test.tags, test.version_number) == ("Log in", IOS, ("smoke",), 1)
    assert (await catalog.tests.get(test.id)).test == test
    versions = await catalog.tests.versions(test.id, FIRST, with_steps=True)
    assert [(v.version_number, v.steps) for v in versions.items] == [(1, STEPS)]
    assert (await catalog.store.counters.get()).tests == 1
    assert catalog.store.facts == [test]


async def test_steps_that_cannot_be_understood_are_named(catalog: Catalog) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        await catalog.tests.create(NewTest("t", ('Tap "x"', {"tapp": 1}, "", {"tapOn": "x"})))
    assert [v.field.split(".")[0] for v in refusal.value.violations] == ["steps[1]", "steps[2]"]
    test = await written(catalog)
    with pytest.raises(InvalidArgument):
        await catalog.tests.update(test.id, {"steps": ()})


async def test_unknown_keys_of_a_configuration_are_answered_with_a_notice(catalog: Catalog) -> None:
    """Each time that the flow or the steps are sent, and at no other time."""
    flow = "appId: a.b\nowner: x\n---\n- back"
    created = await catalog.tests.create(NewTest("t", flow=flow))
    assert created.notices == ('line 2, column 1 (flow): "owner" has no effect here',)
    assert (await catalog.tests.get(created.test.id)).notices == ()
    assert (await catalog.tests.update(created.test.id, {"name": "u"})).notices == ()
    assert (await catalog.tests.update(created.test.id, {"flow": flow})).notices == created.notices
    assert len((await catalog.tests.update(created.test.id, {"steps": created.test.steps})).notices) == 1


async def test_an_edit_of_the_steps_is_a_new_version(catalog: Catalog) -> None:
    """Other changes are not, nor are the same steps again."""
    test = await written(catalog)
    edited = (await catalog.tests.update(test.id, {"steps": STEPS[:1]})).test
    assert (edited.version_number, edited.revision) == (2, 2)
    renamed = (await catalog.tests.update(test.id, {"name": "Sign in", "steps": STEPS[:1], "tags": ["x"]})).test
    assert (renamed.version_number, renamed.revision, renamed.tags) == (2, 3, ("x",))
    versions = await catalog.tests.versions(test.id, FIRST, with_steps=True)
    assert [(v.version_number, v.steps) for v in versions.items] == [(2, STEPS[:1]), (1, STEPS)]
    assert catalog.store.facts == [test, edited, renamed]


async def test_an_empty_change_of_a_test_changes_nothing(catalog: Catalog) -> None:
    test = await written(catalog)
    assert (await catalog.tests.update(test.id, {})).test == test
    assert (await catalog.tests.update(test.id, {"steps": STEPS, "description": None})).test == test


async def test_null_clears_a_test_but_not_its_name(catalog: Catalog) -> None:
    new = NewTest("t", STEPS, "d", IOS, ("x",), 9)
    test = (await catalog.tests.create(new)).test
    cleared = dict.fromkeys(("description", "platform", "tags", "timeout_seconds"))
    now = (await catalog.tests.update(test.id, cleared)).test
    assert (now.description, now.platform, now.tags, now.timeout_seconds) == (None, None, (), None)
    assert await refused_fields(catalog.tests.update(test.id, {"name": None})) == ["name"]


async def test_attaching_pinning_and_detaching(catalog: Catalog, app: App) -> None:
    test = await written(catalog)
    counts = []
    for pin in (None, "1.0", "1.0", "2.0", None):
        targeted = await catalog.attachments.attach(app.id, test.id, pin)
        assert (targeted.attachment.pinned_version, targeted.target_version) == (pin, pin)
        now = await catalog.apps.get(app.id)
        counts.append((now.attached_tests, now.pinned_tests, now.revision))
    assert counts == [(1, 0, 2), (1, 1, 3), (1, 1, 3), (1, 1, 4), (1, 0, 5)]
    await catalog.attachments.detach(app.id, test.id)
    now = await catalog.apps.get(app.id)
    assert (now.attached_tests, now.pinned_tests, now.revision) == (0, 0, 6)
    ended = catalog.store.facts[-2]
    assert (ended, ended.revision) == (await catalog.store.attachments.get(app.id, test.id), 5)


async def test_a_renewed_attachment_continues_its_revisions(catalog: Catalog, app: App) -> None:
    """So that a consumer never takes the old one for the newer."""
    test = await written(catalog)
    await catalog.attachments.attach(app.id, test.id, "1")
    await catalog.attachments.detach(app.id, test.id)
    catalog.clock.minutes = 5
    again = (await catalog.attachments.attach(app.id, test.id, None)).attachment
    assert (again.revision, again.attached, again.relationship) == (3, True, Relationship.ATTACHED)
    assert again.created_at == catalog.clock.now()


async def test_the_target_follows_the_app(catalog: Catalog, app: App) -> None:
    """The pin, else the current build, else the newest."""
    test = await written(catalog)
    await catalog.attachments.attach(app.id, test.id, None)
    for minute, version in enumerate(("1", "2")):
        catalog.clock.minutes = minute
        await catalog.uploads.refer(NewBuild(app.id, version, artifact_url="https://x.test"))
    targets = []
    for current in (None, "1", "unborn"):
        await catalog.apps.update(app.id, {"current_version": current})
        listed = await catalog.attachments.list(app.id, FIRST)
        targets.append(listed.items[0].target_version)
    assert targets == ["2", "1", "2"]


async def test_the_total_of_a_platform_has_the_tests_for_any(catalog: Catalog) -> None:
    await written(catalog, "Any")
    await written(catalog, "Only iOS", IOS)
    listed = [await catalog.tests.list(Page(1, 1), platform=platform) for platform in (None, IOS, ANDROID)]
    assert [each.total for each in listed] == [2, 2, 1]


async def test_platforms_must_agree(catalog: Catalog, app: App) -> None:
    """On attaching, and when an attached test changes its platform."""
    ios = await written(catalog, "ios", IOS)
    with pytest.raises(InvalidArgument, match="the test is for iOS, the app for Android"):
        await catalog.attachments.attach(app.id, ios.id, None)
    both = await written(catalog, "both")
    await catalog.attachments.attach(app.id, both.id, None)
    assert await refused_fields(catalog.tests.update(both.id, {"platform": IOS})) == ["platform"]
    assert (await catalog.tests.update(both.id, {"platform": ANDROID})).test.platform is ANDROID


async def test_a_test_shows_the_apps_it_is_attached_to(catalog: Catalog, app: App) -> None:
    test = await written(catalog)
    other = await catalog.apps.create("Other", ANDROID, None)
    await catalog.attachments.attach(other.id, test.id, "1")
    catalog.clock.minutes = 1
    await catalog.attachments.attach(app.id, test.id, None)
    await catalog.apps.update(app.id, {"name": "Shop 2"})
    shown = (await catalog.tests.get(test.id)).attachments
    assert [(name, a.pinned_version) for a, name in shown] == [("Other", "1"), ("Shop 2", None)]


async def test_what_is_not_there_cannot_be_attached_or_detached(catalog: Catalog, app: App) -> None:
    test, unknown = await written(catalog), str(uuid4())
    for app_id, test_id, message in ((unknown, test.id, "App not found"), (app.id, unknown, "Test not found")):
        with pytest.raises(NotFound, match=f"^{message}$"):
            await catalog.attachments.attach(app_id, test_id, None)
        with pytest.raises(NotFound, match=f"^{message}$"):
            await catalog.attachments.detach(app_id, test_id)
    with pytest.raises(NotFound, match="not attached"):
        await catalog.attachments.detach(app.id, test.id)
    with context.bind(Caller(unknown)), pytest.raises(NotFound, match=r"^App not found$"):
        await catalog.attachments.attach(app.id, test.id, None)


async def test_a_renamed_test_is_renamed_in_the_apps_list(catalog: Catalog, app: App) -> None:
    a, b = await written(catalog, "a"), await written(catalog, "b")
    for test in (a, b):
        await catalog.attachments.attach(app.id, test.id, None)
    await catalog.tests.update(a.id, {"name": "z"})
    listed = await catalog.attachments.list(app.id, FIRST)
    assert [t.attachment.test_name for t in listed.items] == ["b", "z"]
    assert listed.total == 2


async def test_a_deleted_test_is_detached_and_leaves_its_workflows(catalog: Catalog, app: App) -> None:
    """Its app's counts go down, its versions are kept, and it is announced last."""
    test, other = await written(catalog), await written(catalog)
    await catalog.attachments.attach(app.id, test.id, "1")
    workflow = await catalog.workflows.create(NewWorkflow("w", test_ids=(test.id, other.id)))
    catalog.store.facts.clear()
    await catalog.tests.delete(test.id)
    now = await catalog.apps.get(app.id)
    assert (now.attached_tests, now.pinned_tests) == (0, 0)
    assert (await catalog.workflows.get(workflow.id)).test_ids == (other.id,)
    counts = await catalog.store.counters.get()
    assert (counts.android, counts.tests, counts.workflows) == (1, 1, 1)
    assert [type(fact).__name__ for fact in catalog.store.facts] == ["Attachment", "App", "Test"]
    for call in (catalog.tests.get(test.id), catalog.tests.versions(test.id, FIRST), catalog.tests.delete(test.id)):
        with pytest.raises(NotFound, match=r"^Test not found$"):
            await call


async def test_the_tests_of_an_app_are_listed(catalog: Catalog, app: App) -> None:
    attached, _ = await written(catalog, "a"), await written(catalog, "b")
    await catalog.attachments.attach(app.id, attached.id, None)
    for query, names in (({"app_id": app.id}, ["a"]), ({"app_id": str(uuid4())}, []), ({"search": "\x00"}, [])):
        listed = await catalog.tests.list(FIRST, **query)
        assert ([each.test.name for each in listed.items], listed.total) == (names, len(names))


async def test_a_batch_of_tests(catalog: Catalog) -> None:
    a, b = await written(catalog, "a"), await written(catalog, "b")
    assert [each.test for each in await catalog.tests.many([b.id, "unknown", a.id])] == [b, a]
