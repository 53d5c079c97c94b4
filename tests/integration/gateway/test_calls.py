"""How a valid request becomes a call: its deadline, its idempotency key, its errors and its response."""

import asyncio
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2
from mobiletest.executor.v1 import executions_pb2

from services.chassis import metrics
from services.chassis.errors import (
    Aborted,
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Violation,
)
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client
from tests.integration.gateway.operations import APPS, START, started

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (AlreadyExists("The app has this version", reason="VERSION_EXISTS"), 409, None),
        (FailedPrecondition("It has ended"), 409, None),
        (Aborted("Still under way", retry_after=1.0), 409, "1"),
        (ResourceExhausted("Too many", retry_after=9.2), 429, "10"),
        (PermissionDenied("No"), 403, None),
        (InvalidArgument("No version can be told"), 422, None),
    ],
)
async def test_errors_of_services_have_their_status(
    client: Client, backends: FakeBackends, error: Exception, status: int, retry_after: str | None
) -> None:
    backends.fail("ListApps", error)
    answer = await client("GET", APPS)
    assert answer.status == status
    assert answer.json["detail"] == str(error)
    assert answer.headers.get("Retry-After") == retry_after


async def test_violations_reported_by_a_service_get_their_location(client: Client, backends: FakeBackends) -> None:
    violations = [
        Violation("build_config.ios_build.pinned_version", "The app has no build 9", "unknown_version"),
        Violation("test_ids[2].x", "wrong", ""),
        Violation("ci.pr_number", "too large", "custom.rule"),
    ]
    backends.fail("StartWorkflow", InvalidArgument("no", violations=violations))
    answer = await client("POST", START, json={"workflow_id": str(uuid4())})
    assert answer.status == 422
    assert answer.json["detail"] == [
        {
            "loc": ["body", "build_config", "ios_build", "pinned_version"],
            "msg": "The app has no build 9",
            "type": "unknown_version",
        },
        {"loc": ["body", "test_ids", 2, "x"], "msg": "wrong", "type": "value_error"},
        {"loc": ["header", "x-ci-pr-number"], "msg": "too large", "type": "custom_rule"},
    ]


async def test_an_unexpected_error_shows_only_the_request_id(client: Client, backends: FakeBackends) -> None:
    backends.fail("ListApps", RuntimeError("secret inner workings"))
    answer = await client("GET", APPS, headers={"X-Request-ID": "find-me"})
    assert answer.status == 500
    assert answer.json == {"detail": "Internal error (request find-me)", "code": "INTERNAL"}


async def test_an_idempotency_key_is_passed_on_and_a_replay_is_marked(client: Client, backends: FakeBackends) -> None:
    backends.on("StartWorkflow", started)
    backends.trailing_metadata = (("x-idempotent-replayed", "true"),)
    answer = await client("POST", START, json={"workflow_id": str(uuid4())}, headers={"Idempotency-Key": "night-7"})
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert backends.of("StartWorkflow")[0].caller.idempotency_key == "night-7"


async def test_starts_at_the_same_time_share_a_message_and_nothing_else(client: Client, backends: FakeBackends) -> None:
    """But for the first, which has begun before the others came."""
    go_on, unknown = asyncio.Event(), str(uuid4())

    async def start(request: executions_pb2.StartWorkflowRequest) -> executions_pb2.ExecutionStart:
        await go_on.wait()
        if request.workflow_id == unknown:
            raise NotFound("Workflow not found")
        return started(request)

    backends.on("StartWorkflow", start)
    before = messages_with_several_calls()
    ids = [str(uuid4()), unknown, *(str(uuid4()) for _ in range(4))]
    headers = [{"Idempotency-Key": f"night-{id_}", "X-Request-ID": id_} for id_ in ids]
    posts = [client("POST", START, json={"workflow_id": i}, headers=h) for i, h in zip(ids, headers, strict=True)]
    first, *others = [asyncio.create_task(post) for post in posts]
    await eventually(lambda: len(backends.of("StartWorkflow")) == len(ids))
    go_on.set()
    answers = [await first, *(await asyncio.gather(*others))]
    assert [answer.status for answer in answers] == [200, 404, 200, 200, 200, 200]
    assert answers[1].json["detail"] == "Workflow not found"
    assert len({answer.json["id"] for answer in answers if answer.status == 200}) == 5
    callers = {call.request.workflow_id: call.caller for call in backends.of("StartWorkflow")}
    assert {id_: caller.idempotency_key for id_, caller in callers.items()} == {id_: f"night-{id_}" for id_ in ids}
    assert {id_: caller.request_id for id_, caller in callers.items()} == {id_: id_ for id_ in ids}
    assert 0 < messages_with_several_calls() - before < len(ids)


def messages_with_several_calls() -> float:
    labels = {"grpc_service": "mobiletest.calls.v1.Calls", "grpc_method": "CallTogether", "grpc_code": "OK"}
    return metrics.REGISTRY.get_sample_value("grpc_client_handled_total", labels) or 0.0


@pytest.mark.parametrize("key", ["", "x" * 256, "two words", "ümlaut"])
async def test_an_invalid_idempotency_key_is_a_422(client: Client, key: str) -> None:
    answer = await client("POST", START, json={"workflow_id": str(uuid4())}, headers={"Idempotency-Key": key})
    assert answer.status == 422
    assert answer.json["detail"][0]["loc"] == ["header", "idempotency-key"]


async def test_a_call_that_takes_too_long_is_a_504(client: Client, backends: FakeBackends) -> None:
    backends.hang("ListApps")
    answer = await client("GET", APPS, headers={"X-Request-Timeout": "0.2"})
    assert answer.status == 504
    assert answer.headers["Retry-After"]


async def test_a_batched_read_keeps_its_own_deadline(client: Client, backends: FakeBackends) -> None:
    backends.hang("BatchGetTests")
    answer = await client("GET", f"/api/v1/tests/{uuid4()}", headers={"X-Request-Timeout": "0.2"})
    assert answer.status == 504


@pytest.mark.parametrize("value", ["9999999", "0.1234567", "1e2", "1e999", "5."])
async def test_a_timeout_is_any_positive_number_up_to_a_cap(client: Client, backends: FakeBackends, value: str) -> None:
    backends.on("ListApps", lambda request: apps_pb2.ListAppsResponse(page=request.page))
    assert (await client("GET", APPS, headers={"X-Request-Timeout": value})).status == 200


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf", "1e-999", "1_0", "1e9999999999"])
async def test_an_invalid_timeout_is_a_422(client: Client, value: str) -> None:
    answer = await client("GET", APPS, headers={"X-Request-Timeout": value})
    assert answer.json["detail"][0]["loc"] == ["header", "x-request-timeout"]


async def test_a_client_that_disconnects_cancels_the_call(client: Client, backends: FakeBackends) -> None:
    backends.hang("ListApps")
    request = asyncio.create_task(client("GET", APPS))
    await eventually(lambda: backends.of("ListApps"))
    request.cancel()
    await eventually(lambda: "ListApps" in backends.cancelled)


async def test_a_long_poll_makes_its_own_call(client: Client, backends: FakeBackends) -> None:
    backends.on("GetExecution", lambda request: executions_pb2.Execution(id=request.execution_id))
    answer = await client("GET", f"/api/v1/executions/{uuid4()}?wait=30&after_revision=4")
    assert answer.status == 200
    assert backends.requests("GetExecution")[0].after_revision == 4
    assert backends.of("BatchGetExecutions") == []
