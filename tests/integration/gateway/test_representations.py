"""Conditional requests, ranges and compression, as clients see them on the wire."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from google.api import httpbody_pb2
from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import apps_pb2, tests_pb2, workflows_pb2
from mobiletest.executor.v1 import executions_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.errors import Aborted
from services.gateway.routes import DESCRIPTORS_PATH, DOCUMENT_PATH
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, script_apps
from tests.integration.gateway.conftest import Answer, Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONTENT = bytes(range(256)) * 40
# In names of tests, which must be the same in every process.
AN_ID = "5f0c2a8e-3b1d-4f6a-9c7e-8d2b4a6c0e13"
IDENTITY = {"Accept-Encoding": "identity"}
GZIP = {"Accept-Encoding": "gzip"}


def an_app(**fields: Any) -> apps_pb2.App:
    return apps_pb2.App(id=str(uuid4()), name="Shop", revision=7, **fields)


def script_artifacts(backends: FakeBackends, content: bytes = CONTENT) -> None:
    """Downloads of this content, in parts, as the services answer them."""

    def part_of(request: Any) -> FilePart:
        return find_part(request.range if request.HasField("range") else None, size=len(content), etag="abc")

    async def artifact(request: Any) -> AsyncIterator[Any]:
        part = part_of(request)
        for start in range(part.start, part.end, 1000):
            data = content[start : min(start + 1000, part.end)]
            yield httpbody_pb2.HttpBody(content_type="image/png", data=data)

    backends.initial_metadata = lambda request: part_of(request).headers("abc")
    backends.on("DownloadBuild", artifact)
    backends.on("DownloadArtifact", artifact)


async def test_a_resource_is_not_sent_again_to_a_client_that_has_it(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    script_apps(backends, app)
    path = f"/api/v1/apps/{app.id}"
    first = await client("GET", path)
    etag = first.headers["ETag"]
    assert (etag[:3], first.headers["Cache-Control"]) == ('"7-', "private, no-cache")
    for method in ("GET", "HEAD"):
        again = await client(method, path, headers={"If-None-Match": f'"other", {etag}'})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)
        assert "Content-Length" not in again.headers
        assert again.headers["X-Request-ID"]
    app.revision, app.name = 8, "Market"
    changed = await client("GET", path, headers={"If-None-Match": etag})
    assert (changed.status, changed.json["name"]) == (200, "Market")


async def test_other_statistics_are_another_representation_of_the_same_revision(
    client: Client, backends: FakeBackends
) -> None:
    app = an_app()
    script_apps(backends, app)
    before = (await client("GET", f"/api/v1/apps/{app.id}")).headers["ETag"]
    backends.on("BatchGetAppStats", lambda _: reports_pb2.BatchGetAppStatsResponse())

    async def other_tag() -> str | None:
        """Statistics that do not come in time are left out."""
        after = (await client("GET", f"/api/v1/apps/{app.id}")).headers["ETag"]
        return after if after != before else None

    after = await eventually(other_tag)
    assert before[:3] == (after or "")[:3] == '"7-'


@pytest.mark.parametrize(
    ("path", "method", "message"),
    [
        ("/api/v1/apps", "ListApps", apps_pb2.ListAppsResponse(total=1, page=1)),
        ("/api/v1/tests", "ListTests", tests_pb2.ListTestsResponse(total=1, page=1)),
        (f"/api/v1/executions/{AN_ID}/junit.xml", "GetJUnit", httpbody_pb2.HttpBody(data=b"<testsuites/>")),
        (DOCUMENT_PATH, "", None),
        (DESCRIPTORS_PATH, "", None),
    ],
)
async def test_everything_that_is_read_has_a_tag(
    client: Client, backends: FakeBackends, path: str, method: str, message: Any
) -> None:
    backends.on(method, lambda _: message)
    first = await client("GET", path)
    again = await client("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")


async def test_what_is_not_read_is_not_kept(client: Client, backends: FakeBackends) -> None:
    backends.on("StartTest", lambda _: executions_pb2.ExecutionStart(id=str(uuid4())))
    started = await client("POST", "/api/v1/tests/execute", json={"test_id": str(uuid4())})
    missing = await client("GET", "/api/v1/nothing")
    for answer in (started, missing):
        assert (answer.headers["Cache-Control"], "ETag" in answer.headers) == ("no-store", False)


EDITS = [
    ("PATCH", "/api/v1/apps/{}", "UpdateApp", apps_pb2.App(revision=8)),
    ("PATCH", "/api/v1/tests/{}", "UpdateTest", tests_pb2.Test(revision=8)),
    ("PATCH", "/api/v1/workflows/{}", "UpdateWorkflow", workflows_pb2.Workflow(revision=8)),
    ("DELETE", "/api/v1/apps/{}", "DeleteApp", None),
    ("DELETE", "/api/v1/apps/builds/{}", "DeleteBuild", None),
    ("DELETE", "/api/v1/tests/{}", "DeleteTest", None),
    ("DELETE", "/api/v1/workflows/{}", "DeleteWorkflow", None),
    ("DELETE", "/api/v1/tests/{}/quarantine", "UnquarantineTest", None),
]


async def edit(client: Client, verb: str, path: str, if_match: str | None) -> Answer:
    body = {"json": {"name": "Market"}} if verb == "PATCH" else {}
    headers = {"If-Match": if_match} if if_match is not None else {}
    return await client(verb, path.format(uuid4()), headers=headers, **body)


@pytest.mark.parametrize(("verb", "path", "method", "answer"), EDITS, ids=[method for _, _, method, _ in EDITS])
async def test_an_edit_is_made_only_on_the_revision_that_the_client_has(
    client: Client, backends: FakeBackends, verb: str, path: str, method: str, answer: Any
) -> None:
    """The service compares it together with its write."""

    def change(request: Any) -> Any:
        if request.expected_revisions and 7 not in request.expected_revisions:
            raise Aborted("It has been changed: read it again", reason="REVISION_MISMATCH", retry_after=1)
        return answer or Empty()

    backends.on(method, change)
    for if_match in ('"6-0123abcd"', 'W/"7-0123abcd"', '"nonsense"'):
        refused = await edit(client, verb, path, if_match)
        assert (refused.status, refused.json["code"]) == (412, "REVISION_MISMATCH")
        assert "Retry-After" not in refused.headers
    for if_match in ('"6-0123abcd", "7-0123abcd-gzip"', "*", None):
        done = await edit(client, verb, path, if_match)
        assert done.status == (200 if verb == "PATCH" else 204)
        assert verb == "DELETE" or done.headers["ETag"].startswith('"8-')


async def test_if_match_on_what_has_no_tag_changes_nothing(client: Client, backends: FakeBackends) -> None:
    headers = {"If-Match": '"7-0123abcd"'}
    answer = await client("POST", "/api/v1/apps", json={"name": "x", "platform": "iOS"}, headers=headers)
    assert (answer.status, answer.json["code"], backends.of("CreateApp")) == (412, "PRECONDITION_UNSUPPORTED", [])


@pytest.mark.parametrize("size", [2_000, 500_000])
async def test_long_json_is_compressed_for_clients_that_take_gzip(
    client: Client, backends: FakeBackends, size: int
) -> None:
    app = an_app(description="x" * size)
    script_apps(backends, app)
    path = f"/api/v1/apps/{app.id}"
    plain = await client("GET", path, headers=IDENTITY)
    async with client.session.get(
        client.url + path, headers={**GZIP, "Authorization": f"Bearer {client.key}"}
    ) as response:
        assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert int(response.headers["Content-Length"]) < size / 4
        assert await response.json() == plain.json
        compressed = response.headers["ETag"]
    assert ("Content-Encoding" in plain.headers, plain.headers["Vary"]) == (False, "Accept-Encoding")
    assert compressed == plain.headers["ETag"][:-1] + '-gzip"'
    for headers in (IDENTITY, GZIP):
        again = await client("GET", path, headers={**headers, "If-None-Match": compressed})
        assert (again.status, again.headers["Vary"]) == (304, "Accept-Encoding")


async def test_short_json_is_not_compressed(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    script_apps(backends, app)
    answer = await client("GET", f"/api/v1/apps/{app.id}", headers=GZIP)
    assert not {"Content-Encoding", "Vary"} & set(answer.headers)


async def test_events_are_not_compressed(client: Client, backends: FakeBackends) -> None:
    async def events(_: object) -> AsyncIterator[Any]:
        yield executions_pb2.ExecutionEvent(sequence=1, execution=executions_pb2.Execution(message="x" * 5_000))

    backends.on("WatchExecution", events)
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/events", headers=GZIP)
    assert (answer.status, "Content-Encoding" in answer.headers) == (200, False)
    assert answer.headers["Cache-Control"] == "no-store"


DOWNLOADS = [f"/api/v1/apps/builds/{AN_ID}/download", f"/api/v1/executions/{AN_ID}/runs/{AN_ID}/artifacts/a.png"]


@pytest.mark.parametrize("path", DOWNLOADS, ids=["build", "artifact"])
@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [("bytes=0-0", 0, 1), ("bytes=1500-3500", 1500, 3501), ("bytes=10000-", 10_000, 10_240),
     ("bytes=-240", 10_000, 10_240), ("bytes=0-", 0, 10_240), ("bytes=5-99999999999999999999999", 5, 10_240)],
)  # fmt: skip
async def test_a_part_of_a_file_is_downloaded(
    client: Client, backends: FakeBackends, path: str, asked: str, start: int, end: int
) -> None:
    script_artifacts(backends)
    answer = await client("GET", path, headers={"Range": asked})
    assert (answer.status, answer.body) == (206, CONTENT[start:end])
    assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/10240"
    assert (answer.headers["Content-Length"], answer.headers["ETag"]) == (str(end - start), '"abc"')


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Range": "bytes=0-1,5-6"},
        {"Range": "bytes=5-4"},
        {"Range": "bytes=-"},
        {"Range": "lines=1-2"},
        {"Range": "bytes=0-1", "If-Range": '"other"'},
        {"Range": "bytes=0-1", "If-Range": 'W/"abc"'},
        {"Range": "bytes=0-1", "If-Range": "Sun, 22 Nov 2026 10:00:00 GMT"},
    ],
)
async def test_the_whole_file_is_sent_without_a_range_that_counts(
    client: Client, backends: FakeBackends, headers: dict[str, str]
) -> None:
    script_artifacts(backends)
    answer = await client("GET", DOWNLOADS[0], headers=headers)
    assert (answer.status, answer.body, answer.headers["Accept-Ranges"]) == (200, CONTENT, "bytes")
    assert "Content-Range" not in answer.headers


async def test_a_download_is_resumed_while_the_file_is_the_same(client: Client, backends: FakeBackends) -> None:
    script_artifacts(backends)
    answer = await client("GET", DOWNLOADS[0], headers={"Range": "bytes=100-", "If-Range": '"abc"'})
    assert (answer.status, answer.body) == (206, CONTENT[100:])


async def test_a_range_behind_the_end_is_a_416_with_the_size(client: Client, backends: FakeBackends) -> None:
    script_artifacts(backends)
    answer = await client("GET", DOWNLOADS[0], headers={"Range": "bytes=10240-"})
    assert (answer.status, answer.json["code"]) == (416, "RANGE_NOT_SATISFIABLE")
    assert answer.headers["Content-Range"] == "bytes */10240"


async def test_a_file_that_the_client_has_is_not_sent_again(client: Client, backends: FakeBackends) -> None:
    script_artifacts(backends)
    for method in ("GET", "HEAD"):
        answer = await client(method, DOWNLOADS[0], headers={"If-None-Match": '"abc"'})
        assert (answer.status, answer.body, answer.headers["ETag"]) == (304, b"", '"abc"')


async def test_head_has_no_ranges(client: Client, backends: FakeBackends) -> None:
    script_artifacts(backends)
    answer = await client("HEAD", DOWNLOADS[0], headers={"Range": "bytes=0-1"})
    assert (answer.status, answer.headers["Content-Length"]) == (200, "10240")
