"""Pages of the dashboard before scripted services: one request each, whatever operations they call."""

from uuid import uuid4

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import api_keys_pb2
from mobiletest.executor.v1 import executions_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import limits_pb2 as types_pb2
from mobiletest.types.v1.ci_pb2 import CiAttribution

from services.chassis.errors import Unauthenticated, Unavailable
from services.chassis.metrics import REGISTRY
from tests.fakes.gateway import FakeBackends, script_api_key
from tests.integration.gateway.conftest import Answer, Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXECUTION = str(uuid4())
PATH = f"/executions/{EXECUTION}"


def script_execution(backends: FakeBackends) -> None:
    """The key of the page, and an execution that has ended with its gate."""
    ended = executions_pb2.Execution(
        id=EXECUTION,
        ci=CiAttribution(),
        counts=executions_pb2.RunCounts(total=3, passed=2, failed=1),
        created_at=Timestamp(seconds=1),
        completed_at=Timestamp(seconds=2),
    )
    backends.on("GetCurrentApiKey", lambda _: api_keys_pb2.ApiKey(name="Viewer", scopes=["SCOPE_READ"]))
    backends.on("BatchGetExecutions", lambda _: executions_pb2.BatchGetExecutionsResponse(executions=[ended]))
    backends.on("ListExecutions", lambda _: executions_pb2.ListExecutionsResponse())
    backends.on("ListRuns", lambda _: executions_pb2.ListRunsResponse(page=1, page_size=100))
    backends.on("GetGate", lambda _: reports_pb2.Gate(result="GATE_RESULT_BLOCK", summary="1 test blocks"))


def text(answer: Answer) -> str:
    assert answer.headers["Content-Type"].startswith("text/html")
    return answer.body.decode()


def counted(route: str) -> float:
    labels = {"route": route, "method": "GET", "code": "200"}
    return REGISTRY.get_sample_value("mobiletest_http_requests_total", labels) or 0.0


async def test_a_page_is_one_request_and_reads_each_resource_once(client: Client, backends: FakeBackends) -> None:
    key = script_api_key(backends, limits=types_pb2.OrganisationLimits(key_requests_per_second=1, key_request_burst=9))
    script_execution(backends)
    page, resource = "/executions/{execution_id}", "/api/v1/executions/{execution_id}"
    before = counted(page), counted(resource)
    answer = await client("GET", PATH, key=key, headers={"X-Request-ID": "page-1"})
    assert (answer.status, answer.headers["RateLimit-Remaining"]) == (200, "8")
    assert "1 test blocks" in text(answer)
    calls = [call for call in backends.calls if call.method != "VerifyApiKey"]
    read_once = ["BatchGetExecutions", "GetCurrentApiKey", "GetGate", "ListApps", "ListRuns"]
    assert sorted(call.method for call in calls if call.method != "ListExecutions") == read_once
    related = {(each.rerun_of, each.superseded_by) for each in backends.requests("ListExecutions")}
    assert (len(calls), related) == (len(read_once) + 2, {(EXECUTION, ""), ("", EXECUTION)})
    assert {call.caller.request_id for call in calls} == {"page-1"}
    assert (backends.requests("GetGate")[0].min_ended_runs, backends.requests("GetGate")[0].total_runs) == (3, 3)
    assert (counted(page), counted(resource)) == (before[0] + 1, before[1])


async def test_pages_beyond_the_rate_are_refused_as_pages(client: Client, backends: FakeBackends) -> None:
    key = script_api_key(backends, limits=types_pb2.OrganisationLimits(key_requests_per_second=1, key_request_burst=1))
    script_execution(backends)
    answers = [await client("GET", PATH, key=key) for _ in range(5)]
    refused = next(answer for answer in answers if answer.status == 429)
    assert "limit key_requests_per_second (1): send fewer" in text(refused)


async def test_each_operation_of_a_page_checks_the_scopes_of_the_key(client: Client, backends: FakeBackends) -> None:
    """Also below pages that somebody who may only read can open."""
    script_execution(backends)
    refused = await client("GET", PATH, key=script_api_key(backends, "execute"))
    assert (refused.status, "This API key lacks the scope read" in text(refused)) == (403, True)
    backends.on("ListApiKeys", lambda _: api_keys_pb2.ListApiKeysResponse())
    shown = await client("GET", "/settings", key=script_api_key(backends, "read"))
    assert (shown.status, "Ask an administrator" in text(shown)) == (200, True)
    assert [call.method for call in backends.calls if call.method not in ("VerifyApiKey", "GetCurrentApiKey")] == []


async def test_errors_of_operations_are_pages(client: Client, backends: FakeBackends) -> None:
    script_execution(backends)
    invalid = await client("GET", f"{PATH}?page=0")
    assert (invalid.status, "No page 0" in text(invalid)) == (404, True)
    backends.fail("GetGate", Unavailable("stopped"))
    partly = await client("GET", PATH)
    assert (partly.status, "The gate is not known now: A service that this" in text(partly)) == (200, True)
    backends.on("BatchGetExecutions", lambda _: executions_pb2.BatchGetExecutionsResponse())
    missing = await client("GET", PATH)
    assert (missing.status, "Execution not found" in text(missing)) == (404, True)
    backends.fail("ListRuns", ValueError("a bug"))
    backends.fail("BatchGetExecutions", ValueError("a bug"))
    broken = await client("GET", PATH, headers={"X-Request-ID": "page-2"})
    assert (broken.status, "Internal error (request page-2)" in text(broken)) == (500, True)


async def test_a_key_that_has_ended_leads_to_the_page_to_sign_in(client: Client, backends: FakeBackends) -> None:
    script_execution(backends)
    backends.fail("ListRuns", Unauthenticated("Invalid API key", reason="INVALID_API_KEY"))
    for key in (None, "mt_unknown"):
        answer = await client("GET", f"{PATH}?page=2", key=key, allow_redirects=False)
        assert (answer.status, answer.headers["Location"]) == (
            303,
            f"/sign-in?next=%2Fexecutions%2F{EXECUTION}%3Fpage%3D2",
        )
