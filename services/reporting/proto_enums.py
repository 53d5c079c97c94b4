"""The protos' enums in the words of the model, which are those of the contract."""

from typing import Any

from google.protobuf.descriptor import EnumDescriptor
from mobiletest.options.v1 import options_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import execution_pb2, platform_pb2

from services.reporting.model.flaky import Classification
from services.reporting.model.reports.coverage import LastStatus
from services.reporting.model.reports.gate import GateResult, GateRule
from services.reporting.model.snapshots import Status


def enum_spellings(enum: EnumDescriptor) -> dict[int, str]:
    """Number -> spelling of the values that have one."""
    spelling: Any = options_pb2.spelling
    found: dict[int, str] = {value.number: value.GetOptions().Extensions[spelling] for value in enum.values}
    return {number: text for number, text in found.items() if text}


STATUS = {number: Status(text) for number, text in enum_spellings(execution_pb2.ExecutionStatus.DESCRIPTOR).items()}
PLATFORM = enum_spellings(platform_pb2.Platform.DESCRIPTOR)
CATEGORY = enum_spellings(execution_pb2.FailureCategory.DESCRIPTOR)
CATEGORY_NUMBER: dict[str, Any] = {text: number for number, text in CATEGORY.items()}
CLASSIFICATION = {
    number: Classification(text) for number, text in enum_spellings(reports_pb2.Classification.DESCRIPTOR).items()
}
CLASSIFICATION_NUMBER: dict[Classification, Any] = {name: number for number, name in CLASSIFICATION.items()}
LAST_STATUS_NUMBER: dict[LastStatus, Any] = {
    LastStatus(text): number for number, text in enum_spellings(reports_pb2.LastStatus.DESCRIPTOR).items()
}
GATE_RESULT_NUMBER: dict[GateResult, Any] = {
    GateResult(text): number for number, text in enum_spellings(reports_pb2.GateResult.DESCRIPTOR).items()
}
GATE_RULE_NUMBER: dict[GateRule, Any] = {
    GateRule(text): number for number, text in enum_spellings(reports_pb2.GateRule.DESCRIPTOR).items()
}
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
