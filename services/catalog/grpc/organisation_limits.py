"""The gRPC service Limits."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from mobiletest.catalog.v1 import limits_pb2, limits_pb2_grpc
from mobiletest.types.v1 import limits_pb2 as types_pb2

from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.usecases.organisation_limits import LimitUseCases
from services.chassis.limit_refusals import ANY_MODEL


class LimitsServicer(limits_pb2_grpc.LimitsServicer):
    """See the proto."""

    def __init__(self, usecases: LimitUseCases) -> None:
        self._usecases = usecases

    async def GetLimits(self, request: limits_pb2.GetLimitsRequest, context: Any) -> limits_pb2.GetLimitsResponse:
        limit_uses, limits = await self._usecases.in_use(), await self._usecases.get()
        return limits_pb2.GetLimitsResponse(
            limits=[types_pb2.Limit(name=each.name, limit=each.limit, used=max(0, each.used)) for each in limit_uses],
            allowed_models=limits.allowed_models or (ANY_MODEL,),
        )

    async def GetOrganisationLimits(
        self, request: limits_pb2.GetOrganisationLimitsRequest, context: Any
    ) -> types_pb2.OrganisationLimits:
        return limits_message(await self._usecases.get())

    async def SetOrganisationLimits(
        self, request: limits_pb2.SetOrganisationLimitsRequest, context: Any
    ) -> types_pb2.OrganisationLimits:
        return limits_message(await self._usecases.set(limits_of(request.limits)))


def limits_message(limits: OrganisationLimits) -> types_pb2.OrganisationLimits:
    """The limits that are set, as a message."""
    return types_pb2.OrganisationLimits(**limits.as_set())


def limits_of(message: types_pb2.OrganisationLimits) -> OrganisationLimits:
    """The limits that the message sets."""
    values: dict[str, Any] = {field.name: value for field, value in message.ListFields()}
    lists = {"allowed_models": tuple(message.allowed_models), "script_hosts": tuple(message.script_hosts)}
    return OrganisationLimits(**{**values, **lists})
