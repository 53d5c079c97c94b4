"""Apps over REST: composed of what the catalog keeps and what reporting knows."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.errors import Unavailable
from services.gateway.upstream.app_stats import FAILURES_BEFORE_PAUSE
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends, fixed_stats, script_api_key, script_apps
from tests.integration.gateway.conftest import Client, open_client, run_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")


def an_app(**values: Any) -> apps_pb2.App:
    return apps_pb2.App(**{"id": str(uuid4()), "name": "Shop", "platform": 1, "revision": 3, **values})


async def test_an_app_has_all_fields_but_internal_ones(client: Client, backends: FakeBackends) -> None:
    app = an_app(versions_count=2)
    app.created_at.FromJsonString("2026-01-02T03:04:05.250Z")
    script_apps(backends, app)
    answer = await client("GET", f"/api/v1/apps/{app.id}")
    assert answer.status == 200
    assert answer.json == {
        "id": app.id,
        "org_id": None,
        "name": "Shop",
        "platform": "iOS",
        "static_url": None,
        "current_version": None,
        "description": None,
        "system_prompt": None,
        "created_at": "2026-01-02T03:04:05.250Z",
        "latest_version": None,
        "versions_count": 2,
        "latest_build_id": None,
        "current_build_id": None,
        "attached_tests": None,
        "pinned_tests": None,
        "recent_executions": 7,
        "rolling_pass_rate": 0.5,
        "attribution_ready": True,
    }


async def test_without_reporting_apps_have_nulls_and_a_warning_until_it_is_back(
    own_client: Client, own_backends: FakeBackends
) -> None:
    app = an_app()
    script_apps(own_backends, app)
    await own_backends.stop("reporting")
    for _ in range(5):
        answer = await own_client("GET", f"/api/v1/apps/{app.id}")
        assert (answer.status, answer.json["name"]) == (200, "Shop")
        assert answer.json["recent_executions"] is answer.json["rolling_pass_rate"] is None
        assert answer.json["attribution_ready"] is None
        assert answer.headers["Warning"].startswith("199 ")
    await own_backends.start("reporting")

    async def whole() -> bool:
        answer = await own_client("GET", f"/api/v1/apps/{app.id}")
        return answer.json["recent_executions"] == 7 and "Warning" not in answer.headers

    await eventually(whole)


async def test_slow_statistics_do_not_delay_apps(own_client: Client, own_backends: FakeBackends) -> None:
    app = an_app()
    script_apps(own_backends, app)
    own_backends.hang("BatchGetAppStats")
    answer = await own_client("GET", f"/api/v1/apps/{app.id}")
    assert answer.status == 200
    assert "Warning" in answer.headers


async def test_a_short_request_timeout_does_not_count_as_a_failure_of_reporting(
    backends: FakeBackends,
) -> None:
    app = an_app()
    script_apps(backends, app)

    backends.hang("BatchGetAppStats")
    async with (
        run_gateway(backends, stats_timeout_seconds=60) as gateway,
        open_client(gateway, backends) as client,
        asyncio.timeout(30),
    ):
        hurried = [
            await client("GET", f"/api/v1/apps/{app.id}", headers={"X-Request-Timeout": "0.5"})
            for _ in range(FAILURES_BEFORE_PAUSE)
        ]
        backends.on("BatchGetAppStats", fixed_stats)
        patient = await client("GET", f"/api/v1/apps/{app.id}")
    assert [(answer.status, "Warning" in answer.headers) for answer in hurried] == [(200, True)] * FAILURES_BEFORE_PAUSE
    assert "Warning" not in patient.headers


async def test_concurrent_reads_share_calls(client: Client, backends: FakeBackends) -> None:
    apps = [an_app() for _ in range(40)]
    script_apps(backends, *apps)
    answers = await asyncio.gather(*(client("GET", f"/api/v1/apps/{app.id}") for app in apps))
    assert [answer.json["id"] for answer in answers] == [app.id for app in apps]
    assert len(backends.of("BatchGetApps")) < len(apps)


async def test_organisations_never_share_a_call(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    script_apps(backends, app)
    keys = [script_api_key(backends, org_id=str(uuid4())) for _ in range(5)]
    await asyncio.gather(*(client("GET", f"/api/v1/apps/{app.id}", key=key) for key in keys for _ in range(4)))
    assert len({call.caller.org_id for call in backends.of("BatchGetApps")}) == 5


async def test_a_new_app_has_no_executions_and_answers_200(client: Client, backends: FakeBackends) -> None:
    backends.on("CreateApp", lambda request: an_app(name=request.name))
    answer = await client("POST", "/api/v1/apps/", json={"name": "New", "platform": "Android"})
    assert answer.status == 200
    assert (answer.json["name"], answer.json["recent_executions"], answer.json["attribution_ready"]) == (
        "New",
        0,
        False,
    )
    assert backends.requests("CreateApp")[0].platform == 2


async def test_a_patch_fills_the_update_mask(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    backends.on("BatchGetAppStats", fixed_stats)
    backends.on("UpdateApp", lambda _: app)
    answer = await client("PATCH", f"/api/v1/apps/{app.id}", json={"static_url": None, "description": "x", "nme": 1})
    request = backends.requests("UpdateApp")[0]
    assert answer.status == 200
    assert list(request.update_mask.paths) == ["static_url", "description"]
    assert not request.HasField("static_url")
    assert answer.headers["X-Ignored-Fields"] == "nme"


async def test_an_empty_patch_returns_the_resource(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    backends.on("BatchGetAppStats", fixed_stats)
    backends.on("UpdateApp", lambda _: app)
    answer = await client("PATCH", f"/api/v1/apps/{app.id}", data=b"")
    assert answer.json["id"] == app.id
    assert list(backends.requests("UpdateApp")[0].update_mask.paths) == []


async def test_a_page_of_apps_makes_one_call_for_all_statistics(client: Client, backends: FakeBackends) -> None:
    apps = [an_app() for _ in range(3)]
    counts = apps_pb2.AppPlatformCounts(total=9, ios=4, android=5)
    page = apps_pb2.ListAppsResponse(total=3, page=1, page_size=50, total_pages=1, items=apps, platform_counts=counts)
    backends.on("ListApps", lambda _: page)
    backends.on("BatchGetAppStats", fixed_stats)
    answer = await client(
        "GET", "/api/v1/apps?platform=IOS&search=a%20b&x=1", headers={"Content-Type": "application/json"}
    )
    assert answer.json["platform_counts"] == {"total": 9, "ios": 4, "android": 5}
    assert [item["id"] for item in answer.json["items"]] == [app.id for app in apps]
    assert {key: answer.json[key] for key in ("total", "page", "page_size", "total_pages")} == {
        "total": 3,
        "page": 1,
        "page_size": 50,
        "total_pages": 1,
    }
    assert answer.json["has_next"] is answer.json["has_previous"] is False
    assert answer.json["items"][0]["recent_executions"] == 7
    assert answer.headers["X-Ignored-Fields"] == "x"
    assert backends.requests("ListApps")[0].search == "a b"
    assert backends.requests("ListApps")[0].page == 1, "the services apply the defaults of the contract"
    assert len(backends.of("BatchGetAppStats")) == 1


async def test_a_dependency_that_is_down_is_a_503_with_retry_after(client: Client, backends: FakeBackends) -> None:
    backends.fail("ListApps", Unavailable("mongodb at 10.0.0.1 is down", retry_after=2.5))
    answer = await client("GET", "/api/v1/apps")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "3")
    assert "10.0.0.1" not in answer.json["detail"]
