"""Uploads in parts: what they reserve, how many there may be, and how they expire."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio

from services.catalog.model.apps import App
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.catalog.model.part_uploads import MOST_UPLOADS, PartUpload
from services.catalog.model.values import Platform
from services.catalog.storage.part_uploads import UploadSweeper
from services.catalog.usecases.part_uploads import PartUploadUseCases
from services.catalog.usecases.uploads import NewBuild
from services.chassis.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from tests.integration.catalog.usecases.conftest import Catalog, chunks

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTENT = b"abcdefg"
PART_BYTES = 3
DAY_MINUTES = 24 * 60


@pytest.fixture
def catalog(storage: Mongo, tmp_path: Path) -> Catalog:
    (tmp_path / "spool").mkdir()
    return Catalog(storage, tmp_path / "spool", objects=ObjectStore.open(f"file://{tmp_path}/objects"))


@pytest.fixture
def parts(catalog: Catalog) -> PartUploadUseCases:
    return PartUploadUseCases(
        catalog.store,
        catalog.objects,
        catalog.uploads,
        quota=catalog.quota,
        max_bytes=1000,
        clock=catalog.clock,
        part_bytes=PART_BYTES,
    )


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    return await catalog.apps.create("Shop", Platform.ANDROID, None)


async def start(parts: PartUploadUseCases, app: App, content: bytes = CONTENT) -> PartUpload:
    return await parts.start(app.id, sha256(content).hexdigest(), len(content))


async def put(catalog: Catalog, parts: PartUploadUseCases, upload: PartUpload, *numbers: int) -> None:
    for number in numbers:
        part = CONTENT[(number - 1) * PART_BYTES :][:PART_BYTES]
        await parts.put_part(upload.id, number, sha256(part).hexdigest(), catalog.arriving(chunks(part)))


async def test_the_whole_file_is_reserved_from_the_start_to_the_end(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1)
    assert (await catalog.ledger.sum()).used == len(CONTENT)
    await put(catalog, parts, upload, 2, 3)
    await parts.complete(upload.id, NewBuild("", "1"))
    assert (await catalog.ledger.sum()).used == len(CONTENT)
    assert list(catalog.spool_folder.iterdir()) == []
    other = await start(parts, app, b"other")
    await parts.delete(other.id)
    assert (await catalog.ledger.sum()).used == len(CONTENT)


async def test_a_file_beyond_the_limits_is_refused_before_its_parts(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    with pytest.raises(InvalidArgument, match="larger than 1000 bytes"):
        await start(parts, app, b"x" * 1001)
    with pytest.raises(InvalidArgument, match="64 hexadecimal digits"):
        await parts.start(app.id, "abc", 1)
    await catalog.limit(artifact_bytes=10)
    await start(parts, app)
    with pytest.raises(PermissionDenied, match="artifact_bytes"):
        await start(parts, app, b"four")
    assert (await catalog.ledger.sum()).used == len(CONTENT)


async def test_uploads_under_way_of_an_organisation_are_limited(parts: PartUploadUseCases, app: App) -> None:
    starts = [start(parts, app, f"file {number}".encode()) for number in range(MOST_UPLOADS)]
    await asyncio.gather(*starts)
    for content in (b"one more", b"another one"):
        with pytest.raises(PermissionDenied, match="uploads_in_parts"):
            await start(parts, app, content)
    await start(parts, app, b"file 0")


async def test_many_starts_at_once_never_exceed_the_limit(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    starts = [start(parts, app, f"file {number}".encode()) for number in range(2 * MOST_UPLOADS)]
    ended = await asyncio.gather(*starts, return_exceptions=True)
    assert any(isinstance(each, PermissionDenied) for each in ended)
    assert await catalog.store.part_uploads.count() <= MOST_UPLOADS


async def test_starts_of_one_file_at_once_are_one_upload(parts: PartUploadUseCases, app: App) -> None:
    started = await asyncio.gather(*(start(parts, app) for _ in range(10)))
    assert len({upload.id for upload in started}) == 1


async def test_idle_uploads_make_room_for_new_ones(catalog: Catalog, parts: PartUploadUseCases, app: App) -> None:
    await catalog.limit(artifact_bytes=10)
    idle = await start(parts, app)
    await put(catalog, parts, idle, 1)
    catalog.clock.minutes += 29
    with pytest.raises(PermissionDenied, match="artifact_bytes"):
        await start(parts, app, b"other")
    catalog.clock.minutes += 1
    await start(parts, app, b"other")
    with pytest.raises(NotFound):
        await parts.get(idle.id)


async def test_an_upload_without_a_new_part_for_a_day_is_removed(
    catalog: Catalog, parts: PartUploadUseCases, app: App, tmp_path: Path
) -> None:
    sweeper = UploadSweeper(catalog.mongo, catalog.objects, catalog.clock)
    upload = await start(parts, app)
    catalog.clock.minutes += DAY_MINUTES - 1
    await put(catalog, parts, upload, 1)
    catalog.clock.minutes += DAY_MINUTES - 1
    await sweeper.sweep()
    assert (await start(parts, app)).parts == {1}
    stored = list((tmp_path / "objects").rglob(f"uploads/{upload.id}/1"))
    assert len(stored) == 1
    catalog.clock.minutes += 12
    with pytest.raises(NotFound):
        await put(catalog, parts, upload, 2)
    assert (await start(parts, app)).id != upload.id
    await sweeper.sweep()
    assert not stored[0].exists()


async def test_an_upload_whose_parts_are_lost_ends_when_it_is_completed(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1, 2, 3)
    await catalog.objects.delete(upload.key_of(2))
    with pytest.raises(NotFound):
        await parts.complete(upload.id, NewBuild("", "1"))
    assert (await start(parts, app)).missing == [1, 2, 3]


async def test_a_part_that_arrives_after_the_end_is_not_kept(
    catalog: Catalog, parts: PartUploadUseCases, app: App, tmp_path: Path
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1, 2, 3)

    async def while_it_is_completed() -> AsyncIterator[bytes]:
        yield CONTENT[:PART_BYTES]
        await parts.complete(upload.id, NewBuild("", "1"))

    digest = sha256(CONTENT[:PART_BYTES]).hexdigest()
    with pytest.raises(NotFound):
        await parts.put_part(upload.id, 1, digest, catalog.arriving(while_it_is_completed()))
    assert (await catalog.ledger.sum()).used == len(CONTENT)
    assert not list((tmp_path / "objects").rglob(f"uploads/{upload.id}/*"))


async def test_a_completion_killed_after_the_build_releases_its_reservation(
    catalog: Catalog, parts: PartUploadUseCases, app: App, tmp_path: Path
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1, 2, 3)
    file = NewBuild(app.id, "1", upload_id=upload.id, sha256=upload.sha256, expected_bytes=upload.size)
    made = await catalog.uploads.assemble(file, chunks(CONTENT))  # all that it has done by then
    assert (await catalog.ledger.sum()).used == len(CONTENT)
    assert (await parts.complete(upload.id, NewBuild("", "1"))).id == made.id == upload.id
    assert (await start(parts, app)).id != upload.id
    catalog.clock.minutes += 11
    await UploadSweeper(catalog.mongo, catalog.objects, catalog.clock).sweep()
    assert not list((tmp_path / "objects").rglob(f"uploads/{upload.id}/*"))


async def test_an_upload_ends_if_its_file_is_refused_and_not_if_its_version_is(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1, 2, 3)
    catalog.inspector.found = Inspection()
    with pytest.raises(InvalidArgument, match="version"):
        await parts.complete(upload.id, NewBuild(""))
    assert (await parts.get(upload.id)).missing == []
    catalog.inspector.found = RejectedArtifact("an app bundle")
    with pytest.raises(InvalidArgument, match="an app bundle"):
        await parts.complete(upload.id, NewBuild("", "1"))
    with pytest.raises(NotFound):
        await parts.get(upload.id)


async def test_a_completed_upload_is_refused_for_another_version(
    catalog: Catalog, parts: PartUploadUseCases, app: App
) -> None:
    upload = await start(parts, app)
    await put(catalog, parts, upload, 1, 2, 3)
    made = await parts.complete(upload.id, NewBuild("", "1"))
    assert await parts.complete(upload.id, NewBuild("")) == made
    with pytest.raises(AlreadyExists, match="build 1 already"):
        await parts.complete(upload.id, NewBuild("", "2"))
