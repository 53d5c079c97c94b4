"""What people write about groups of failures: who, when, within which bounds, and until the app is deleted."""

from collections.abc import Mapping
from typing import Any

import pytest
import pytest_asyncio

from services.catalog.model import failures
from services.catalog.model.apps import App
from services.catalog.model.failures import FailureState, FailureTriage
from services.catalog.model.values import Platform
from services.catalog.ports import Transaction
from services.catalog.storage.documents import MOST_BYTES
from services.catalog.usecases.failures import FailureTriageUseCases
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import Aborted, DomainError, InvalidArgument, NotFound
from tests.fakes.catalog_samples import at, org
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

PRINT = "0123456789abcdef"
KNOWN: Mapping[str, Any] = {
    "state": FailureState.KNOWN,
    "note": " Waits for\nthe bank ",
    "ticket_url": "https://tickets.example/browse/PAY-7?x=1",
    "owner": "Ana",
}


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    return await catalog.apps.create("Shop", Platform.ANDROID, None)


@pytest.fixture
def triages(catalog: Catalog) -> FailureTriageUseCases:
    return FailureTriageUseCases(catalog.store, catalog.clock)


async def test_it_is_written_once_and_announced_before_its_app(
    catalog: Catalog, triages: FailureTriageUseCases, app: App
) -> None:
    assert await triages.get(app.id, PRINT) == FailureTriage(org(), app.id, PRINT)
    catalog.store.facts.clear()
    catalog.clock.minutes = 5
    with context.bind(Caller(org(), scopes=context.ALL_SCOPES)):
        written = await triages.update(app.id, PRINT, KNOWN)
        assert await triages.update(app.id, PRINT, KNOWN) == written
    assert (written.note, written.owner, written.revision) == ("Waits for\nthe bank", "Ana", 2)
    assert (written.updated_by, written.updated_at) == ("internal", at(5))
    assert catalog.store.facts == [written, await catalog.apps.get(app.id)]
    assert await triages.get(app.id, PRINT) == written
    with pytest.raises(Aborted):
        await triages.update(app.id, PRINT, {"note": None}, expected=[1])


async def test_the_version_of_the_fix_goes_with_the_state(triages: FailureTriageUseCases, app: App) -> None:
    with pytest.raises(InvalidArgument, match="set the state to fixed, too"):
        await triages.update(app.id, PRINT, {"fixed_in": "1.2"})
    fixed = await triages.update(app.id, PRINT, {"state": FailureState.FIXED, "fixed_in": " 1.2 "})
    assert fixed.fixed_in == "1.2"
    assert (await triages.update(app.id, PRINT, {"state": None})).fixed_in is None


@pytest.mark.parametrize(
    "changes",
    [
        {"ticket_url": "javascript:alert(1)"},
        {"ticket_url": "https://x.test/a b"},
        {"ticket_url": "https://x.test/<b>"},
        {"note": "n" * 2001},
        {"owner": "o" * 101},
        {"owner": "two\nlines"},
    ],
)
async def test_what_cannot_be_written_is_refused(
    triages: FailureTriageUseCases, app: App, changes: Mapping[str, Any]
) -> None:
    with pytest.raises(InvalidArgument):
        await triages.update(app.id, PRINT, changes)


async def test_an_organisation_has_a_bounded_number(
    triages: FailureTriageUseCases, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.catalog.usecases.failures.TRIAGES_LIMIT", 1)
    await triages.update(app.id, PRINT, KNOWN)
    with pytest.raises(DomainError, match="failure_triages"):
        await triages.update(app.id, "f" * 16, {"owner": "Bo"})
    await triages.update(app.id, PRINT, dict.fromkeys(KNOWN))
    assert (await triages.update(app.id, "f" * 16, {"owner": "Bo"})).owner == "Bo"
    assert failures.TRIAGES_LIMIT == 5_000


async def test_it_ends_with_the_app(catalog: Catalog, triages: FailureTriageUseCases, app: App) -> None:
    written = await triages.update(app.id, PRINT, KNOWN)
    catalog.store.facts.clear()
    await catalog.apps.delete(app.id)
    cleared = FailureTriage(org(), app.id, PRINT, revision=written.revision + 1)
    assert cleared in catalog.store.facts
    assert await catalog.store.failure_triages.get(app.id, PRINT) == cleared
    assert await catalog.store.failure_triages.count() == 0
    with pytest.raises(NotFound):
        await triages.get(app.id, PRINT)


async def test_an_app_is_deleted_with_more_texts_than_one_read_may_bring(catalog: Catalog, app: App) -> None:
    longest = {"note": "\N{LADY BEETLE}" * 2_000, "ticket_url": f"https://t.example/{'x' * 1_900}"}

    async def write(change: Transaction) -> None:
        for number in range(MOST_BYTES // 9_900 + 1):
            await change.failure_triages.put(FailureTriage(org(), app.id, f"{number:016x}", **longest))

    await catalog.store.change(write)
    await catalog.apps.delete(app.id)
    assert await catalog.store.failure_triages.count() == 0


async def test_another_organisation_sees_nothing(triages: FailureTriageUseCases, app: App) -> None:
    with context.bind(Caller("other", scopes=context.ALL_SCOPES)), pytest.raises(NotFound):
        await triages.update(app.id, PRINT, KNOWN)
