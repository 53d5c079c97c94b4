"""Quarantine over gRPC and on Kafka, on the running catalog."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import api_keys_pb2, events_pb2, tests_pb2

from services.catalog.events import CATALOG_EVENTS
from services.chassis import context
from services.chassis.consumer import Consumer
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.errors import DomainError, InvalidArgument, NotFound, PermissionDenied
from services.chassis.events import Event
from services.chassis.lifecycle import Background
from services.chassis.producer import Producer
from tests.eventually import eventually
from tests.integration.catalog.conftest import Service, foreign
from tests.integration.catalog.test_apps_rpc import failed, made
from tests.integration.catalog.test_tests_rpc import written

pytestmark = pytest.mark.asyncio(loop_scope="session")


def moment(ahead: timedelta) -> Timestamp:
    """A moment from now on."""
    stamp = Timestamp()
    stamp.FromDatetime(datetime.now(UTC) + ahead)
    return stamp


async def begun(service: Service, test: tests_pb2.Test, reason: str = "Flaky", **fields: Any) -> tests_pb2.Test:
    """The test in quarantine."""
    request = tests_pb2.QuarantineTestRequest(test_id=test.id, reason=reason, **fields)
    answer: tests_pb2.Test = await service.tests.QuarantineTest(request)
    return answer


async def refusal(service: Service, **fields: Any) -> DomainError:
    """Why a quarantine is refused."""
    return await failed(service.tests.QuarantineTest(tests_pb2.QuarantineTestRequest(**fields)))


async def test_it_shows_wherever_the_test_does(service: Service) -> None:
    """Got, listed, together with others, in the list of an app; until it is ended."""
    app, test = await made(service), await written(service)
    await service.tests.AttachTest(tests_pb2.AttachTestRequest(app_id=app.id, test_id=test.id))
    quarantine = (await begun(service, test)).quarantine
    days = quarantine.until.ToDatetime() - quarantine.since.ToDatetime()
    assert (quarantine.reason, days) == ("Flaky", timedelta(days=14))
    assert [each.quarantine for each in await views(service, app.id, test.id)] == [quarantine] * 4
    for _ in range(2):
        await service.tests.UnquarantineTest(tests_pb2.UnquarantineTestRequest(test_id=test.id))
    assert not any(each.HasField("quarantine") for each in await views(service, app.id, test.id))


async def views(service: Service, app_id: str, test_id: str) -> list[Any]:
    """The test, or its attachment, in each answer that has one."""
    got = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test_id))
    listed = await service.tests.ListTests(tests_pb2.ListTestsRequest())
    together = await service.tests.BatchGetTests(tests_pb2.BatchGetTestsRequest(test_ids=[test_id]))
    of_app = await service.tests.ListAttachments(tests_pb2.ListAttachmentsRequest(app_id=app_id))
    return [got, listed.items[0], together.tests[0], of_app.items[0]]


async def test_who_set_it_is_the_name_of_the_key(service: Service) -> None:
    """A caller without a key is internal."""
    test, org_id = await written(service), context.current().org_id
    key = await service.keys.CreateApiKey(api_keys_pb2.CreateApiKeyRequest(name="CI of the shop"))
    with context.bind(Caller(org_id, subject=key.id, scopes=ALL_SCOPES)):
        assert (await begun(service, test)).quarantine.by == "CI of the shop"
    with context.bind(Caller(org_id, scopes=ALL_SCOPES)):
        assert (await begun(service, test)).quarantine.by == "internal"


async def test_what_is_no_quarantine_is_refused(service: Service) -> None:
    """The fields are named; an end is neither past nor more than 366 days ahead."""
    test = await written(service)
    longest = await begun(service, test, until=moment(timedelta(days=365, hours=23)))
    assert longest.HasField("quarantine")
    for fields, name in (
        ({}, "reason"),
        ({"reason": " "}, "reason"),
        ({"reason": "x" * 1001}, "reason"),
        ({"reason": "x", "until": moment(timedelta(seconds=-1))}, "until"),
        ({"reason": "x", "until": moment(timedelta(days=366, hours=1))}, "until"),
        ({"reason": "x", "until": Timestamp(seconds=1 << 60)}, "until"),
    ):
        error = await refusal(service, test_id=test.id, **fields)
        assert isinstance(error, InvalidArgument), (fields, error)
        assert [violation.field for violation in error.violations] == [name]


async def test_scopes_and_tests_that_are_not_there(service: Service) -> None:
    """It is a write; an unknown, a deleted and a foreign test look the same."""
    test, gone = await written(service), await written(service)
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=gone.id))
    for test_id in (str(uuid4()), gone.id):
        assert isinstance(await refusal(service, test_id=test_id, reason="x"), NotFound)
    with foreign():
        assert (await refusal(service, test_id=test.id, reason="x")).message == "Test not found"
        end = tests_pb2.UnquarantineTestRequest(test_id=test.id)
        assert (await failed(service.tests.UnquarantineTest(end))).message == "Test not found"
    with context.bind(Caller(context.current().org_id, scopes=frozenset({"read"}))):
        assert isinstance(await refusal(service, test_id=test.id, reason="x"), PermissionDenied)


async def test_changes_at_the_same_time_all_come_about(service: Service) -> None:
    """One after the other: the last one holds, and all have the beginning of the first."""
    test = await written(service)
    answers = await asyncio.gather(*(begun(service, test, f"Reason {number}") for number in range(8)))
    last = await service.tests.GetTest(tests_pb2.GetTestRequest(test_id=test.id))
    assert last.quarantine in [answer.quarantine for answer in answers]
    assert len({answer.quarantine.reason for answer in answers}) == 8
    assert len({answer.quarantine.since.ToJsonString() for answer in answers}) == 1


async def test_the_catalog_says_who_knows_classifications(service: Service) -> None:
    """It cannot answer; the gateway does not ask it."""
    error = await failed(service.tests.ListTests(tests_pb2.ListTestsRequest(classification="flaky")))
    assert isinstance(error, InvalidArgument)
    assert [violation.field for violation in error.violations] == ["classification"]
    assert "mobiletest.reporting.v1.Reports.ListClassifiedTests" in error.message
    unknown = await failed(service.tests.ListTests(tests_pb2.ListTestsRequest(classification="shaky")))
    assert isinstance(unknown, InvalidArgument)


@pytest_asyncio.fixture(loop_scope="session")
async def published(service: Service, kafka_bootstrap: str) -> AsyncIterator[list[events_pb2.TestChanged]]:
    """The events of the caller's tests, as they arrive."""
    seen: list[events_pb2.TestChanged] = []

    async def handler(batch: list[Event]) -> None:
        tests = [each.payload for each in batch if each.type == events_pb2.TestChanged.DESCRIPTOR.full_name]
        own = [test for test in map(events_pb2.TestChanged.FromString, tests) if test.org_id == org_id]
        seen.extend(own)

    org_id, group = context.current().org_id, f"test-{uuid4()}"
    async with (
        Background() as background,
        Producer(kafka_bootstrap, {CATALOG_EVENTS: 1}, idempotence=False) as dlq,
    ):
        consumer = Consumer(
            [CATALOG_EVENTS], group, handler, kafka=kafka_bootstrap, instance_id=None, dlq=dlq, session_seconds=1
        )
        async with background.run("consumer", consumer.run(), stop=consumer.stop):
            yield seen


async def test_it_is_published_on_kafka(service: Service, published: list[events_pb2.TestChanged]) -> None:
    """With when the test was created; an early end is published too, and raises the revision."""
    test = await written(service)
    quarantine = (await begun(service, test)).quarantine
    await service.tests.UnquarantineTest(tests_pb2.UnquarantineTestRequest(test_id=test.id))
    await eventually(lambda: len(published) >= 3)
    by_revision = sorted(published, key=lambda event: event.revision)
    assert [event.revision for event in by_revision] == [1, 2, 3]
    assert {event.created_at.ToJsonString() for event in published} == {test.created_at.ToJsonString()}
    assert [event.HasField("quarantine") for event in by_revision] == [False, True, False]
    assert by_revision[1].quarantine == quarantine
