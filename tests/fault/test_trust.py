"""Real processes that trust only each other: mutual TLS with certificates that change, and keys that are deleted."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc

from deploy.local.stack import Stack, run_stack
from tests.certificates import Authority
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World, paced_app_model
from tests.fault.conftest import SHORT


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.new(tmp_path / "authority")


@pytest.fixture
async def own_stack(tmp_path: Path, authority: Authority) -> AsyncIterator[Stack]:
    """A stack whose services demand certificates of each other."""
    files = authority.issue("shared")
    tls = {
        "MOBILETEST_TLS_CERTIFICATE_FILE": str(files.certificate),
        "MOBILETEST_TLS_KEY_FILE": str(files.key),
        "MOBILETEST_TLS_AUTHORITIES_FILE": str(files.authorities),
        "MOBILETEST_GRPC_CONNECTION_AGE_SECONDS": "2",
    }
    async with run_stack(tmp_path / "state", workers=1, extra_env={**SHORT, **tls}) as stack:
        yield stack


async def passed(world: World) -> bool:
    """Whether a run of a new app passes; its worker downloads the build."""
    app = await world.app()
    await world.build(app, "1.0.0")
    test = await world.test()
    await world.attach(app, test)
    execution = await world.ended((await world.start(await world.workflow(test)))["id"])
    return bool(execution["success"])


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


@pytest.mark.timeout(200)
async def test_services_trust_only_each_other_also_with_new_certificates(
    own_stack: Stack, own_world: World, authority: Authority
) -> None:
    assert await passed(own_world)
    authority.issue("shared")
    assert await passed(own_world)
    address, operator = own_stack.grpc["catalog"], own_stack.grpc_token
    mine = authority.ca.issue_cert("client.test")
    secure = grpc.ssl_channel_credentials(
        authority.file.read_bytes(), mine.private_key_pem.bytes(), mine.cert_chain_pems[0].bytes()
    )
    bare = grpc.ssl_channel_credentials(authority.file.read_bytes())
    assert await code(own_stack, operator, grpc.aio.secure_channel(address, secure)) is grpc.StatusCode.OK
    refused = own_stack.tokens["executor-worker"]
    found = await code(own_stack, refused, grpc.aio.secure_channel(address, secure))
    assert found is grpc.StatusCode.PERMISSION_DENIED
    assert await code(own_stack, operator, grpc.aio.secure_channel(address, bare)) is grpc.StatusCode.UNAVAILABLE
    assert await code(own_stack, operator, grpc.aio.insecure_channel(address)) is grpc.StatusCode.UNAVAILABLE
    own_stack.check()


@pytest.mark.timeout(200)
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
