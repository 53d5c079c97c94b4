"""The gRPC services ApiKeys and Sessions."""

import asyncio
from collections.abc import Iterable
from typing import Any

from google.protobuf.empty_pb2 import Empty

# ruff: noqa: N802 (gRPC names the methods)
from mobiletest.catalog.v1 import api_keys_pb2, api_keys_pb2_grpc, sessions_pb2, sessions_pb2_grpc

from services.catalog.grpc.conversions import page_of
from services.catalog.grpc.organisation_limits import limits_message
from services.catalog.model.keys import ApiKey, Scope
from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.ports import Limits
from services.catalog.usecases.keys import KeyUseCases
from services.catalog.usecases.sessions import SessionUseCases, SignedIn
from services.chassis.proto_values import page_fields, read_datetime, to_enum_number, to_timestamp

_NUMBERS = {scope: to_enum_number(api_keys_pb2.Scope, scope) for scope in Scope}


class ApiKeysServicer(api_keys_pb2_grpc.ApiKeysServicer):
    """See the proto."""

    def __init__(self, usecases: KeyUseCases, limits: Limits) -> None:
        self._usecases = usecases
        self._limits = limits

    async def CreateApiKey(self, request: api_keys_pb2.CreateApiKeyRequest, context: Any) -> api_keys_pb2.ApiKey:
        expires_at = read_datetime(request, "expires_at")
        issued = await self._usecases.create(request.name, scopes(request.scopes), expires_at)
        return key_message(issued.key, issued.value)

    async def ListApiKeys(
        self, request: api_keys_pb2.ListApiKeysRequest, context: Any
    ) -> api_keys_pb2.ListApiKeysResponse:
        page = page_of(request)
        listed = await self._usecases.list(page)
        return api_keys_pb2.ListApiKeysResponse(
            items=map(key_message, listed.items), **page_fields(request, listed.total)
        )

    async def GetCurrentApiKey(
        self, request: api_keys_pb2.GetCurrentApiKeyRequest, context: Any
    ) -> api_keys_pb2.ApiKey:
        key, name = await asyncio.gather(self._usecases.current(), self._usecases.organisation_name())
        message = key_message(key)
        if name is not None:
            message.org_name = name
        return message

    async def DeleteApiKey(self, request: api_keys_pb2.DeleteApiKeyRequest, context: Any) -> Empty:
        await self._usecases.delete(request.api_key_id)
        return Empty()

    async def VerifyApiKey(
        self, request: api_keys_pb2.VerifyApiKeyRequest, context: Any
    ) -> api_keys_pb2.VerifyApiKeyResponse:
        key = await self._usecases.verify(request.key)
        return verified_message(key, await self._limits.of(key.org_id))


def key_message(key: ApiKey, value: str | None = None) -> api_keys_pb2.ApiKey:
    """The key; its value is only in the response that creates it."""
    return api_keys_pb2.ApiKey(
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        scopes=scope_numbers(key.scopes),
        expires_at=to_timestamp(key.expires_at),
        created_at=to_timestamp(key.created_at),
        last_used_at=to_timestamp(key.last_used_at),
        key=value,
        org_id=key.org_id,
    )


def verified_message(key: ApiKey, limits: OrganisationLimits) -> api_keys_pb2.VerifyApiKeyResponse:
    """Whose key it is, and what its organisation may use."""
    return api_keys_pb2.VerifyApiKeyResponse(
        api_key_id=key.id,
        org_id=key.org_id,
        scopes=scope_numbers(key.scopes),
        expires_at=to_timestamp(key.expires_at),
        limits=limits_message(limits),
        name=key.name,
    )


def scope_numbers(granted: Iterable[Scope]) -> list[Any]:
    """The numbers of the scopes."""
    return [_NUMBERS[scope] for scope in granted]


def scopes(numbers: Iterable[int]) -> list[Scope]:
    """The scopes of the numbers, in the order of their declaration."""
    asked = set(numbers)
    return [scope for scope, number in _NUMBERS.items() if number in asked]


class SessionsServicer(sessions_pb2_grpc.SessionsServicer):
    """See the proto."""

    def __init__(self, usecases: SessionUseCases, limits: Limits) -> None:
        self._usecases = usecases
        self._limits = limits

    async def CreateSession(
        self, request: sessions_pb2.CreateSessionRequest, context: Any
    ) -> sessions_pb2.CreateSessionResponse:
        issued = await self._usecases.begin(request.key)
        return sessions_pb2.CreateSessionResponse(token=issued.token, session=await self._message(issued.signed_in))

    async def VerifySession(self, request: sessions_pb2.VerifySessionRequest, context: Any) -> sessions_pb2.Session:
        return await self._message(await self._usecases.verify(request.token))

    async def EndSession(self, request: sessions_pb2.EndSessionRequest, context: Any) -> Empty:
        await self._usecases.end(request.token)
        return Empty()

    async def _message(self, signed_in: SignedIn) -> sessions_pb2.Session:
        session, key = signed_in.session, signed_in.key
        return sessions_pb2.Session(
            id=session.id,
            api_key_id=key.id,
            org_id=session.org_id,
            scopes=scope_numbers(key.scopes),
            expires_at=to_timestamp(signed_in.expires_at),
            limits=limits_message(await self._limits.of(session.org_id)),
            api_key_name=key.name,
        )
