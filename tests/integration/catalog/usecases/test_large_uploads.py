"""Files that were stored elsewhere are read before they become artifacts: large ones in turns, wrong ones never."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore
from pymongo.errors import NotPrimaryError

from services.catalog.model.values import Platform
from services.catalog.usecases import uploads
from services.catalog.usecases.uploads import NewBuild
from services.chassis.byte_ranges import FilePart
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from tests.eventually import eventually
from tests.fakes.catalog_samples import chunks
from tests.integration.catalog.usecases.conftest import Catalog, refused_fields, uploaded

pytestmark = pytest.mark.asyncio(loop_scope="session")


class SlowStore(ObjectStore):
    """Lets files be read when the test says so."""

    def __init__(self) -> None:
        super().__init__(MemoryStore)
        # Of the files that are read and become artifacts.
        self.sizes: dict[str, int] = {}
        self.release = asyncio.Event()

    async def get_stream(self, key: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        stored = super().get_stream(key, part)
        content = b"".join([chunk async for chunk in stored])
        self.sizes[key] = len(content)
        await self.release.wait()
        assert list(self.sizes.values()).count(LARGE) <= 1
        yield content

    async def move(self, source: str, target: str) -> None:
        await super().move(source, target)
        del self.sizes[source]


async def no_primary(_: str) -> None:
    """What writes meet on a replica set whose primary steps down while files arrive."""
    raise NotPrimaryError("not primary")


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
    await eventually(lambda: sorted(store.sizes.values()) == [4, 4, LARGE])
    store.release.set()
    assert [build.version for build in await asyncio.gather(*under_way)] == ["0", "1", "2", "3"]


async def test_wrong_metadata_behind_a_file_is_refused_before_the_file_is_read(storage: Mongo, tmp_path: Path) -> None:
    store = SlowStore()
    store.release.set()
    catalog = Catalog(storage, tmp_path, objects=store)
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    upload = catalog.upload(NewBuild(app.id), chunks(b"content"), final=lambda: NewBuild(app.id, ""))
    assert (await refused_fields(upload), store.sizes) == (["version"], {})


async def test_a_build_is_the_answer_though_nothing_can_be_noted_after_it(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog.store.arriving_files, "end", no_primary)
    monkeypatch.setattr(catalog.ledger, "release", no_primary)
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    assert (await uploaded(catalog, app, "1")).version == "1"
