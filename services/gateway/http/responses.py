"""From what was raised to the HTTP answer: the one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

import grpc
import orjson
from aiohttp.web import Response

from services.chassis import error_status, errors, logs
from services.chassis.errors import DomainError
from services.gateway.auth.api_keys import expired_api_key, invalid_api_key, missing_authorization
from services.gateway.decoding.validation_errors import InvalidRequest, MalformedBody
from services.gateway.http.errors import HttpError

STATUSES: dict[type[DomainError], int] = {
    errors.InvalidArgument: 422,
    errors.Unauthenticated: 401,
    errors.PermissionDenied: 403,
    errors.NotFound: 404,
    errors.AlreadyExists: 409,
    errors.FailedPrecondition: 409,
    errors.Aborted: 409,
    errors.ResourceExhausted: 429,
    errors.Unavailable: 503,
    errors.DeadlineExceeded: 504,
}
RETRY_AFTER: dict[type[DomainError], float] = {
    errors.Aborted: 1,
    errors.ResourceExhausted: 5,
    errors.Unavailable: 1,
    errors.DeadlineExceeded: 1,
}
"""Seconds, when the service says nothing else."""
FIXED_MESSAGES: dict[type[DomainError], str] = {
    errors.Unavailable: "A service that this request needs is not available; try again",
    errors.DeadlineExceeded: "The request took too long; try again",
}
"""What gRPC itself says of these names addresses, which are nobody's business."""
_CLIENT_KEY = frozenset(refused().reason for refused in (missing_authorization, invalid_api_key, expired_api_key))

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error as it goes out. `detail` is a sentence, or a list of {loc, msg, type}."""

    status: int
    detail: object
    code: str
    headers: dict[str, str] = field(default_factory=dict)
    close: bool = False

    @property
    def body(self) -> bytes:
        return orjson.dumps({"detail": self.detail, "code": self.code})


def map_error(error: Exception, request_id: str) -> ErrorResponse:
    """The answer to whatever was raised; what nobody foresaw is logged, and tells the client nothing but its id."""
    if isinstance(error, HttpError):
        return ErrorResponse(error.status, error.detail, error.code, error.headers, error.close)
    if isinstance(error, InvalidRequest):
        return ErrorResponse(422, [issue.as_json() for issue in error.field_errors], "VALIDATION_FAILED")
    if isinstance(error, MalformedBody):
        return ErrorResponse(400, str(error), "JSON_MALFORMED")
    known = _upstream_cancelled(error) or error_status.to_domain_error(error)
    if known is None or _is_ours(known):
        return _internal(error, request_id)
    return _of_domain(known)


def _upstream_cancelled(error: Exception) -> DomainError | None:
    """A service that stops cancels what it cannot finish in time; the client is still here and may try again."""
    cancelled = isinstance(error, grpc.aio.AioRpcError) and error.code() is grpc.StatusCode.CANCELLED
    return errors.Unavailable("stopped") if cancelled else None


def _is_ours(error: DomainError) -> bool:
    """A service refused the gateway itself (its token): nothing that a client could mend."""
    return isinstance(error, errors.Unauthenticated) and error.reason not in _CLIENT_KEY


def _of_domain(error: DomainError) -> ErrorResponse:
    kind = next((kind for kind in STATUSES if isinstance(error, kind)), None)
    if kind is None:
        return ErrorResponse(500, error.message, error.reason)
    headers = {"WWW-Authenticate": "Bearer"} if kind is errors.Unauthenticated else {}
    retry_after = error.retry_after if error.retry_after is not None else RETRY_AFTER.get(kind)
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, ceil(retry_after)))
    return ErrorResponse(STATUSES[kind], FIXED_MESSAGES.get(kind, error.message), error.reason, headers)


def _internal(error: Exception, request_id: str) -> ErrorResponse:
    log.error("request_failed", request_id=request_id, exc_info=error)
    return ErrorResponse(500, f"Internal error (request {request_id})", "INTERNAL")


JSON_TYPE = "application/json"
FIXED_HEADERS = {"Server": "mobiletest", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def json_response(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    """An answer with a JSON body."""
    return Response(status=status, body=body, headers={**headers, "Content-Type": JSON_TYPE})


def empty_response(headers: Mapping[str, str]) -> Response:
    """204."""
    return Response(status=204, headers=headers)


def error_response(failure: ErrorResponse, headers: Mapping[str, str]) -> Response:
    """The answer to an error; it may end the connection."""
    response = json_response(failure.status, failure.body, {**headers, **failure.headers})
    if failure.close:
        response.force_close()
    return response
