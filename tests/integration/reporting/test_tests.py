"""Tests in reporting: told over Kafka, listed by how they behave, and shown with their quarantine."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.reporting.v1 import reports_pb2 as pb
from mobiletest.types.v1.platform_pb2 import PLATFORM_ANDROID, PLATFORM_IOS

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.events import Event
from services.reporting.consumer import CATALOG_EVENTS
from tests.fakes.reporting_event_log import EventLog, event, with_duplicates
from tests.integration.reporting.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")
UNTRIED = pb.CLASSIFICATION_INSUFFICIENT_DATA


def changed(desk: EventLog, test_id: str, name: str, revision: int = 1, *, days: int = 0, **fields: Any) -> Event:
    """A test as the catalog tells it; `days` says how long its quarantine lasts from now, 0: it has none."""
    message = catalog.TestChanged(org_id=desk.org_id, test_id=test_id, revision=revision, name=name, **fields)
    if not fields.get("created_at"):
        message.created_at.FromDatetime(desk.now + timedelta(seconds=revision))
    if days:
        message.quarantine.reason, message.quarantine.by = "Waits for SHOP-1", "CI"
        message.quarantine.since.FromDatetime(desk.now - timedelta(days=9))
        message.quarantine.until.FromDatetime(desk.now + timedelta(days=days))
    return event(CATALOG_EVENTS, test_id, message)


async def listed(service: Service, **fields: Any) -> tuple[list[str], int]:
    """The ids on a page, and the total."""
    answer = await service.reports.ListClassifiedTests(pb.ListClassifiedTestsRequest(**fields))
    return list(answer.test_ids), answer.total


async def test_tests_are_listed_by_classification(service: Service, desk: EventLog) -> None:
    build, ran, new = str(uuid4()), str(uuid4()), str(uuid4())
    events = [desk.build(build, "1.0"), desk.attachment(ran, "Pay"), desk.app()]
    events += [changed(desk, ran, "Pay", tags=["smoke"], platform=PLATFORM_IOS), changed(desk, new, "Log in", 2)]
    for _ in range(3):
        events += desk.life((build, "1.0"), ran, "passed")
    await service.publish(*with_duplicates(events))
    await service.applied()
    stable = {"classification": pb.CLASSIFICATION_STABLE}
    assert await listed(service, **stable) == ([ran], 1)
    assert await listed(service, **stable, app_id=desk.app_id.upper(), tag="smoke", search="PAY") == ([ran], 1)
    assert await listed(service, **stable, platform=PLATFORM_ANDROID) == ([], 0)
    assert await listed(service, **stable, page=2, page_size=1) == ([], 1)
    assert await listed(service, classification=UNTRIED) == ([new], 1)
    assert await listed(service, classification=UNTRIED, app_id=desk.app_id) == ([], 0)
    with bind(Caller(str(uuid4()), scopes=ALL_SCOPES)):
        assert await listed(service, **stable) == ([], 0)


async def test_the_current_quarantine_is_shown_in_every_list(service: Service, desk: EventLog) -> None:
    """Of runs from before it too; one that is over shows nowhere."""
    build, lasting, over = str(uuid4()), str(uuid4()), str(uuid4())
    events = [desk.build(build, "1.0"), desk.attachment(lasting, "Pay"), desk.attachment(over, "Log in"), desk.app()]
    events += [*desk.life((build, "1.0"), lasting, "failed"), *desk.life((build, "1.0"), over, "failed")]
    events += [changed(desk, lasting, "Pay", days=2), changed(desk, over, "Log in", days=-2)]
    await service.publish(*with_duplicates(events))
    await service.applied()
    matrix = await service.reports.GetTestMatrix(pb.GetTestMatrixRequest(app_id=desk.app_id))
    coverage = await service.reports.GetAppCoverage(pb.GetAppCoverageRequest(app_id=desk.app_id))
    runs = await service.reports.ListBuildRuns(pb.ListBuildRunsRequest(version_id=build))
    for items in (matrix.tests, coverage.items, runs.items):
        by_id = {item.test_id: item for item in items}
        assert by_id.keys() == {lasting, over}
        assert by_id[lasting].quarantine.reason == "Waits for SHOP-1"
        assert not by_id[over].HasField("quarantine")
    (run,) = (await service.reports.ListTestRuns(pb.ListTestRunsRequest(test_id=lasting))).items
    assert run.quarantine == matrix.tests[1].quarantine
    assert run.quarantine.until.ToDatetime() == (desk.now + timedelta(days=2)).replace(tzinfo=None)
