"""Tests in REST: lists by classification from two services, and quarantine."""

from uuid import uuid4

import pytest
from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import tests_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1.platform_pb2 import PLATFORM_IOS

from services.chassis.errors import Unavailable
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


def script_tests(backends: FakeBackends, *ids: str) -> None:
    """Script ListTests for these, in the catalog's order."""

    def answer(request: tests_pb2.ListTestsRequest) -> tests_pb2.ListTestsResponse:
        tests = [tests_pb2.Test(id=id_, name=f"Test {id_}") for id_ in ids if id_ in request.test_ids]
        return tests_pb2.ListTestsResponse(items=tests)

    backends.on("ListTests", answer)


def script_classification(backends: FakeBackends, *ids: str, total: int) -> None:
    """Script ListClassifiedTests."""
    answer = reports_pb2.ListClassifiedTestsResponse(total=total, test_ids=ids)
    backends.on("ListClassifiedTests", lambda _: answer)


async def test_reporting_selects_tests_and_the_catalog_describes_them(client: Client, backends: FakeBackends) -> None:
    """In reporting's order, with reporting's total; a test that was deleted just now is left out."""
    script_tests(backends, "a", "b")
    script_classification(backends, "b", "gone", "a", total=8)
    answer = await client("GET", "/api/v1/tests?classification=flaky&page=2&page_size=3")
    assert [test["id"] for test in answer.json["items"]] == ["b", "a"]
    expected = {"total": 8, "page": 2, "page_size": 3, "total_pages": 3, "has_next": True, "has_previous": True}
    assert {name: answer.json[name] for name in expected} == expected


async def test_other_parameters_go_to_reporting(client: Client, backends: FakeBackends) -> None:
    """Those that were given; pages have the usual defaults."""
    script_classification(backends, total=0)
    app_id = str(uuid4())
    query = f"search=Log+in&app_id={app_id.upper()}&platform=ios&tag=smoke&quarantined=true"
    answer = await client("GET", f"/api/v1/tests?classification=insufficient_data&{query}")
    assert (answer.json["items"], answer.json["total_pages"], answer.json["has_next"]) == ([], 0, False)
    await client("GET", "/api/v1/tests?classification=stable")
    whole, bare = backends.requests("ListClassifiedTests")
    assert whole == reports_pb2.ListClassifiedTestsRequest(
        classification="CLASSIFICATION_INSUFFICIENT_DATA",
        page=1,
        page_size=50,
        search="Log in",
        app_id=app_id,
        platform=PLATFORM_IOS,
        tag="smoke",
        quarantined=True,
    )
    assert bare == reports_pb2.ListClassifiedTestsRequest(classification="CLASSIFICATION_STABLE", page=1, page_size=50)
    assert backends.of("BatchGetTests") == []


async def test_without_a_classification_only_the_catalog_is_called(client: Client, backends: FakeBackends) -> None:
    """As it always was."""
    backends.on("ListTests", lambda _: tests_pb2.ListTestsResponse(total=1, items=[tests_pb2.Test(id="a")]))
    answer = await client("GET", "/api/v1/tests?search=x")
    assert (answer.json["total"], answer.json["items"][0]["quarantine"]) == (1, None)
    assert (backends.of("ListClassifiedTests"), backends.of("BatchGetTests")) == ([], [])


async def test_without_reporting_a_classified_list_is_a_503(own_client: Client, own_backends: FakeBackends) -> None:
    """503 with Retry-After, whether reporting answers with an error or not at all; the plain list works."""

    own_backends.fail("ListClassifiedTests", Unavailable("not now", retry_after=1))
    own_backends.on("ListTests", lambda _: tests_pb2.ListTestsResponse())
    answers = [await own_client("GET", "/api/v1/tests?classification=flaky")]
    await own_backends.stop("reporting")
    answers.append(await own_client("GET", "/api/v1/tests?classification=flaky"))
    assert [(answer.status, "Retry-After" in answer.headers) for answer in answers] == [(503, True)] * 2
    assert (await own_client("GET", "/api/v1/tests")).status == 200


async def test_a_quarantine_is_set_and_cleared(client: Client, backends: FakeBackends) -> None:
    """The answer is the test; the end has no body."""
    test_id = str(uuid4())
    test = tests_pb2.Test(id=test_id)
    test.quarantine.reason, test.quarantine.by = "Flaky", "CI"
    test.quarantine.until.FromJsonString("2026-12-05T00:00:00Z")
    backends.on("QuarantineTest", lambda _: test)
    backends.on("UnquarantineTest", lambda _: Empty())
    path = f"/api/v1/tests/{test_id}/quarantine"
    body = {"reason": "Flaky", "until": "2026-12-05T01:00:00+01:00"}
    answer = await client("PUT", path, json=body)
    assert (answer.status, answer.json["quarantine"]["until"]) == (200, "2026-12-05T00:00:00Z")
    assert backends.requests("QuarantineTest")[0].until == test.quarantine.until
    assert (await client("PUT", path, json={"reason": "Flaky", "until": None})).status == 200
    assert not backends.requests("QuarantineTest")[1].HasField("until")
    ended = await client("DELETE", path)
    assert (ended.status, ended.body) == (204, b"")
