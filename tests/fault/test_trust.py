"""Real processes that trust only each other: mutual TLS with certificates that change, and keys that are deleted.

The services with TLS also show that data and API key survive a restart of everything.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from deploy.local.stack import Stack, run_stack
from tests.certificates import Authority
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World, paced_app_model
from tests.fault.conftest import SHORT, on_the_stack


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.new(tmp_path / "authority")


@asynccontextmanager
async def trusting_stack(folder: Path, authority: Authority) -> AsyncIterator[Stack]:
    """A stack whose services demand certificates of each other."""
    files = authority.issue("shared")
    tls = {
        "MOBILETEST_TLS_CERTIFICATE_FILE": str(files.certificate),
        "MOBILETEST_TLS_KEY_FILE": str(files.key),
        "MOBILETEST_TLS_AUTHORITIES_FILE": str(files.authorities),
        "MOBILETEST_GRPC_CONNECTION_AGE_SECONDS": "2",
    }
    async with run_stack(folder, workers=1, extra_env={**SHORT, **tls}) as stack:
        yield stack


async def passed(api: Api) -> Any:
    """An app that is new, of which a run has passed; its worker downloads the build."""
    world = World(api)
    app, _, _, workflow = await world.passing_app()
    assert (await world.run(workflow))["success"]
    return app


async def code(stack: Stack, token: str, channel: grpc.aio.Channel) -> grpc.StatusCode:
    """How a call of ListApps ends."""
    metadata = (
        ("authorization", f"Bearer {token}"),
        ("x-org-id", stack.organisation.org_id),
        ("x-scopes", "read"),
    )
    async with channel:
        apps = apps_pb2_grpc.AppsStub(channel)  # type: ignore[no-untyped-call]
        try:
            await apps.ListApps(apps_pb2.ListAppsRequest(), metadata=metadata, timeout=5)
        except grpc.aio.AioRpcError as error:
            return error.code()
    return grpc.StatusCode.OK


async def test_services_trust_only_each_other_also_with_new_certificates(tmp_path: Path, authority: Authority) -> None:
    async with (
        trusting_stack(tmp_path / "state", authority) as stack,
        Api(stack.url, stack.api_key) as api,
    ):
        await passed(api)
        authority.issue("shared")
        app = await passed(api)
        address, operator = stack.grpc["catalog"], stack.grpc_token
        mine = authority.ca.issue_cert("client.test")
        secure = grpc.ssl_channel_credentials(
            authority.file.read_bytes(), mine.private_key_pem.bytes(), mine.cert_chain_pems[0].bytes()
        )
        bare = grpc.ssl_channel_credentials(authority.file.read_bytes())
        assert await code(stack, operator, grpc.aio.secure_channel(address, secure)) is grpc.StatusCode.OK
        refused = stack.tokens["executor-worker"]
        status = await code(stack, refused, grpc.aio.secure_channel(address, secure))
        assert status is grpc.StatusCode.PERMISSION_DENIED
        assert await code(stack, operator, grpc.aio.secure_channel(address, bare)) is grpc.StatusCode.UNAVAILABLE
        assert await code(stack, operator, grpc.aio.insecure_channel(address)) is grpc.StatusCode.UNAVAILABLE
        stack.check()
    async with (
        trusting_stack(tmp_path / "state", authority) as again,
        Api(again.url, stack.api_key) as api,
    ):
        assert again.api_key == stack.api_key
        assert created(await api.get(f"/apps/{app['id']}"))["name"] == app["name"]
        again.check()


@on_the_stack
async def test_a_deleted_key_ends_its_event_stream(own_stack: Stack, own_api: Api, own_world: World) -> None:
    app = await own_world.app()
    created(await own_api.upload(app["id"], paced_app_model(seconds=60), version="1.0.0"))
    test = await own_world.test(["launchApp", {"assertVisible": "Log in"}])
    await own_world.attach(app, test)
    started = await own_world.start(await own_world.workflow(test))
    key = created(await own_api.post("/settings/api-keys", {"name": fresh("Key")}))
    headers = {"Authorization": f"Bearer {key['key']}"}
    url = f"{own_stack.url}/api/v1/executions/{started['id']}/events"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        assert answer.status == 200
        await answer.content.readline()
        reading = asyncio.create_task(answer.content.read())
        assert (await own_api.delete(f"/settings/api-keys/{key['id']}")).status == 204
        since = time.monotonic()
        with pytest.raises(aiohttp.ClientError):
            await reading
        print(f"the stream ended {time.monotonic() - since:.2f} s after the key was deleted")
        async with session.get(url, headers=headers) as again:
            assert again.status == 401
    assert (await own_api.post(f"/executions/{started['id']}/cancel")).status in (200, 202)
