"""Which address links begin with: the deployment's own, or that which the client used."""

from uuid import uuid4

import pytest
from google.api import httpbody_pb2
from pydantic import ValidationError

from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client, gateway_settings, open_client, run_gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")
FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "tests.example, inner.example"}


async def base_url(client: Client, backends: FakeBackends, **headers: str) -> str:
    """What the executor gets for its links."""
    backends.on("GetJUnit", lambda _: httpbody_pb2.HttpBody(data=b"<testsuites/>"))
    path = f"/api/v1/executions/{uuid4()}/junit.xml?base_url=https://elsewhere.example"
    answer = await client("GET", path, headers=headers)
    assert answer.status == 200
    return str(backends.requests("GetJUnit")[-1].base_url)


async def test_links_begin_with_the_address_that_the_client_used(client: Client, backends: FakeBackends) -> None:
    assert await base_url(client, backends) == client.url
    assert await base_url(client, backends, **FORWARDED) == "https://tests.example"
    assert await base_url(client, backends, **{"X-Forwarded-Host": "tests.example/<b>"}) == ""
    assert "X-Public-Url" not in (await client("GET", "/healthz")).headers


async def test_the_public_address_precedes_that_of_the_client(own_backends: FakeBackends) -> None:
    public = "https://mobiletest.example.com/tests"
    async with run_gateway(own_backends, public_url=f"{public}/") as app, open_client(app, own_backends) as client:
        assert await base_url(client, own_backends, **FORWARDED) == public
        assert (await client("GET", "/api/v1/nothing")).headers["X-Public-Url"] == public


@pytest.mark.parametrize("url", ["mobiletest.example.com", "ftp://mobiletest.example.com", "https://a b"])
async def test_a_public_address_is_one_of_a_page(backends: FakeBackends, url: str) -> None:
    with pytest.raises(ValidationError, match="must begin with http"):
        gateway_settings(backends, public_url=url)
