"""The gRPC service Sessions."""

# ruff: noqa: N802 (gRPC names the methods)
from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import sessions_pb2, sessions_pb2_grpc

from services.catalog.grpc.keys import scope_numbers
from services.catalog.grpc.organisation_limits import limits_message
from services.catalog.ports import Limits
from services.catalog.usecases.sessions import SessionUseCases, SignedIn
from services.chassis.proto_values import to_timestamp


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
        )
