"""The gRPC service Sessions, on the running catalog."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from mobiletest.catalog.v1 import api_keys_pb2
from mobiletest.catalog.v1 import sessions_pb2 as pb

from services.chassis import context
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.errors import PermissionDenied, Unauthenticated
from tests.integration.catalog.conftest import Service, foreign
from tests.integration.catalog.test_apps_rpc import failed

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("operator")]


@contextmanager
def nobody() -> Iterator[None]:
    """Calls without an organisation, as the gateway makes them."""
    with context.bind(Caller("", scopes=ALL_SCOPES)):
        yield


async def test_a_session_from_its_beginning_to_its_end(service: Service) -> None:
    org_id = context.current().org_id
    key = await service.keys.CreateApiKey(
        api_keys_pb2.CreateApiKeyRequest(name="ada", scopes=[api_keys_pb2.SCOPE_READ])
    )
    with nobody():
        begun = await service.sessions.CreateSession(pb.CreateSessionRequest(key=key.key))
        verified = await service.sessions.VerifySession(pb.VerifySessionRequest(token=begun.token))
        assert verified == begun.session
        assert (verified.org_id, verified.api_key_id, list(verified.scopes)) == (
            org_id,
            key.id,
            [api_keys_pb2.SCOPE_READ],
        )
        for _ in range(2):
            await service.sessions.EndSession(pb.EndSessionRequest(token=begun.token))
        error = await failed(service.sessions.VerifySession(pb.VerifySessionRequest(token=begun.token)))
    assert isinstance(error, Unauthenticated)
    assert (error.message, error.reason) == ("The session has ended; sign in again", "INVALID_SESSION")


async def test_only_the_gateway_begins_sessions(service: Service) -> None:
    with foreign():
        error = await failed(service.sessions.CreateSession(pb.CreateSessionRequest(key="mt_x")))
    assert isinstance(error, Unauthenticated | PermissionDenied)
