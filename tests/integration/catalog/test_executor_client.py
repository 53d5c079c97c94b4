"""The executor's client of the catalog, with the running catalog."""

import pytest
from mobiletest.catalog.v1 import tests_pb2

from services.chassis import context
from services.executor.catalog import RemoteCatalog, open_catalog_channel
from services.executor.maintenance.deleted_tests import BATCH
from tests.integration.catalog.conftest import TOKEN, Service

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_executor_can_ask_which_tests_exist(service: Service) -> None:
    org_id, made = context.current().org_id, []
    for name in ("Kept", "Deleted"):
        request = tests_pb2.CreateTestRequest(name=name, steps=[{"string_value": "Tap x"}])
        made.append((await service.tests.CreateTest(request)).id)
    await service.tests.DeleteTest(tests_pb2.DeleteTestRequest(test_id=made[1]))
    unknown = [f"00000000-0000-4000-8000-{number:012}" for number in range(BATCH - len(made))]
    async with open_catalog_channel(service.address, TOKEN) as channel:
        assert await RemoteCatalog(channel).existing_tests(org_id, [*made, *unknown]) == {made[0]}
