"""The gRPC service FailureTriages."""

# ruff: noqa: N802 (gRPC names the methods)

from typing import Any

from mobiletest.catalog.v1 import failures_pb2, failures_pb2_grpc
from mobiletest.types.v1 import failure_triage_pb2

from services.catalog.grpc.conversions import failure_triage_message, named_fields
from services.catalog.model.failures import FailureState
from services.catalog.usecases.failures import FailureTriageUseCases
from services.chassis.proto_values import read_optional, to_enum_member

_CHANGEABLE = ("state", "fixed_in", "note", "ticket_url", "owner")


class FailureTriagesServicer(failures_pb2_grpc.FailureTriagesServicer):
    """See the proto."""

    def __init__(self, usecases: FailureTriageUseCases) -> None:
        self._usecases = usecases

    async def GetFailureTriage(
        self, request: failures_pb2.GetFailureTriageRequest, context: Any
    ) -> failure_triage_pb2.FailureTriage:
        return failure_triage_message(await self._usecases.get(request.app_id, request.fingerprint))

    async def UpdateFailureTriage(
        self, request: failures_pb2.UpdateFailureTriageRequest, context: Any
    ) -> failure_triage_pb2.FailureTriage:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: _field_value(request, field) for field in fields}
        expected = request.expected_revisions
        return failure_triage_message(
            await self._usecases.update(request.app_id, request.fingerprint, changes, expected)
        )


def _field_value(request: failures_pb2.UpdateFailureTriageRequest, field: str) -> Any:
    if field == "state":
        return to_enum_member(FailureState, failure_triage_pb2.FailureState, request.state)
    return read_optional(request, field)
