"""Quarantine of tests: who, why, since, until; over by itself."""

from datetime import timedelta
from uuid import uuid4

import pytest
import pytest_asyncio

from services.catalog.model.tests import Quarantine, Test
from services.catalog.model.values import Page, Platform
from services.catalog.usecases.tests import NewTest
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import DomainError, InvalidArgument, NotFound
from tests.fakes.catalog_samples import at, org
from tests.integration.catalog.usecases.conftest import KEY_ID, Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

DAY = 24 * 60  # in minutes, as the clock of the tests counts


@pytest_asyncio.fixture(loop_scope="session")
async def test(catalog: Catalog) -> Test:
    """A test."""
    return (await catalog.tests.create(NewTest("Pay", ("Tap Pay",)))).test


async def shown(catalog: Catalog, test: Test) -> Quarantine | None:
    """The quarantine as the test is read now."""
    return (await catalog.tests.get(test.id)).quarantine


async def named_key(catalog: Catalog, name: str) -> str:
    with context.bind(Caller(org(), scopes=context.ALL_SCOPES)):
        return (await catalog.keys.create(name, (), None)).key.id


async def test_it_has_a_reason_an_end_a_name_and_a_beginning(catalog: Catalog, test: Test) -> None:
    """The end is two weeks away when none is given; the name is that of the caller's API key."""
    catalog.clock.minutes = 5
    with context.bind(Caller(org(), subject=await named_key(catalog, "CI of the shop"))):
        answer = await catalog.quarantine.begin(test.id, "  Waits for the fix\n", None)
    assert answer.quarantine == Quarantine("Waits for the fix", at(5 + 14 * DAY), "CI of the shop", at(5))
    assert await shown(catalog, test) == answer.quarantine


async def test_it_is_announced_with_the_next_revision(catalog: Catalog, test: Test) -> None:
    catalog.clock.minutes = 5
    kept = (await catalog.quarantine.begin(test.id, "Flaky", None)).test
    assert (kept.revision, kept.version_number, kept.updated_at) == (test.revision + 1, 1, at(5))
    assert catalog.store.facts == [test, kept]


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001, "a\x00b", "\u200b\n\u2060"])
async def test_a_reason_has_1_to_1000_characters(catalog: Catalog, test: Test, reason: str) -> None:
    """And no control characters except tabs and line breaks."""
    assert await refused(catalog, test, reason, None) == ["reason"]
    assert (await catalog.quarantine.begin(test.id, f" {'x' * 997}\n\tx ", None)).quarantine is not None


@pytest.mark.parametrize(
    ("minutes", "fits"), [(-1, False), (0, False), (1, True), (366 * DAY, True), (366 * DAY + 1, False)]
)
async def test_an_end_lies_ahead_but_not_far(catalog: Catalog, test: Test, minutes: int, fits: bool) -> None:
    if fits:
        await catalog.quarantine.begin(test.id, "Flaky", at(minutes))
    else:
        assert await refused(catalog, test, "Flaky", at(minutes)) == ["until"]


async def refused(catalog: Catalog, test: Test, *wish: object) -> list[str]:
    """The fields that the refusal names; nothing was changed."""
    with pytest.raises(InvalidArgument) as refusal:
        await catalog.quarantine.begin(test.id, *wish)  # type: ignore[arg-type]
    assert catalog.store.facts == [test]
    return [violation.field for violation in refusal.value.violations]


async def test_a_quarantine_expires_by_itself(catalog: Catalog, test: Test) -> None:
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    await catalog.quarantine.begin(test.id, "Flaky", at(10))
    await catalog.attachments.attach(app.id, test.id, None)
    written = catalog.store.changes
    for minutes, lasts in ((9, True), (10, False)):
        catalog.clock.minutes = minutes
        listed = (await catalog.tests.list(Page(1, 10))).items[0].quarantine
        together = (await catalog.tests.many([test.id]))[0].quarantine
        of_app = (await catalog.attachments.list(app.id, Page(1, 10))).items[0].quarantine
        again = (await catalog.tests.update(test.id, {})).quarantine
        shown_everywhere = [await shown(catalog, test), listed, together, of_app, again]
        assert [each is not None for each in shown_everywhere] == [lasts] * 5
    assert catalog.store.changes == written + 2  # the empty updates, which write nothing
    assert [fact.revision for fact in catalog.store.facts if isinstance(fact, Test)] == [1, 2]


async def test_a_change_keeps_the_beginning(catalog: Catalog, test: Test) -> None:
    await catalog.quarantine.begin(test.id, "Flaky", at(100))
    catalog.clock.minutes = 50
    with context.bind(Caller(org())):
        changed = await catalog.quarantine.begin(test.id, "Waits for SHOP-1", at(200))
    assert changed.quarantine == Quarantine("Waits for SHOP-1", at(200), "internal", at(0))


async def test_a_quarantine_after_an_expired_one_is_new(catalog: Catalog, test: Test) -> None:
    await catalog.quarantine.begin(test.id, "Flaky", at(100))
    catalog.clock.minutes = 100
    assert (await begun(catalog, test)).since == at(100)
    catalog.clock.minutes = 101
    await catalog.quarantine.end(test.id)
    assert (await begun(catalog, test)).since == at(101)


async def begun(catalog: Catalog, test: Test) -> Quarantine:
    until = catalog.clock.now() + timedelta(days=1)
    quarantine = (await catalog.quarantine.begin(test.id, "Flaky", until)).quarantine
    assert quarantine is not None
    return quarantine


async def test_repeating_the_same_call_changes_nothing(catalog: Catalog, test: Test) -> None:
    first = await catalog.quarantine.begin(test.id, "Flaky", at(100))
    catalog.clock.minutes = 1
    assert await catalog.quarantine.begin(test.id, "Flaky", at(100)) == first
    assert len(catalog.store.facts) == 2


async def test_it_can_be_ended_and_ended_again(catalog: Catalog, test: Test) -> None:
    """The second time, and for a test that never had one, nothing is written."""
    await catalog.quarantine.end(test.id)
    assert catalog.store.facts == [test]
    await catalog.quarantine.begin(test.id, "Flaky", None)
    await catalog.quarantine.end(test.id)
    await catalog.quarantine.end(test.id)
    assert await shown(catalog, test) is None
    assert [fact.revision for fact in catalog.store.facts] == [1, 2, 3]


async def test_other_changes_of_the_test_leave_it(catalog: Catalog, test: Test) -> None:
    """An edit, an attachment; the deletion of the test ends it."""
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    quarantine = (await catalog.quarantine.begin(test.id, "Flaky", None)).quarantine
    assert (await catalog.tests.update(test.id, {"name": "Pay by card"})).quarantine == quarantine
    assert (await catalog.attachments.attach(app.id, test.id, None)).quarantine == quarantine
    assert await shown(catalog, test) == quarantine
    await catalog.tests.delete(test.id)
    gone = catalog.store.facts[-1]
    assert isinstance(gone, Test)
    assert (gone.quarantine, gone.deleted_at is not None) == (None, True)


async def test_a_key_that_is_deleted_meanwhile_is_named_by_its_id(catalog: Catalog, test: Test) -> None:
    """It was valid when the request came in."""
    quarantine = (await catalog.quarantine.begin(test.id, "Flaky", None)).quarantine
    assert quarantine is not None
    assert quarantine.by == KEY_ID


async def test_an_unknown_a_deleted_and_a_foreign_test_look_the_same(catalog: Catalog, test: Test) -> None:
    with context.bind(Caller(str(uuid4()))):
        foreign = (await catalog.tests.create(NewTest("Pay", ("Tap Pay",)))).test
    await catalog.tests.delete(test.id)
    for test_id in (test.id, foreign.id, "unknown"):
        assert await failure(catalog.quarantine.begin(test_id, "Flaky", None)) == "Test not found"
        assert await failure(catalog.quarantine.end(test_id)) == "Test not found"


async def failure(call: object) -> str:
    """The message of the NotFound that the call ends with."""
    with pytest.raises(NotFound) as error:
        await call  # type: ignore[misc]
    assert isinstance(error.value, DomainError)
    return error.value.message
