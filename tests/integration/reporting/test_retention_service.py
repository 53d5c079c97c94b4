"""A service with a bound takes what is beyond it out of its lists, beside one without."""

from uuid import uuid4

import pytest
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.reporting.app import start_app
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog
from tests.integration.reporting.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_process_with_a_retention_limit_sweeps_at_start(service: Service) -> None:
    desk, build, test_id = EventLog(), (str(uuid4()), "1.0"), str(uuid4())
    runs = [desk.life(build, test_id, ending) for ending in ("passed", "failed", "passed")]
    await service.publish(desk.app(), desk.build(*build), *(event for run in runs for event in run))
    await service.applied()
    of_test = reports_pb2.ListTestRunsRequest(test_id=test_id, page=1, page_size=10)
    with bind(Caller(desk.org_id, scopes=ALL_SCOPES)):
        assert (await service.reports.ListTestRuns(of_test)).total == 3
        bounded = service.settings.model_copy(update={"runs_kept_per_test": 1, "instance": str(uuid4())})
        async with start_app(bounded):
            await eventually(lambda: is_alone(service, of_test))
        listed = await service.reports.ListTestRuns(of_test)
        assert (len(listed.items), listed.total_pages, listed.has_next) == (1, 1, False)
        assert await service.executions(desk.app_id) == 3


async def is_alone(service: Service, of_test: reports_pb2.ListTestRunsRequest) -> bool:
    return bool((await service.reports.ListTestRuns(of_test)).total == 1)
