"""The enums of the protos as the model spells them, which is how the contract spells them."""

from enum import Enum
from typing import Any, TypeVar

from google.protobuf.descriptor import EnumDescriptor
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import execution_pb2, failure_triage_pb2, platform_pb2

from services.chassis.proto_values import enum_spellings
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import Status
from services.reporting.model.triages import FailureState

E = TypeVar("E", bound=Enum)


def _members(members: type[E], descriptor: EnumDescriptor) -> dict[int, E]:
    return {number: members(spelling) for number, spelling in enum_spellings(descriptor).items()}


STATUS = _members(Status, execution_pb2.ExecutionStatus.DESCRIPTOR)
PLATFORM = enum_spellings(platform_pb2.Platform.DESCRIPTOR)
CATEGORY = enum_spellings(execution_pb2.FailureCategory.DESCRIPTOR)
CATEGORY_NUMBER: dict[str, Any] = {spelling: number for number, spelling in CATEGORY.items()}
FAILURE_STATE = _members(FailureState, failure_triage_pb2.FailureState.DESCRIPTOR)
CLASSIFICATION = _members(Classification, reports_pb2.Classification.DESCRIPTOR)
INFRASTRUCTURE = frozenset(
    CATEGORY[number]
    for number in (
        execution_pb2.FAILURE_CATEGORY_DEVICE_UNAVAILABLE,
        execution_pb2.FAILURE_CATEGORY_SESSION_LOST,
        execution_pb2.FAILURE_CATEGORY_APP_INSTALL_FAILED,
        execution_pb2.FAILURE_CATEGORY_NETWORK_ERROR,
        execution_pb2.FAILURE_CATEGORY_LLM_UNAVAILABLE,
        execution_pb2.FAILURE_CATEGORY_EXECUTOR_LOST,
        execution_pb2.FAILURE_CATEGORY_QUEUE_TIMEOUT,
    )
)
