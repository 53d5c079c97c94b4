"""The gRPC service ApiKeys."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import api_keys_pb2, api_keys_pb2_grpc

from services.catalog.messages.keys import key_message, scopes, verified_message
from services.catalog.messages.values import envelope, moment, page_of
from services.catalog.usecases.keys import KeyUseCases


class ApiKeysServicer(api_keys_pb2_grpc.ApiKeysServicer):
    """See the proto."""

    def __init__(self, usecases: KeyUseCases) -> None:
        self._usecases = usecases

    async def CreateApiKey(self, request: api_keys_pb2.CreateApiKeyRequest, context: Any) -> api_keys_pb2.ApiKey:
        expires_at = moment(request, "expires_at")
        issued = await self._usecases.create(request.name, scopes(request.scopes), expires_at)
        return key_message(issued.key, issued.value)

    async def ListApiKeys(
        self, request: api_keys_pb2.ListApiKeysRequest, context: Any
    ) -> api_keys_pb2.ListApiKeysResponse:
        page = page_of(request)
        listed = await self._usecases.list(page)
        return api_keys_pb2.ListApiKeysResponse(items=map(key_message, listed.items), **envelope(page, listed.total))

    async def DeleteApiKey(self, request: api_keys_pb2.DeleteApiKeyRequest, context: Any) -> Empty:
        await self._usecases.delete(request.api_key_id)
        return Empty()

    async def VerifyApiKey(
        self, request: api_keys_pb2.VerifyApiKeyRequest, context: Any
    ) -> api_keys_pb2.VerifyApiKeyResponse:
        return verified_message(await self._usecases.verify(request.key))
