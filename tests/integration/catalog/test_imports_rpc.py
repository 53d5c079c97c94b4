"""ImportTests on the running catalog: real archives, real children, real transactions."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from mobiletest.catalog.v1 import apps_pb2, limits_pb2, resolution_pb2, tests_pb2

from services.catalog.storage.artifacts import KEPT_UNUSED, ArtifactSweeper
from services.chassis.errors import Aborted, InvalidArgument, NotFound
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from tests.fakes.chassis import FakeClock
from tests.fakes.workspaces import FLOW, PNG, zip_files
from tests.integration.catalog.conftest import Service, foreign
from tests.integration.catalog.test_apps_rpc import failed, made

OTHER = PNG + b"!"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def messages(content: bytes, *, end: int | None = None, **fields: Any) -> AsyncIterator[Any]:
    """The messages of an import; `end` is the size that the last one gives, -1: none."""
    yield tests_pb2.ImportTestsRequest(**fields)
    for start in range(0, len(content), 1000):
        yield tests_pb2.ImportTestsRequest(chunk=content[start : start + 1000])
    if end != -1:
        size = len(content) if end is None else end
        yield tests_pb2.ImportTestsRequest(end=tests_pb2.ImportTestsEnd(size=size))


async def send(service: Service, files: Mapping[str, str | bytes], **fields: Any) -> tests_pb2.ImportTestsResponse:
    report: tests_pb2.ImportTestsResponse = await service.tests.ImportTests(messages(zip_files(files), **fields))
    return report


async def test_folder_becomes_tests_once(service: Service) -> None:
    files = {"config.yaml": "flows: '**'", "a/x.yaml": FLOW, "y.yaml": "- tapOnn: x"}
    first = await send(service, files)
    (created,) = first.created
    assert (first.workspace, created.path, created.name, created.version_number) == ("default", "a/x.yaml", "x", 1)
    assert [(problem.line, problem.column) for problem in first.refused[0].problems] == [(1, 3)]
    second = await send(service, files)
    assert (list(second.unchanged), second.created_count, second.refused_count) == ([created], 0, 1)
    test = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=created.test_id))
    assert (test.source_path, test.workspace, test.revision) == ("a/x.yaml", "default", 1)
    with foreign():
        assert (await send(service, files)).created_count == 1
    assert list(service.spool.iterdir()) == []


async def test_a_plan_says_where_its_steps_are_written(service: Service) -> None:
    imported = await send(
        service, {"main.yaml": "- runFlow: a.yaml\n", "a.yaml": "# a\n- launchApp\n", "config.yaml": "flows: main.yaml"}
    )
    resolved = await service.resolution.ResolveRuns(
        resolution_pb2.ResolveRunsRequest(test_id=imported.created[0].test_id)
    )
    assert resolved.runs[0].step_positions == '[["main.yaml","a.yaml"],[[0,1,3],[1,2,3]],[]]'


async def download(service: Service, sha256: str) -> bytes:
    call = service.tests.DownloadTestFile(tests_pb2.DownloadTestFileRequest(sha256=sha256))
    return b"".join([part.chunk async for part in call])


async def used_bytes(service: Service) -> int:
    shown = await service.limits.GetLimits(limits_pb2.GetLimitsRequest())
    return next(limit.used for limit in shown.limits if limit.name == "artifact_bytes")


async def test_pictures_are_kept_as_long_as_a_test_needs_them(service: Service) -> None:
    """A deleted test gives the bytes back at once; its file is swept later, as that of a deleted build."""
    files = {"a.yaml": "- addMedia: [p.png]\n", "p.png": PNG, "unused.png": PNG + b"!"}
    (created,) = (await send(service, files)).created
    test = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=created.test_id))
    (file,) = test.files
    assert (file.path, file.size_bytes, service.files()) == ("p.png", len(PNG), [file.sha256])
    assert await download(service, file.sha256) == PNG
    assert await used_bytes(service) == len(PNG)
    assert (await send(service, files)).unchanged_count == 1
    with foreign():
        assert isinstance(await failed(download(service, file.sha256)), NotFound)
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=test.id))
    assert (await used_bytes(service), service.files()) == (0, [file.sha256])


async def test_picture_that_no_test_needs_any_more_is_swept(service: Service) -> None:
    files = {"a.yaml": "- addMedia: [p.png, q.png]\n", "b.yaml": "- addMedia: [q.png]\n", "p.png": PNG, "q.png": OTHER}
    first, _ = (await send(service, files)).created
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=first.test_id))
    mongo = await Mongo.connect(service.settings.mongo_uri, service.settings.mongo_database)
    clock = FakeClock(datetime.now(UTC) + KEPT_UNUSED + timedelta(minutes=1))
    await ArtifactSweeper(mongo, ObjectStore.open(service.settings.object_store), clock).sweep()
    await mongo.close()
    assert service.files() == [sha256(OTHER).hexdigest()]
    again = await send(service, files)
    assert (again.created_count, again.unchanged_count, len(service.files())) == (1, 1, 2)
    assert await download(service, sha256(PNG).hexdigest()) == PNG


async def test_equal_pictures_of_imports_at_the_same_time_are_stored_once(service: Service) -> None:
    files = {"a.yaml": "- addMedia: [p.png]\n", "p.png": PNG}
    await asyncio.gather(*(send(service, files, workspace=f"w{number}") for number in range(4)))
    assert (await used_bytes(service), len(service.files())) == (len(PNG), 1)


async def test_imports_at_the_same_time_make_each_test_once(service: Service) -> None:
    """Those of several apps, which the process does not put in a row."""
    apps = [await made(service) for _ in range(3)]
    files = {f"{number:02}.yaml": FLOW for number in range(20)}
    imports = [send(service, files, app_id=app.id) for app in apps]
    reports = await asyncio.gather(*imports)
    assert sum(report.created_count for report in reports) == 20
    assert sum(report.unchanged_count for report in reports) == 40
    tests = await service.tests.ListTests(tests_pb2.ListTestsRequest(page_size=100))
    assert sorted(test.source_path for test in tests.items) == sorted(files)
    for app in apps:
        assert (await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))).attached_tests == 20


@pytest.mark.parametrize(
    ("end", "fields", "error", "reason"),
    [
        (-1, {}, Aborted, "UPLOAD_CUT"),
        (None, {"chunk": b"x"}, InvalidArgument, "METADATA_MISSING"),
        (None, {"expected_bytes": 1 << 40}, InvalidArgument, None),
    ],
)
async def test_an_invalid_import_changes_nothing(
    service: Service, end: int | None, fields: dict[str, Any], error: type[Exception], reason: str | None
) -> None:
    refused = await failed(service.tests.ImportTests(messages(zip_files({"a.yaml": FLOW}), end=end, **fields)))
    assert isinstance(refused, error)
    assert reason in (None, refused.reason)
    assert (await service.tests.ListTests(tests_pb2.ListTestsRequest())).total == 0
