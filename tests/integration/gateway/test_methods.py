"""HEAD answers as GET without a body; OPTIONS names the methods of a path."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from google.api import httpbody_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from mobiletest.executor.v1 import executions_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.errors import NotFound
from services.gateway.app import RunningGateway
from services.gateway.contract.operations import HTTP_BODY, all_operations, all_services
from services.gateway.routes import DESCRIPTORS_PATH, DOCUMENT_PATH
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

GET_PATHS = [operation.template for operation in all_operations() if operation.verb == "GET"]
VOLATILE = {"Date", "X-Request-ID", "Transfer-Encoding", "RateLimit-Remaining", "RateLimit-Reset"}


def default_answer(method: MethodDescriptor) -> Callable[[Any], Any]:
    """An empty response; a body has a byte, a batch an item for each id, a stream one message."""
    values = {"data": b"x"} if method.output_type.full_name == HTTP_BODY else {}
    response = partial(GetMessageClass(method.output_type), **values)

    def answer(request: Any) -> Any:
        if not method.name.startswith("BatchGet"):
            return response()
        ids = getattr(request, method.input_type.fields[0].name)
        field = method.output_type.fields[0]
        item: Any = field.message_type
        id_field = "id" if "id" in item.fields_by_name else item.fields[0].name
        return response(**{field.name: [{id_field: id_} for id_ in ids]})

    async def stream(_: object) -> AsyncIterator[Any]:
        yield response()

    return stream if method.server_streaming else answer


@pytest.fixture
def answering_backends(backends: FakeBackends, client: Client) -> FakeBackends:
    """Services that answer every method but those that are scripted."""
    backends.on("FindBaseBuild", lambda _: reports_pb2.ComparedBuild(build_id=str(uuid4())))
    for service in all_services():
        for method in service.methods:
            if method.name not in backends.answers:
                backends.on(method.name, default_answer(method))
    return backends


@pytest.mark.usefixtures("answering_backends")
async def test_head_answers_as_get_without_a_body(client: Client) -> None:
    for path in [*GET_PATHS, "/healthz", "/readyz", DOCUMENT_PATH, DESCRIPTORS_PATH]:
        url = re.sub(r"\{\w+\}", lambda _: str(uuid4()), path.replace("{fingerprint}", "0123456789abcdef"))
        get, head = await client("GET", url), await client("HEAD", url)
        assert (get.status, head.status, head.body) == (200, 200, b""), path
        expected = {name: value for name, value in get.headers.items() if name not in VOLATILE}
        assert {name: value for name, value in head.headers.items() if name not in VOLATILE} == expected, path


async def test_head_of_a_quiet_event_stream_ends(client: Client, backends: FakeBackends) -> None:
    backends.hang("WatchExecution")
    async with asyncio.timeout(10):
        answer = await client("HEAD", f"/api/v1/executions/{uuid4()}/events")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")


async def test_head_of_a_download_has_its_size_and_stops_reading_it(client: Client, backends: FakeBackends) -> None:
    never = asyncio.Event()

    async def artifact(_: object) -> AsyncIterator[Any]:
        yield httpbody_pb2.HttpBody(content_type="text/plain", data=b"x" * 1000)
        await never.wait()

    backends.initial_metadata = (("http-content-length", "3000000"), ("http-etag", '"abc"'))
    backends.on("DownloadBuild", artifact)
    async with asyncio.timeout(10):
        answer = await client("HEAD", f"/api/v1/apps/builds/{uuid4()}/download")
    assert (answer.headers["Content-Length"], answer.headers["ETag"]) == ("3000000", '"abc"')
    assert (await client("HEAD", "/healthz")).status == 200  # on the same connection


async def test_head_of_a_long_poll_does_not_wait(client: Client, backends: FakeBackends) -> None:
    backends.on(
        "BatchGetExecutions",
        lambda request: executions_pb2.BatchGetExecutionsResponse(
            executions=[executions_pb2.Execution(id=id_) for id_ in request.execution_ids]
        ),
    )
    answer = await client("HEAD", f"/api/v1/executions/{uuid4()}?wait=60&after_revision=4")
    assert (answer.status, backends.of("GetExecution")) == (200, [])


async def test_head_of_what_does_not_exist_is_a_404(client: Client, backends: FakeBackends) -> None:
    backends.fail("WatchExecution", NotFound("Execution not found"))
    for path in (f"/api/v1/executions/{uuid4()}/events", f"/api/v1/apps/{uuid4()}", "/api/v1/nothing"):
        assert (await client("HEAD", path)).status == 404


async def test_head_needs_a_key(client: Client, gateway: RunningGateway) -> None:
    async with client.session.head(f"{gateway.url}/api/v1/apps") as answer:
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/v1/apps", "GET, HEAD, OPTIONS, POST"),
        ("/api/v1/apps/", "GET, HEAD, OPTIONS, POST"),
        ("/api/v1/apps/any-id", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/api/v1/execution/api/execute_workflow_id_async", "OPTIONS, POST"),
        ("/healthz", "GET, HEAD, OPTIONS"),
    ],
)
async def test_options_names_the_methods_without_a_key(
    client: Client, gateway: RunningGateway, path: str, allowed: str
) -> None:
    async with client.session.options(gateway.url + path) as answer:
        assert (answer.status, answer.headers["Allow"], await answer.read()) == (204, allowed, b"")
        assert answer.headers["X-Request-ID"]


async def test_options_of_an_unknown_path_is_a_404(client: Client) -> None:
    assert (await client("OPTIONS", "/api/v1/nothing")).status == 404
