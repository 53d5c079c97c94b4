"""The gRPC service Secrets."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import secrets_pb2, secrets_pb2_grpc

from services.catalog.grpc.conversions import page_of
from services.catalog.model.secrets import Secret
from services.catalog.usecases.secrets import SecretUseCases
from services.chassis.proto_values import page_fields, to_timestamp


class SecretsServicer(secrets_pb2_grpc.SecretsServicer):
    """See the proto."""

    def __init__(self, usecases: SecretUseCases) -> None:
        self._usecases = usecases

    async def PutSecret(self, request: secrets_pb2.PutSecretRequest, context: Any) -> secrets_pb2.Secret:
        return _message(await self._usecases.put(request.name, request.value))

    async def ListSecrets(
        self, request: secrets_pb2.ListSecretsRequest, context: Any
    ) -> secrets_pb2.ListSecretsResponse:
        listed = await self._usecases.list(page_of(request))
        items = map(_message, listed.items)
        return secrets_pb2.ListSecretsResponse(items=items, **page_fields(request, listed.total))

    async def DeleteSecret(self, request: secrets_pb2.DeleteSecretRequest, context: Any) -> Empty:
        await self._usecases.delete(request.name)
        return Empty()

    async def GetSecretValues(
        self, request: secrets_pb2.GetSecretValuesRequest, context: Any
    ) -> secrets_pb2.GetSecretValuesResponse:
        values = await self._usecases.values(request.names)
        make = secrets_pb2.GetSecretValuesResponse.SecretValue
        return secrets_pb2.GetSecretValuesResponse(
            secrets=[make(name=name, value=value) for name, value in values.items()]
        )


def _message(secret: Secret) -> secrets_pb2.Secret:
    return secrets_pb2.Secret(name=secret.name, updated_at=to_timestamp(secret.updated_at))
