from collections.abc import AsyncIterator

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.idempotency import MIGRATION, Idempotency
from services.chassis.migrations import open_migrated
from tests.integration.chassis.probe import Probe, serving

REQUEST = apps_pb2.CreateAppRequest(name="a", platform=1)


@pytest.fixture
async def probe(mongo_uri: str, mongo_database: str) -> AsyncIterator[Probe]:
    async with (
        open_migrated(mongo_uri, mongo_database, [MIGRATION]) as mongo,
        serving(idempotency=Idempotency(mongo)) as probe,
    ):
        yield probe


async def test_a_replayed_response_is_marked(probe: Probe) -> None:
    with bind(Caller("org-1", idempotency_key="k", scopes=ALL_SCOPES)):
        first = await probe.stub.CreateApp(REQUEST)
        call = probe.stub.CreateApp(REQUEST)
        assert await call == first
        assert ("x-idempotent-replayed", "true") in list(await call.trailing_metadata())
    assert len(probe.apps.callers) == 1


async def test_without_a_key_each_call_is_executed(probe: Probe) -> None:
    with bind(Caller("org-1", scopes=ALL_SCOPES)):
        first, second = await probe.stub.CreateApp(REQUEST), await probe.stub.CreateApp(REQUEST)
    assert first.id != second.id
