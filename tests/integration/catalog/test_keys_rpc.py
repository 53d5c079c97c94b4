"""The gRPC service ApiKeys and the bootstrap command, on the running catalog."""

from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import api_keys_pb2 as pb

from services.chassis import context
from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.errors import PermissionDenied, Unauthenticated
from tests.integration.catalog.conftest import Service, foreign
from tests.integration.catalog.test_apps_rpc import failed

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.usefixtures("operator")]


async def test_a_key_from_creation_to_deletion(service: Service) -> None:
    """Its value is in the first answer only; verified without an organisation; invalid once deleted."""
    org_id = context.current().org_id
    key = await service.keys.CreateApiKey(pb.CreateApiKeyRequest(name="ci", scopes=[pb.SCOPE_EXECUTE, pb.SCOPE_READ]))
    assert (list(key.scopes), key.HasField("last_used_at")) == ([pb.SCOPE_READ, pb.SCOPE_EXECUTE], False)
    with context.bind(Caller("", scopes=ALL_SCOPES)):
        verified = await service.keys.VerifyApiKey(pb.VerifyApiKeyRequest(key=key.key))
    assert (verified.api_key_id, verified.org_id, list(verified.scopes)) == (key.id, org_id, list(key.scopes))
    [listed] = (await service.keys.ListApiKeys(pb.ListApiKeysRequest())).items
    assert (listed.prefix, listed.HasField("key"), listed.HasField("last_used_at")) == (key.prefix, False, True)
    await service.keys.DeleteApiKey(pb.DeleteApiKeyRequest(api_key_id=key.id))
    error = await failed(service.keys.VerifyApiKey(pb.VerifyApiKeyRequest(key=key.key)))
    assert isinstance(error, Unauthenticated)
    assert (error.message, error.reason) == ("Invalid API key", "INVALID_API_KEY")


async def test_keys_are_for_administrators_of_the_organisation(service: Service) -> None:
    key = await service.keys.CreateApiKey(pb.CreateApiKeyRequest(name="ci"))
    with foreign():
        assert (await service.keys.ListApiKeys(pb.ListApiKeysRequest())).total == 0
        error = await failed(service.keys.DeleteApiKey(pb.DeleteApiKeyRequest(api_key_id=key.id)))
        assert error.message == "API key not found"
    with context.bind(Caller(str(uuid4()), scopes=frozenset({"read", "write", "execute"}))):
        assert isinstance(await failed(service.keys.ListApiKeys(pb.ListApiKeysRequest())), PermissionDenied)
