"""The ports Keys and KeyRing."""

from dataclasses import replace

import pytest

from services.catalog.model.keys import Organisation, Scope, new_secret
from services.catalog.model.values import Page
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.store import MongoStore
from services.chassis.mongo_errors import DuplicateValue
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import api_key, at

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_key_is_kept_as_it_is(store: MongoStore, ring: MongoKeyRing) -> None:
    offered = new_secret()
    key = api_key(offered, scopes=(Scope.READ,), expires_at=at(9), last_used_at=at(5))
    await store.keys.add(key)
    assert await store.keys.get(key.id) == key
    assert await ring.find(offered.lookup) == key
    with pytest.raises(DuplicateValue):
        await store.keys.add(replace(key, id="another"))


async def test_the_ring_knows_all_organisations_the_keys_only_ones_own(store: MongoStore, ring: MongoKeyRing) -> None:
    """A key is looked up before there is a caller."""
    offered = new_secret()
    key = api_key(offered)
    await store.keys.add(key)
    with foreign():
        assert await ring.find(offered.lookup) == key
        assert await store.keys.get(key.id) is None
        assert await store.keys.page(Page(1, 10)) == []
        assert await store.keys.count() == 0


async def test_the_ring_knows_the_names_of_organisations(ring: MongoKeyRing) -> None:
    await ring.add_organisation(Organisation("org-with-name", "Mugs", at(1)))
    assert await ring.organisation_name("org-with-name") == "Mugs"
    assert await ring.organisation_name("another") is None


async def test_keys_come_newest_first(store: MongoStore) -> None:
    keys = [api_key(new_secret(), minutes) for minutes in (1, 2, 3)]
    for key in keys:
        await store.keys.add(key)
    assert await store.keys.page(Page(1, 2)) == [keys[2], keys[1]]
    assert await store.keys.count() == 3
