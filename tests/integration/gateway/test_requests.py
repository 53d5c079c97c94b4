"""Invalid requests, what every response carries, health and metrics."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.gateway.app import RunningGateway
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, script_api_key
from tests.integration.gateway.conftest import Client
from tests.integration.gateway.operations import APPS, START, started

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"max_body_bytes": 10_000, "body_timeout_seconds": 0.5}


async def test_all_field_errors_are_reported_at_once(client: Client) -> None:
    answer = await client("GET", f"{APPS}?page=0&page_size=x&platform=web")
    assert answer.status == 422
    assert answer.json["code"] == "VALIDATION_FAILED"
    assert [(item["loc"], item["type"]) for item in answer.json["detail"]] == [
        (["query", "platform"], "enum"),
        (["query", "page"], "greater_than_equal"),
        (["query", "page_size"], "int_parsing"),
    ]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "text/x+json"])
async def test_json_sent_as_something_else_is_a_415(client: Client, kind: str) -> None:
    body = b'{"name": "x", "platform": "iOS"}'
    answer = await client("POST", APPS, data=body, headers={"Content-Type": kind})
    assert (answer.status, answer.json["code"]) == (415, "CONTENT_TYPE_UNSUPPORTED")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.shop+json", None])
async def test_json_has_a_json_type_or_none(client: Client, backends: FakeBackends, kind: str | None) -> None:
    backends.on("CreateApp", lambda request: apps_pb2.App(id=str(uuid4()), name=request.name))
    body = b'{"name": "x", "platform": "iOS"}'
    headers, skipped = ({"Content-Type": kind}, ()) if kind else ({}, ("Content-Type",))
    assert (await client("POST", APPS, data=body, headers=headers, skip_auto_headers=skipped)).status == 200


async def test_a_compressed_body_is_a_415(client: Client) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert (await client("POST", APPS, data=b"x", headers=headers)).status == 415


async def test_a_body_declared_too_large_is_rejected_before_it_is_sent(client: Client, gateway: RunningGateway) -> None:
    host, port = gateway.http_address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + client.key.encode() + b"\r\nContent-Length: 2000000000\r\n\r\n"
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
    assert head.startswith(b"HTTP/1.1 413")
    writer.close()


async def test_a_body_with_expect_gets_100_continue(client: Client, backends: FakeBackends) -> None:
    backends.on("CreateApp", lambda request: apps_pb2.App(id=str(uuid4()), name=request.name))
    async with asyncio.timeout(30):
        answer = await client("POST", APPS, json={"name": "a", "platform": "iOS"}, expect100=True)
    assert (answer.status, answer.json["name"]) == (200, "a")


async def test_a_chunked_body_that_grows_too_large_is_a_413(client: Client) -> None:
    async def chunks() -> Any:
        for _ in range(100):
            yield b" " * 1000

    answer = await client("POST", APPS, data=chunks(), headers={"Content-Type": "application/json"})
    assert (answer.status, answer.json["code"]) == (413, "BODY_TOO_LARGE")


async def test_a_body_that_does_not_arrive_is_a_408_and_closes_the_connection(
    client: Client, gateway: RunningGateway
) -> None:
    host, port = gateway.http_address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /api/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + client.key.encode() + b"\r\nContent-Length: 100\r\n\r\n{"
    )
    answer = await asyncio.wait_for(reader.read(), 30)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"BODY_TOO_SLOW" in answer
    writer.close()


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
async def test_an_unknown_path_is_a_404_in_json(client: Client, verb: str) -> None:
    answer = await client(verb, "/api/v1/nothing")
    assert (answer.status, answer.json["detail"]) == (404, "Not Found")
    assert answer.headers["X-Request-ID"]


async def test_a_well_formed_request_id_is_echoed(client: Client) -> None:
    answer = await client("GET", "/healthz", headers={"X-Request-ID": "abc.DEF_1-2"})
    assert answer.headers["X-Request-ID"] == "abc.DEF_1-2"
    answer = await client("GET", "/healthz", headers={"X-Request-ID": "no spaces"})
    assert answer.headers["X-Request-ID"] not in ("", "no spaces")


async def test_unknown_fields_are_ignored_and_named(client: Client, backends: FakeBackends) -> None:
    backends.on("StartWorkflow", started)
    body = {
        "workflow_id": str(uuid4()),
        "retries": 3,
        "run_config": {"execution_mode": {"retrys": 1, "retries": 2}},
        "a\r\nb": 1,
    }
    headers = {"X-CI-Branch": "main", "X-CI-PR-Number": "7", "X-CI-Flavour": "x", "X-Service-Client": "cli"}
    answer = await client("POST", START, json=body, headers=headers)
    request = backends.requests("StartWorkflow")[0]
    assert answer.status == 200
    assert answer.json["status"] == "queued"
    assert answer.json["task_id"] == answer.json["id"]
    assert answer.headers["X-Ignored-Fields"] == "x-ci-flavour, run_config.execution_mode.retrys, retries, a??b"
    assert (request.ci.branch, request.ci.pr_number, request.service_client) == ("main", 7, "cli")
    assert request.run_config.execution_mode.retries == 2


async def test_strict_handling_rejects_unknown_fields_and_suggests_the_nearest(
    client: Client, backends: FakeBackends
) -> None:
    body = {"workflow_id": str(uuid4()), "run_config": {"execution_mode": {"retrys": 1}}}
    answer = await client("POST", START, json=body, headers={"Prefer": "handling=strict"})
    assert answer.status == 422
    assert answer.json["detail"] == [
        {
            "loc": ["body", "run_config", "execution_mode", "retrys"],
            "msg": "Extra inputs are not permitted; did you mean 'retries'?",
            "type": "extra_forbidden",
        }
    ]
    assert backends.of("StartWorkflow") == []


async def test_health_needs_no_key(client: Client, gateway: RunningGateway) -> None:
    async with client.session.get(gateway.url + "/healthz") as answer:
        assert (answer.status, (await answer.json())["status"]) == (200, "ok")


async def test_readiness_needs_the_catalog(own_client: Client, own_backends: FakeBackends) -> None:
    await own_backends.stop("catalog")

    async def not_ready() -> bool:
        return (await own_client("GET", "/readyz")).status == 503

    await eventually(not_ready)
    await own_backends.start("catalog")

    async def ready() -> bool:
        return (await own_client("GET", "/readyz")).status == 200

    await eventually(ready)


async def test_requests_are_counted_by_template(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    await client("GET", f"/api/v1/apps/{uuid4()}", key=script_api_key(backends, "write"))
    async with client.session.get(f"http://{gateway.admin_address}/metrics") as answer:
        text = await answer.text()
    assert 'mobiletest_http_requests_total{code="403",method="GET",route="/api/v1/apps/{app_id}"}' in text
    assert "mobiletest_http_request_duration_seconds_bucket" in text
    assert "mobiletest_http_in_flight 0.0" in text
