"""The ports Sessions and KeyRing."""

from dataclasses import replace

import pytest

from services.catalog.model.keys import new_secret
from services.catalog.ports import DuplicateValue
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.store import MongoStore
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import session

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
