"""The pictures of imported tests: stored once, counted, kept as long as a version of a test needs them."""

from hashlib import sha256
from uuid import uuid4

import pytest

from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.model.builds import artifact_key
from services.catalog.model.values import Page
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import NotFound, PermissionDenied
from tests.fakes.catalog_samples import org
from tests.fakes.workspaces import FLOW, PNG
from tests.integration.catalog.usecases.conftest import Catalog
from tests.integration.catalog.usecases.test_imports import send

pytestmark = pytest.mark.asyncio(loop_scope="session")

OTHER = PNG + b" changed"
ATTACH = "appId: a\n---\n- addMedia: [cat.png]\n"


def hash_of(content: bytes) -> str:
    return sha256(content).hexdigest()


async def uses(catalog: Catalog, *contents: bytes) -> list[int | None]:
    """How many use each file; None if nothing is known of it."""
    return [await catalog.uses(hash_of(content)) for content in contents]


async def stored(catalog: Catalog, content: bytes) -> bytes:
    return b"".join([chunk async for chunk in catalog.files.read(hash_of(content))])


async def test_test_names_its_files_which_are_stored(catalog: Catalog) -> None:
    (test,) = (await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG, "dog.png": OTHER})).created
    assert test.files == (MediaFile("cat.png", hash_of(PNG), len(PNG)),)
    assert (await catalog.tests.get(test.id)).test.files == test.files
    assert await stored(catalog, PNG) == PNG
    assert await uses(catalog, PNG, OTHER) == [1, None]


async def test_files_of_others_are_not_found(catalog: Catalog) -> None:
    await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG})
    with context.bind(Caller(str(uuid4()))), pytest.raises(NotFound):
        await stored(catalog, PNG)


async def test_second_import_changes_and_stores_nothing(catalog: Catalog) -> None:
    files = {"a.yaml": ATTACH, "cat.png": PNG}
    await send(catalog, files)
    await catalog.objects.delete(artifact_key(org(), hash_of(PNG)))
    report = await send(catalog, files)
    assert (len(report.unchanged), await uses(catalog, PNG)) == (1, [1])
    with pytest.raises(NotFound):
        await stored(catalog, PNG)


async def test_equal_files_are_stored_once(catalog: Catalog) -> None:
    files = {"a.yaml": ATTACH, "b.yaml": "- addMedia: [x.png, cat.png]\n", "cat.png": PNG, "x.png": PNG}
    await send(catalog, files)
    await send(catalog, files, "other")
    assert (await catalog.artifacts(), await uses(catalog, PNG)) == (1, [4])


async def test_changed_file_is_a_new_version(catalog: Catalog) -> None:
    await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG})
    (test,) = (await send(catalog, {"a.yaml": ATTACH, "cat.png": OTHER})).changed
    assert test.version_number == 2
    versions = (await catalog.tests.versions(test.id, Page(1, 10))).items
    assert [[file.sha256 for file in version.files] for version in versions] == [[hash_of(OTHER)], [hash_of(PNG)]]
    assert await uses(catalog, PNG, OTHER) == [1, 1]


async def test_file_that_comes_back_counts_once(catalog: Catalog) -> None:
    for content in (PNG, OTHER, PNG):
        await send(catalog, {"a.yaml": ATTACH, "cat.png": content})
    assert await uses(catalog, PNG, OTHER) == [1, 1]


async def test_deleted_test_releases_the_files_of_all_versions(catalog: Catalog) -> None:
    await send(catalog, {"a.yaml": ATTACH, "b.yaml": ATTACH, "cat.png": PNG})
    test, _ = (await send(catalog, {"a.yaml": ATTACH, "b.yaml": ATTACH, "cat.png": OTHER})).changed
    await catalog.tests.delete(test.id)
    assert await uses(catalog, PNG, OTHER) == [1, 1]


async def test_edit_by_hand_keeps_the_files(catalog: Catalog) -> None:
    (test,) = (await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG})).created
    edited = (await catalog.tests.update(test.id, {"steps": ["Tap Go", {"addMedia": ["cat.png"]}]})).test
    assert (edited.version_number, edited.files, await uses(catalog, PNG)) == (2, test.files, [1])


async def test_dry_run_stores_nothing(catalog: Catalog) -> None:
    report = await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG}, dry_run=True)
    assert len(report.created) == 1
    assert await catalog.artifacts() == 0


async def test_files_of_refused_flows_are_not_stored(catalog: Catalog) -> None:
    report = await send(catalog, {"a.yaml": ATTACH + "- tapOnn: x\n", "b.yaml": FLOW, "cat.png": PNG})
    assert len(report.refused) == len(report.created) == 1
    assert await catalog.artifacts() == 0


async def test_organisation_at_its_limit_is_refused_before_anything_is_stored(catalog: Catalog) -> None:
    await catalog.limit(artifact_bytes=len(PNG))
    await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG})
    with pytest.raises(PermissionDenied) as refused:
        await send(catalog, {"a.yaml": ATTACH, "cat.png": OTHER})
    assert "delete builds and imported tests" in refused.value.message
    assert (await uses(catalog, OTHER), (await catalog.ledger.sum()).used) == ([None], len(PNG))
    assert len((await send(catalog, {"a.yaml": ATTACH, "cat.png": PNG})).unchanged) == 1
