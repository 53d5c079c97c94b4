"""The ports Sessions and KeyRing."""

from dataclasses import replace

import pytest

from services.catalog.model.keys import new_secret
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.store import MongoStore
from services.chassis.mongo_errors import DuplicateValue
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import api_key, at, session

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_session_is_kept_as_it_is(store: MongoStore, ring: MongoKeyRing) -> None:
    offered = new_secret()
    begun = session(offered)
    await store.sessions.add(begun)
    assert await store.sessions.get(begun.id) == begun
    with foreign():
        assert await ring.find_session(offered.lookup) == begun
        assert await store.sessions.get(begun.id) is None
    with pytest.raises(DuplicateValue):
        await store.sessions.add(replace(begun, id="another"))


async def test_the_oldest_sessions_of_a_key_are_found_and_removed(store: MongoStore) -> None:
    """Those that have been ended come first."""
    sessions = [session(new_secret(), "key", minutes) for minutes in range(4)]
    for each in (*sessions, session(new_secret(), "other", 0)):
        await store.sessions.add(each)
    ended = replace(sessions[2], deleted_at=at(9))
    await store.sessions.replace(ended)
    assert list(await store.sessions.oldest_of_key("key", keep=4)) == []
    assert list(await store.sessions.oldest_of_key("key", keep=1)) == [ended, sessions[0], sessions[1]]
    with foreign():
        assert list(await store.sessions.oldest_of_key("key", keep=0)) == []
    for each in (ended, sessions[0]):
        await store.sessions.remove(each.id)
    assert list(await store.sessions.oldest_of_key("key", keep=0)) == [sessions[1], sessions[3]]


async def test_a_key_is_found_by_its_id(store: MongoStore, ring: MongoKeyRing) -> None:
    key = api_key(new_secret())
    await store.keys.add(key)
    with foreign():
        assert await ring.get(key.id) == key
    await store.keys.replace(replace(key, deleted_at=at(1)))
    assert await ring.get(key.id) is None
