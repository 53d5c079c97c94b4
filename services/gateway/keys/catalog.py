"""The catalog's answers about keys."""

from datetime import UTC

import grpc
from mobiletest.catalog.v1 import api_keys_pb2, api_keys_pb2_grpc

from services.chassis import error_status
from services.chassis.errors import Unauthenticated
from services.chassis.grpc_channel import Channel
from services.gateway.contract.enums import spellings
from services.gateway.keys.holders import Holder, expired, invalid

_OURS = {refused().reason: refused for refused in (invalid, expired)}


class CatalogKeys:
    """Verifies keys over gRPC. Its channel must not be marked as the gateway's: the method is for internal callers."""

    def __init__(self, channel: Channel) -> None:
        self._stub = api_keys_pb2_grpc.ApiKeysStub(channel)  # type: ignore[no-untyped-call]
        self._scopes = spellings(api_keys_pb2.Scope.DESCRIPTOR).by_number

    async def verify(self, key: str) -> Holder:
        """See `Keys.verify`. A refused service token is not the client's fault and stays an AioRpcError."""
        try:
            answer = await self._stub.VerifyApiKey(api_keys_pb2.VerifyApiKeyRequest(key=key))
        except grpc.aio.AioRpcError as error:
            raise _refusal(error) or error from None
        return self._holder(answer)

    def _holder(self, answer: api_keys_pb2.VerifyApiKeyResponse) -> Holder:
        expires = answer.expires_at.ToDatetime(UTC) if answer.HasField("expires_at") else None
        scopes = frozenset(self._scopes[scope] for scope in answer.scopes if scope in self._scopes)
        return Holder(answer.api_key_id, answer.org_id, scopes, expires)


def _refusal(error: grpc.aio.AioRpcError) -> Unauthenticated | None:
    known = error_status.to_domain_error(error)
    if isinstance(known, Unauthenticated) and known.reason in _OURS:
        return _OURS[known.reason]()
    return None
