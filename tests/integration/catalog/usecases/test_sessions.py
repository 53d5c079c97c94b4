"""Beginning, verifying and ending sessions."""

import re
from uuid import uuid4

import pytest

from services.catalog.model.keys import SESSION_PREFIX, PresentedKey, format_key, new_secret
from services.catalog.model.values import Page
from services.catalog.usecases.sessions import SESSIONS_OF_KEY, IssuedSession, SessionUseCases
from services.chassis.errors import Unauthenticated
from tests.fakes.catalog_samples import at
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("operator")]

ENDED = r"^The session has ended; sign in again$"


@pytest.fixture
def sessions(catalog: Catalog) -> SessionUseCases:
    return SessionUseCases(catalog.store, catalog.ring, catalog.keys, catalog.clock)


async def begun(catalog: Catalog, sessions: SessionUseCases, minutes: int | None = None) -> IssuedSession:
    """A session with a new key, which expires after so many minutes."""
    issued = await catalog.keys.create("ada", [], None if minutes is None else at(minutes))
    return await sessions.begin(issued.value)


async def test_a_session_stands_for_its_key(catalog: Catalog, sessions: SessionUseCases) -> None:
    issued = await begun(catalog, sessions)
    assert re.fullmatch(r"ms_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", issued.token)
    assert issued.token not in repr(issued)
    stored = await catalog.mongo.collection("sessions").find_one({"_id": issued.signed_in.session.id})
    assert issued.token.split("_")[2][:32] not in repr(stored)
    verified = await sessions.verify(issued.token)
    assert (verified.session, verified.key.name) == (issued.signed_in.session, "ada")
    assert verified.expires_at == at(12 * 60)


async def test_a_wrong_key_begins_nothing(catalog: Catalog, sessions: SessionUseCases) -> None:
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await sessions.begin("mt_wrong")
    assert catalog.store.changes == 0


async def test_a_session_ends_after_twelve_hours(catalog: Catalog, sessions: SessionUseCases) -> None:
    issued = await begun(catalog, sessions)
    catalog.clock.minutes = 12 * 60 - 1
    await sessions.verify(issued.token)
    catalog.clock.minutes = 12 * 60
    with pytest.raises(Unauthenticated, match=ENDED) as refusal:
        await sessions.verify(issued.token)
    assert refusal.value.reason == "INVALID_SESSION"


async def test_a_session_ends_with_its_key(catalog: Catalog, sessions: SessionUseCases) -> None:
    brief, deleted = await begun(catalog, sessions, minutes=5), await begun(catalog, sessions)
    assert brief.signed_in.expires_at == at(5)
    await catalog.keys.delete(deleted.signed_in.key.id)
    with pytest.raises(Unauthenticated, match=ENDED):
        await sessions.verify(deleted.token)
    await sessions.verify(brief.token)
    catalog.clock.minutes = 5
    with pytest.raises(Unauthenticated, match=ENDED):
        await sessions.verify(brief.token)


async def test_a_session_that_was_ended_is_announced_once(catalog: Catalog, sessions: SessionUseCases) -> None:
    issued = await begun(catalog, sessions)
    key = (await catalog.keys.create("bob", [], None)).value
    first, second = await sessions.begin(key), await sessions.begin(key)
    catalog.store.facts.clear()
    for _ in range(2):
        await sessions.end(first.token)
    assert [fact.id for fact in catalog.store.facts] == [first.signed_in.session.id]
    for other in (issued, second):
        await sessions.verify(other.token)
    with pytest.raises(Unauthenticated, match=ENDED):
        await sessions.verify(first.token)


async def test_a_session_cannot_be_ended_without_its_secret(catalog: Catalog, sessions: SessionUseCases) -> None:
    issued = await begun(catalog, sessions)
    wrong = format_key(PresentedKey(issued.signed_in.session.lookup, "T" * 32), SESSION_PREFIX)
    await sessions.end(wrong)
    with pytest.raises(Unauthenticated, match=ENDED):
        await sessions.verify(wrong)
    await sessions.verify(issued.token)


async def test_another_sign_in_ends_the_oldest_session(catalog: Catalog, sessions: SessionUseCases) -> None:
    """Nobody locks the owner of a key out by signing in; whoever has been signed out is announced."""
    key = (await catalog.keys.create("ada", [], None)).value
    first = await sessions.begin(key)
    catalog.clock.minutes = 1
    second = await sessions.begin(key)
    other = await begun(catalog, sessions)
    rows = catalog.mongo.collection("sessions")
    row = await rows.find_one({"_id": second.signed_in.session.id})
    await rows.insert_many(
        {**row, "_id": str(uuid4()), "lookup": new_secret().lookup, "created_at": at(2)}
        for _ in range(SESSIONS_OF_KEY - 2)
    )
    catalog.store.facts.clear()
    catalog.clock.minutes = 3
    newest = await sessions.begin(key)
    assert [(fact.id, fact.revision) for fact in catalog.store.facts] == [(first.signed_in.session.id, 2)]
    with pytest.raises(Unauthenticated, match=ENDED):
        await sessions.verify(first.token)
    await sessions.end(newest.token)
    catalog.store.facts.clear()
    again = await sessions.begin(key)
    assert catalog.store.facts == []  # the one that makes room has been ended and announced
    for kept in (second, other, again):
        await sessions.verify(kept.token)
    assert await rows.count_documents({"api_key_id": first.signed_in.key.id}) == SESSIONS_OF_KEY


async def test_a_session_counts_as_a_use_of_its_key(catalog: Catalog, sessions: SessionUseCases) -> None:
    issued = await begun(catalog, sessions)
    catalog.clock.minutes = 2
    await sessions.verify(issued.token)
    assert (await catalog.keys.list(Page(1, 1))).items[0].last_used_at == at(2)
