"""The ports Sessions and KeyRing, in memory and on MongoDB."""

from dataclasses import replace

import pytest

from services.catalog.model.keys import new_secret
from services.catalog.ports import DuplicateValue, KeyRing, Store
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import api_key, at, session


async def test_a_session_is_kept_as_it_is(store: Store, ring: KeyRing) -> None:
    offered = new_secret()
    begun = session(offered)
    await store.sessions.add(begun)
    assert await store.sessions.get(begun.id) == begun
    with foreign():
        assert await ring.find_session(offered.lookup) == begun
        assert await store.sessions.get(begun.id) is None
    with pytest.raises(DuplicateValue):
        await store.sessions.add(replace(begun, id="another"))


async def test_a_session_that_was_ended_is_gone_but_counts(store: Store, ring: KeyRing) -> None:
    offered = new_secret()
    begun = session(offered)
    await store.sessions.add(begun)
    await store.sessions.replace(replace(begun, deleted_at=at(1)))
    assert await ring.find_session(offered.lookup) is None
    assert await store.sessions.count_of_key("key") == 1


async def test_sessions_are_counted_by_key(store: Store) -> None:
    for key_id in ("key", "key", "other"):
        await store.sessions.add(session(new_secret(), key_id))
    assert await store.sessions.count_of_key("key") == 2
    with foreign():
        assert await store.sessions.count_of_key("key") == 0


async def test_a_key_is_found_by_its_id(store: Store, ring: KeyRing) -> None:
    key = api_key(new_secret())
    await store.keys.add(key)
    with foreign():
        assert await ring.get(key.id) == key
    await store.keys.replace(replace(key, deleted_at=at(1)))
    assert await ring.get(key.id) is None
