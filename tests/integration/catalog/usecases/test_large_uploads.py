"""Large files that an organisation uploads at the same time."""

import asyncio
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from services.catalog.model.values import Platform
from services.catalog.usecases import uploads
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from tests.eventually import eventually
from tests.integration.catalog.usecases.conftest import Catalog, uploaded

pytestmark = pytest.mark.asyncio(loop_scope="session")


class SlowStore(ObjectStore):
    """Makes files artifacts when the test says so."""

    def __init__(self) -> None:
        super().__init__(MemoryStore)
        self.moving: list[int] = []
        """The sizes of the files that become artifacts."""
        self.release = asyncio.Event()

    async def move(self, source: str, target: str) -> None:
        size = len(b"".join([chunk async for chunk in self.get_stream(source)]))
        self.moving.append(size)
        await self.release.wait()
        assert self.moving.count(LARGE) <= 1
        self.moving.remove(size)
        await super().move(source, target)


LARGE = 5


async def test_large_files_of_an_organisation_become_artifacts_one_after_the_other(
    storage: Mongo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", LARGE - 1)
    store = SlowStore()
    catalog = Catalog(storage, tmp_path, objects=store)
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    contents = [b"large", b"LARGE", b"tiny", b"TINY"]
    under_way = [
        asyncio.create_task(uploaded(catalog, app, str(number), content)) for number, content in enumerate(contents)
    ]
    await eventually(lambda: sorted(store.moving) == [4, 4, LARGE])
    store.release.set()
    assert [build.version for build in await asyncio.gather(*under_way)] == ["0", "1", "2", "3"]
