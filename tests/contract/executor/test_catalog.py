"""The port Catalog: its client, with a server."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from hashlib import sha256
from uuid import uuid4

import grpc
import pytest
from mobiletest.catalog.v1 import resolution_pb2
from mobiletest.types.v1 import platform_pb2

from mobiletest_automation.model.devices import Platform
from services.chassis.context import bind, current
from services.chassis.error_status import to_domain_error
from services.chassis.errors import NotFound, Unavailable
from services.executor.catalog import RemoteCatalog, open_catalog_channel
from services.executor.model.executions import BuildConfig, ExecutionKind, StartSubject
from services.executor.model.runs import PLAN_BYTES, ResolvedRuns, TestFile
from services.executor.ports.executions import Catalog, PlanTooLarge
from tests.integration.executor.catalog_server import TOKEN, Shelf, serving


@dataclass
class Scene:
    """A catalog with one workflow, one test, one build file and one picture."""

    catalog: Catalog
    workflow_id: str
    test_id: str
    build_id: str


PICTURE = sha256(b"picture").hexdigest()


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    build_id = str(uuid4())
    shelf = Shelf(files={build_id: b"0123456789" * 20_000, PICTURE: b"picture"})
    runs = [shelf.planned("Tap it", name=name, platform=platform_pb2.PLATFORM_ANDROID) for name in ("One", "Two")]
    with_picture = shelf.planned("Tap it")
    with_picture.files.add(path="cat.png", sha256=PICTURE, size_bytes=7)
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        yield Scene(RemoteCatalog(to), shelf.workflow(*runs), shelf.test(with_picture), build_id)


async def test_a_workflow_resolves_to_its_runs_in_order(scene: Scene) -> None:
    resolved = await resolve(scene.catalog, scene.workflow_id)
    assert (resolved.workflow_id, resolved.workflow_name, resolved.max_parallel) == (scene.workflow_id, "Nightly", None)
    assert [made.target.test_name for made in resolved.plans] == ["One", "Two"]
    assert {made.target.platform for made in resolved.plans} == {Platform.ANDROID}
    assert all(made.steps and made.target.build_uploaded_at for made in resolved.plans)


async def test_a_test_resolves_without_a_workflow(scene: Scene) -> None:
    resolved = await resolve(scene.catalog, scene.test_id, ExecutionKind.TEST)
    assert (resolved.workflow_id, len(resolved.plans)) == ("", 1)
    assert resolved.plans[0].files == (TestFile("cat.png", PICTURE),)


async def test_a_large_plan_counts_as_several_runs() -> None:
    shelf = Shelf()
    test_id = shelf.test(shelf.planned({"inputText": "x" * PLAN_BYTES}))
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        [plan] = (await resolve(RemoteCatalog(to), test_id, ExecutionKind.TEST)).plans
    assert plan.counts_as == 2


async def resolve(
    catalog: Catalog, id: str, kind: ExecutionKind = ExecutionKind.WORKFLOW, *, large: bool = False
) -> ResolvedRuns:
    return await catalog.resolve(StartSubject(kind, id), BuildConfig(), override_build_config=False, large=large)


async def names(catalog: Catalog, workflow_id: str) -> list[str] | str:
    """The tests of the workflow, or why there are none."""
    try:
        return [made.target.test_name for made in (await resolve(catalog, workflow_id)).plans]
    except PlanTooLarge:
        return "too large"
    except grpc.aio.AioRpcError as error:
        return str(error.details())


@pytest.mark.parametrize("too_large_together", [False, True])
async def test_plans_that_are_read_together_share_calls_and_have_their_own_errors(*, too_large_together: bool) -> None:
    shelf, large, unknown = Shelf(too_large_together=too_large_together), str(uuid4()), str(uuid4())
    first, second = (shelf.workflow(shelf.planned("Tap it", name=name)) for name in ("One", "Two"))
    shelf.parts[large] = []
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        catalog = RemoteCatalog(to)
        answers = await asyncio.gather(*(names(catalog, id_) for id_ in (first, first, second, unknown, large, second)))
    assert answers == [["One"], ["One"], ["Two"], "Workflow not found", "too large", ["Two"]]
    assert shelf.batches == [4]


async def test_plans_of_several_organisations_are_never_read_together() -> None:
    shelf = Shelf()
    workflow_id = shelf.workflow(shelf.planned("Tap it"))
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        catalog = RemoteCatalog(to)
        reads = []
        for org_id in (str(uuid4()), str(uuid4())):
            with bind(replace(current(), org_id=org_id)):
                reads += [asyncio.create_task(resolve(catalog, workflow_id)) for _ in range(2)]
        await asyncio.gather(*reads)
    assert shelf.batches == []


async def test_a_large_plan_comes_in_parts() -> None:
    shelf, workflow_id = Shelf(), str(uuid4())
    first, *others = [resolution_pb2.ResolveRunsResponse(runs=[shelf.planned("a"), shelf.planned(n)]) for n in "bcd"]
    first.workflow_id, first.workflow_name, first.max_parallel = workflow_id, "Nightly", 3
    shelf.parts[workflow_id] = [first, *others]
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        with pytest.raises(PlanTooLarge):
            await resolve(RemoteCatalog(to), workflow_id)
        resolved = await resolve(RemoteCatalog(to), workflow_id, large=True)
    assert (resolved.workflow_id, resolved.workflow_name, resolved.max_parallel) == (workflow_id, "Nightly", 3)
    assert [plan.steps for plan in resolved.plans] == [("a",), ("b",), ("a",), ("c",), ("a",), ("d",)]


async def test_a_large_plan_without_any_part_is_worth_another_try() -> None:
    shelf, workflow_id = Shelf(), str(uuid4())
    shelf.parts[workflow_id] = []
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        with pytest.raises(Unavailable, match="ended the plan before its first part: try again"):
            await resolve(RemoteCatalog(to), workflow_id, large=True)


async def test_the_beginning_of_a_file_is_read(scene: Scene) -> None:
    org_id = current().org_id
    assert await scene.catalog.artifact(org_id, scene.build_id, 15) == b"012345678901234"
    assert len(await scene.catalog.artifact(org_id, scene.build_id, 1_000_000)) == 200_000


async def test_a_whole_file_comes_in_chunks(scene: Scene) -> None:
    chunks = [chunk async for chunk in scene.catalog.download(current().org_id, scene.build_id)]
    assert len(chunks) > 1
    assert b"".join(chunks) == b"0123456789" * 20_000


async def test_a_picture_of_a_test_is_read(scene: Scene) -> None:
    chunks = [chunk async for chunk in scene.catalog.download_test_file(current().org_id, PICTURE)]
    assert b"".join(chunks) == b"picture"


async def test_a_download_can_be_abandoned(scene: Scene) -> None:
    chunks = scene.catalog.download(current().org_id, scene.build_id)
    assert await anext(chunks)
    await chunks.aclose()  # type: ignore[attr-defined]
    assert await scene.catalog.artifact(current().org_id, scene.build_id, 2) == b"01"


async def _whole(scene: Scene, build_id: str) -> bytes:
    return b"".join([chunk async for chunk in scene.catalog.download(current().org_id, build_id)])


async def test_the_values_of_those_secrets_that_exist_are_read() -> None:
    shelf = Shelf(secrets={"a": "first", "b": "second"})
    async with serving(shelf), open_catalog_channel(shelf.address, TOKEN) as to:
        values = await RemoteCatalog(to).secret_values(current().org_id, {"a", "c"})
    assert values == {"a": "first"}


async def test_unknown_subjects_and_builds_are_not_found(scene: Scene) -> None:
    calls = {
        "Workflow not found": resolve(scene.catalog, str(uuid4())),
        "Test not found": resolve(scene.catalog, str(uuid4()), ExecutionKind.TEST),
        "Build not found": scene.catalog.artifact(current().org_id, str(uuid4()), 10),
    }
    whole = ("Build not found", _whole(scene, str(uuid4())))
    for message, call in (*calls.items(), whole):
        with pytest.raises((NotFound, grpc.aio.AioRpcError)) as raised:
            await call
        error = to_domain_error(raised.value)
        assert isinstance(error, NotFound)
        assert error.message == message
