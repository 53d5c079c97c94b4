"""Domain errors to gRPC statuses (with google.rpc details) and back."""

from typing import Any

import grpc
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from services.chassis import errors
from services.chassis.errors import DomainError, Violation
from services.chassis.mongo_errors import as_unavailable
from services.chassis.service_token import CALLER_NOT_ALLOWED, SERVICE_TOKEN_INVALID

DOMAIN = "mobiletest"
TOO_LARGE = "MESSAGE_TOO_LARGE"
DETAILS_KEY = "grpc-status-details-bin"
MOST_VIOLATIONS = 100
# Details are sent in trailers, whose size is limited; the rest is left out.
MOST_CHARACTERS = 500

CODES: dict[type[DomainError], int] = {
    errors.InvalidArgument: code_pb2.INVALID_ARGUMENT,
    errors.Unauthenticated: code_pb2.UNAUTHENTICATED,
    errors.PermissionDenied: code_pb2.PERMISSION_DENIED,
    errors.NotFound: code_pb2.NOT_FOUND,
    errors.AlreadyExists: code_pb2.ALREADY_EXISTS,
    errors.FailedPrecondition: code_pb2.FAILED_PRECONDITION,
    errors.Aborted: code_pb2.ABORTED,
    errors.ResourceExhausted: code_pb2.RESOURCE_EXHAUSTED,
    errors.DeadlineExceeded: code_pb2.DEADLINE_EXCEEDED,
    errors.Unavailable: code_pb2.UNAVAILABLE,
}
_ERRORS = {code: error for error, code in CODES.items()}


def to_domain_error(error: Exception) -> DomainError | None:
    """Any error of a request as a domain error; None for an unexpected one."""
    if isinstance(error, DomainError):
        return error
    if isinstance(error, grpc.aio.AioRpcError):
        return from_rpc_error(error)
    if isinstance(error, TimeoutError):
        return errors.DeadlineExceeded("The request took too long", reason="DEADLINE_EXCEEDED")
    return as_unavailable(error)


def internal_error(request_id: str) -> grpc.Status:
    """The status of an unexpected error: only the request id, under which the log has the details."""
    info = error_details_pb2.ErrorInfo(reason="INTERNAL", domain=DOMAIN, metadata={"request_id": request_id})
    message = f"Internal error (request {request_id})"
    return _status(status_pb2.Status(code=code_pb2.INTERNAL, message=message, details=[_packed(info)]))


def to_grpc(error: DomainError) -> grpc.Status:
    """The status for `context.abort_with_status`."""
    return _status(to_proto(error))


def _status(proto: status_pb2.Status) -> grpc.Status:
    status: grpc.Status = rpc_status.to_status(proto)
    return status


def to_proto(error: DomainError) -> status_pb2.Status:
    """The error as google.rpc.Status: ErrorInfo always; BadRequest and RetryInfo when it has them."""
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), code_pb2.UNKNOWN)
    details: list[Message] = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)]
    violations = error.violations[:MOST_VIOLATIONS]
    if violations:
        details.append(error_details_pb2.BadRequest(field_violations=[_violation(v) for v in violations]))
    if error.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(round(error.retry_after * 1000))
        details.append(retry)
    return status_pb2.Status(code=code, message=error.message, details=[_packed(d) for d in details])


def from_rpc_error(error: grpc.aio.AioRpcError) -> DomainError | None:
    """The error of a called service as a domain error; None for its internal errors (INTERNAL, UNKNOWN ...), and for
    the refusal of our own token.

    RESOURCE_EXHAUSTED without our details comes from gRPC itself: the request or what it asks for is too large.
    """
    kind = _ERRORS.get(error.code().value[0])
    if kind is None:
        return None
    proto = _details(error)
    if proto is None and kind is errors.ResourceExhausted:
        message = "The response would be too large: ask for less at once, such as a smaller page_size"
        return errors.InvalidArgument(message, reason=TOO_LARGE)
    if proto is None:
        retry = 1.0 if kind is errors.Unavailable else None
        return kind(error.details() or kind.__name__, retry_after=retry)
    domain_error = from_proto(proto)
    return None if domain_error.reason in (SERVICE_TOKEN_INVALID, CALLER_NOT_ALLOWED) else domain_error


def is_too_large(error: Exception) -> bool:
    """Whether a call failed because its request or response would be too large for one message."""
    known = from_rpc_error(error) if isinstance(error, grpc.aio.AioRpcError) else None
    return known is not None and known.reason == TOO_LARGE


def from_proto(proto: status_pb2.Status) -> DomainError:
    """The inverse of `to_proto`."""
    arguments: dict[str, Any] = {}
    for detail in proto.details:
        arguments.update(_argument(detail))
    return _ERRORS.get(proto.code, DomainError)(proto.message, **arguments)


def _argument(detail: any_pb2.Any) -> dict[str, Any]:
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    if detail.Unpack(info):
        return {"reason": info.reason, "metadata": dict(info.metadata)}
    if detail.Unpack(bad):
        return {"violations": [Violation(v.field, v.description, v.reason) for v in bad.field_violations]}
    if detail.Unpack(retry):
        return {"retry_after": retry.retry_delay.ToMilliseconds() / 1000}
    return {}


def _details(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            return status_pb2.Status.FromString(value)
    return None


def _violation(violation: Violation) -> error_details_pb2.BadRequest.FieldViolation:
    return error_details_pb2.BadRequest.FieldViolation(
        field=violation.field[:MOST_CHARACTERS],
        description=violation.message[:MOST_CHARACTERS],
        reason=violation.type,
    )


def _packed(detail: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed
