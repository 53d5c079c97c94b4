"""Limits at the gateway, before scripted services: rates, uploads, streams, and what is shown of them."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import api_keys_pb2, builds_pb2, limits_pb2
from mobiletest.executor.v1 import limits_pb2 as executor_pb2
from mobiletest.types.v1 import limits_pb2 as types_pb2

from services.chassis.errors import Unavailable
from services.chassis.limit_refusals import refusals
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, new_key, script_api_key
from tests.integration.gateway.conftest import Answer, Client
from tests.integration.gateway.upload_forms import form

pytestmark = pytest.mark.asyncio(loop_scope="module")
OPEN_API = "/api/v1/openapi.json"


def limit(backends: FakeBackends, **limits: Any) -> str:
    """A key of a new organisation with these limits."""
    return script_api_key(backends, limits=types_pb2.OrganisationLimits(**limits))


def rate_limit(answer: Answer) -> dict[str, int]:
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
    return {name: int(answer.headers[name]) for name in names}


async def test_requests_beyond_the_rate_are_429_with_when_to_come_again(client: Client, backends: FakeBackends) -> None:
    """Unknown to the neighbour, and named by the error, the headers and the metric."""
    backends.on("ListApiKeys", lambda _: api_keys_pb2.ListApiKeysResponse())
    key = limit(backends, key_requests_per_second=1, key_request_burst=3)
    path, before = "/api/v1/settings/api-keys", refusals.labels("key_requests_per_second")._value.get()
    first = [await client("GET", path, key=key) for _ in range(3)]
    assert [answer.status for answer in first] == [200, 200, 200]
    assert rate_limit(first[0]) == {"RateLimit-Limit": 3, "RateLimit-Remaining": 2, "RateLimit-Reset": 1}
    refused = [await client("GET", path, key=key) for _ in range(5)]
    last = next(answer for answer in refused if answer.status == 429)
    assert last.json["code"] == "LIMIT_REACHED"
    assert "limit key_requests_per_second (1): send fewer" in last.json["detail"]
    assert last.headers["Retry-After"] == "1"
    assert rate_limit(last)["RateLimit-Remaining"] == 0
    assert refusals.labels("key_requests_per_second")._value.get() > before
    assert (await client("GET", path)).status == 200


async def test_errors_of_requests_under_a_bucket_show_it_too(client: Client, backends: FakeBackends) -> None:
    answer = await client("GET", f"/api/v1/apps/{uuid4()}", key=limit(backends, key_request_burst=3))
    assert answer.status == 404
    assert rate_limit(answer)["RateLimit-Remaining"] == 2


async def test_what_needs_no_key_has_no_bucket(client: Client) -> None:
    answer = await client("GET", OPEN_API)
    assert "RateLimit-Limit" not in answer.headers
    wrong = await client("GET", "/api/v1/settings/api-keys", key=new_key())
    assert (wrong.status, "RateLimit-Limit" in wrong.headers) == (401, False)


async def test_event_streams_beyond_the_limit_are_429(client: Client, backends: FakeBackends) -> None:
    """One that ends makes room."""
    backends.hang("WatchExecution")
    key, url = limit(backends, streams=1), f"/api/v1/executions/{uuid4()}/events"
    headers = {"Authorization": f"Bearer {key}"}
    async with client.session.get(client.url + url, headers=headers) as stream:
        assert stream.status == 200
        refused = await client("GET", url, key=key)
        assert (refused.status, refused.json["code"], refused.headers["Retry-After"]) == (429, "LIMIT_REACHED", "5")
        assert "limit streams (1)" in refused.json["detail"]

    async def ended() -> bool:
        async with client.session.get(client.url + url, headers=headers) as again:
            return again.status == 200

    await eventually(ended)


async def test_uploads_beyond_the_limit_are_429(client: Client, backends: FakeBackends) -> None:
    received, arrived = asyncio.Event(), asyncio.Event()

    async def receive(_: object) -> builds_pb2.Build:
        arrived.set()
        await received.wait()
        return builds_pb2.Build(id="b1")

    backends.on("UploadBuild", receive)
    key, path = limit(backends, uploads=1), f"/api/v1/apps/{uuid4()}/builds"
    first = asyncio.create_task(client("POST", path, key=key, data=form()))
    await arrived.wait()
    refused = await client("POST", path, key=key, data=form())
    assert (refused.status, refused.headers["Retry-After"]) == (429, "5")
    assert "limit uploads (1)" in refused.json["detail"]
    received.set()
    assert (await first).status == 201
    assert (await client("POST", path, key=key, data=form())).status == 201


async def test_the_catalog_learns_how_large_an_upload_may_be(client: Client, backends: FakeBackends) -> None:
    backends.on("UploadBuild", lambda _: builds_pb2.Build(id="b1"))
    await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(file=b"x" * 5000))
    first = backends.requests("UploadBuild")[0][0]
    assert 5000 < first.metadata.expected_bytes < 6000


class TestShown:
    @pytest.fixture(autouse=True)
    def catalog(self, backends: FakeBackends, client: Client) -> None:
        limits = [types_pb2.Limit(name="api_keys", limit=5, used=2)]
        answer = limits_pb2.GetLimitsResponse(limits=limits, allowed_models=["*"])
        backends.on("GetLimits", lambda _: answer)

    async def test_limits_of_all_services_are_in_one_list(self, client: Client, backends: FakeBackends) -> None:
        runs = [types_pb2.Limit(name="queued_runs", limit=10, used=0)]
        backends.on("ListRunLimits", lambda _: executor_pb2.ListRunLimitsResponse(limits=runs, models_available=False))
        answer = await client("GET", "/api/v1/settings/limits", key=limit(backends, requests_per_second=7, uploads=3))
        assert answer.status == 200
        shown = {each.pop("name"): each for each in answer.json["limits"]}
        assert shown["requests_per_second"] == {"limit": 7, "used": None}
        assert shown["request_burst"] == {"limit": 14, "used": None}
        assert shown["uploads"] == {"limit": 3, "used": 0}
        assert shown["api_keys"] == {"limit": 5, "used": 2}
        assert shown["queued_runs"] == {"limit": 10, "used": 0}
        assert (answer.json["allowed_models"], answer.json["models_available"]) == (["*"], False)
        assert "Warning" not in answer.headers

    async def test_without_the_executor_its_limits_are_missing(self, client: Client, backends: FakeBackends) -> None:
        def away(_: object) -> object:
            raise Unavailable("away")

        backends.on("ListRunLimits", away)
        answer = await client("GET", "/api/v1/settings/limits")
        assert (answer.status, "executor" in answer.headers["Warning"]) == (200, True)
        assert {each["name"] for each in answer.json["limits"]} >= {"api_keys", "streams"}
        assert answer.json["models_available"] is None
