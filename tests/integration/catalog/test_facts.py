"""The catalog as facts: everything that it has published, as in the newest event of each."""

from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, events_pb2, facts_pb2, facts_pb2_grpc, failures_pb2, tests_pb2
from pymongo import MongoClient

from services.chassis import context, grpc_server
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.outbox import OUTBOX, to_events
from tests.integration.catalog.conftest import TOKEN, TOKEN_OF_GATEWAY, Service
from tests.integration.catalog.test_apps_rpc import made
from tests.integration.catalog.test_tests_rpc import written

pytestmark = pytest.mark.asyncio(loop_scope="session")

KINDS: dict[str, type[Message]] = {
    message.DESCRIPTOR.full_name: message
    for message in (
        events_pb2.AppChanged,
        events_pb2.BuildChanged,
        events_pb2.TestChanged,
        events_pb2.AttachmentChanged,
        events_pb2.FailureTriageChanged,
    )
}


async def exported(service: Service, page_size: int, org_id: str | None = None) -> list[Message]:
    """All facts, or those of an organisation, in pages of this size."""
    descriptor = facts_pb2.DESCRIPTOR.services_by_name["CatalogFacts"]
    facts: list[Message] = []
    async with grpc_server.open_channel(service.address, TOKEN, services=[descriptor]) as channel:
        stub: Any = facts_pb2_grpc.CatalogFactsStub(channel)
        token = None
        while token != "":
            request = facts_pb2.ListCatalogFactsRequest(page_token=token, page_size=page_size)
            page = await stub.ListCatalogFacts(request)
            assert len(page.facts) <= page_size
            facts += [getattr(fact, fact.WhichOneof("fact")) for fact in page.facts]
            token = page.next_page_token
    return [fact for fact in facts if org_id in (None, fact.org_id)]  # type: ignore[attr-defined]


def identity(fact: Any) -> tuple[str, str]:
    match fact.DESCRIPTOR.name:
        case "AppChanged":
            return "app", fact.app_id
        case "BuildChanged":
            return "build", fact.build_id
        case "TestChanged":
            return "test", fact.test_id
        case "FailureTriageChanged":
            return "triage", f"{fact.app_id}/{fact.fingerprint}"
    return "attachment", f"{fact.app_id}/{fact.test_id}"


def newest_events(service: Service, client: MongoClient[dict[str, Any]], org_id: str) -> dict[tuple[str, str], Any]:
    """The newest event about each thing of an organisation, from the outbox that publishes them."""
    newest: dict[tuple[str, str], Any] = {}
    rows = client[service.settings.mongo_database][OUTBOX].find()
    for event in (event for row in rows for event in to_events(row) if event.type in KINDS):
        published: Any = KINDS[event.type].FromString(event.payload)
        key = identity(published)
        if published.org_id == org_id and (key not in newest or published.revision > newest[key].revision):
            newest[key] = published
    return newest


async def lived(service: Service) -> None:
    """An app with builds, tests and attachments that were changed in every way, and some of them deleted."""
    app, gone = await made(service), await made(service, "Gone")
    first, second = [
        await service.builds.CreateBuild(
            builds_pb2.CreateBuildRequest(app_id=app.id, version=version, artifact_url="https://example.com/a.apk")
        )
        for version in ("1.0", "1.1")
    ]
    tests = [await written(service, name) for name in ("Log in", "Pay", "Leave")]
    for test in tests:
        await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=gone.id, test_id=tests[0].id))
    pinned = tests_pb2.AttachTestRequest(app_id=app.id, test_id=tests[1].id, pinned_version="1.0")
    await service.tests.AttachTest(pinned)
    await service.tests.DetachTest(tests_pb2.DetachTestRequest(app_id=app.id, test_id=tests[0].id))
    renamed = builds_pb2.UpdateBuildRequest(
        version_id=first.id, version="1.0.1", update_mask=FieldMask(paths=["version"])
    )
    await service.builds.UpdateBuild(renamed)
    await service.builds.DeleteBuild(builds_pb2.DeleteBuildRequest(version_id=second.id))
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=tests[2].id))
    for each in (app, gone):
        request = failures_pb2.UpdateFailureTriageRequest(app_id=each.id, fingerprint="0" * 16, note="Known")
        await service.failures.UpdateFailureTriage(request)
    await service.apps.DeleteApp(apps_pb2.DeleteAppRequest(app_id=gone.id))


async def test_facts_equal_the_newest_events(service: Service, mongo_client: MongoClient[dict[str, Any]]) -> None:
    await lived(service)
    org_id = context.current().org_id
    facts = await exported(service, 2, org_id)
    assert facts == await exported(service, 5000, org_id)
    published = newest_events(service, mongo_client, org_id)
    assert len(facts) == len(published) == 2 + 2 + 3 + 4 + 2
    for fact in facts:
        event = published[identity(fact)]
        if fact.DESCRIPTOR.name == "TestChanged":  # attaching a test raises its revision without an event
            event.revision = fact.revision  # type: ignore[attr-defined]
        assert fact.SerializeToString(deterministic=True) == event.SerializeToString(deterministic=True)


async def test_attachments_have_the_new_name_of_a_test(
    service: Service, mongo_client: MongoClient[dict[str, Any]]
) -> None:
    """They take the new name along without a word, so only their name differs from the event."""
    app, test = await made(service), await written(service, "Log in")
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    mask = FieldMask(paths=["name"])
    await service.tests.UpdateTest(tests_pb2.UpdateTestRequest(test_id=test.id, name="Sign in", update_mask=mask))
    org_id = context.current().org_id
    facts: dict[Any, Any] = {identity(fact): fact for fact in await exported(service, 100, org_id)}
    published = newest_events(service, mongo_client, org_id)
    tied = ("attachment", f"{app.id}/{test.id}")
    assert facts["test", test.id] == published["test", test.id]
    assert (facts[tied].test_name, published[tied].test_name) == ("Sign in", "Log in")
    published[tied].test_name = "Sign in"
    assert facts[tied] == published[tied]


async def test_only_reporting_gets_them(service: Service) -> None:
    request = facts_pb2.ListCatalogFactsRequest()
    descriptor = facts_pb2.DESCRIPTOR.services_by_name["CatalogFacts"]
    for token, code in (
        (TOKEN_OF_GATEWAY, grpc.StatusCode.PERMISSION_DENIED),
        ("x" * 20, grpc.StatusCode.UNAUTHENTICATED),
    ):
        async with grpc_server.open_channel(service.address, token, services=[descriptor]) as channel:
            stub: Any = facts_pb2_grpc.CatalogFactsStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.ListCatalogFacts(request)
            assert refused.value.code() is code


async def test_a_token_that_no_page_gave_is_refused(service: Service) -> None:
    descriptor = facts_pb2.DESCRIPTOR.services_by_name["CatalogFacts"]
    with context.bind(Caller(str(uuid4()), scopes=ALL_SCOPES)):
        async with grpc_server.open_channel(service.address, TOKEN, services=[descriptor]) as channel:
            stub: Any = facts_pb2_grpc.CatalogFactsStub(channel)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.ListCatalogFacts(facts_pb2.ListCatalogFactsRequest(page_token="keys:1"))
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
