"""A service with a bound takes what is beyond it out of its lists, beside one without."""

from uuid import uuid4

import pytest
from mobiletest.reporting.v1 import reports_pb2

from services.reporting.app import start_app
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog
from tests.integration.reporting.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_process_with_a_retention_limit_sweeps_at_start(service: Service, desk: EventLog) -> None:
    build, test_id = (str(uuid4()), "1.0"), str(uuid4())
    runs = [desk.life(build, test_id, ending) for ending in ("passed", "failed", "passed")]
    await service.publish(desk.app(), desk.build(*build), *(event for run in runs for event in run))
    await service.applied()
    of_test = reports_pb2.ListTestRunsRequest(test_id=test_id, page=1, page_size=10)

    async def listed() -> int:
        return int((await service.reports.ListTestRuns(of_test)).total)

    async def only_one_is_listed() -> bool:
        return await listed() == 1

    assert await listed() == 3
    own = {"consumer_group": f"reporting-{uuid4()}", "instance": str(uuid4())}  # it takes no partition from the service
    async with start_app(service.settings.model_copy(update=own | {"runs_kept_per_test": 1})):
        await eventually(only_one_is_listed)
    assert await service.executions(desk.app_id) == 3
