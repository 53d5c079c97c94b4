"""Connections end so that clients find new replicas; the streams on them do not."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc, builds_pb2, builds_pb2_grpc

from services.chassis import grpc_server
from services.chassis.context import bind
from tests.eventually import eventually
from tests.integration.chassis.name_server import name_server
from tests.integration.chassis.probe import APPS, Probe, serving
from tests.integration.chassis.test_grpc import CALLER, VERSION
from tests.unit.chassis.samples import TOKEN, process_settings

AGE = 0.2
AGES = 5


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    async with serving(process_settings(grpc_connection_age_seconds=AGE)) as probe:
        with bind(CALLER):
            yield probe


async def another_connection(probe: Probe) -> None:
    """Call until a connection is used that was not used before."""
    before = set(probe.apps.peers)

    async def changed() -> bool:
        await probe.stub.ListApps(apps_pb2.ListAppsRequest())
        return set(probe.apps.peers) > before

    await eventually(changed)


def test_connections_of_streams_have_no_age_limit() -> None:
    """The grace of seconds that once stood here cut longer streams."""
    assert "grpc.max_connection_age_grace_ms" not in dict(grpc_server.OPTIONS)


async def test_an_upload_outlives_the_connections_of_other_calls(probe: Probe) -> None:
    async def pieces() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        for _ in range(AGES):
            yield builds_pb2.UploadBuildRequest(chunk=b"x")
            await another_connection(probe)

    build = await probe.builds_stub.UploadBuild(pieces())
    assert build.size_bytes == AGES


async def test_calls_find_a_new_replica_while_a_stream_stays() -> None:
    async with name_server() as names, serving(process_settings(grpc_connection_age_seconds=AGE)) as old:
        turn = asyncio.Event()
        old.builds.pieces, old.builds.between = 2, turn.wait
        port = old.address.rpartition(":")[2]
        names.addresses = ["127.0.0.1"]
        target = f"dns://127.0.0.1:{names.port}/replicas.test:{port}"
        new_settings = process_settings(grpc_connection_age_seconds=AGE, grpc_listen=f"127.0.0.2:{port}")
        async with grpc_server.open_channel(target, TOKEN, services=[APPS], timeout=5.0) as channel:
            with bind(CALLER):
                stub = apps_pb2_grpc.AppsStub(channel)
                await stub.ListApps(apps_pb2.ListAppsRequest())
                stream = builds_pb2_grpc.BuildsStub(channel).DownloadBuild(
                    builds_pb2.DownloadBuildRequest(version_id=VERSION)
                )
                await anext(aiter(stream))
                async with serving(new_settings) as new:
                    names.addresses = ["127.0.0.2"]

                    async def moved() -> bool:
                        await stub.ListApps(apps_pb2.ListAppsRequest())
                        return bool(new.apps.peers)

                    await eventually(moved)
                    calls = len(old.apps.peers)
                    await asyncio.gather(*(stub.ListApps(apps_pb2.ListAppsRequest()) for _ in range(20)))
                    assert len(old.apps.peers) == calls
                    turn.set()
                    assert [body.data async for body in stream] == [b"org-1\x01"]
