"""Responses with a JSON body, and the errors that a handler raises as such responses."""

from collections.abc import Mapping
from math import ceil

import grpc
import orjson
from aiohttp import hdrs, web

from services.chassis import error_status, errors, logs
from services.chassis.errors import DomainError
from services.gateway.auth.api_keys import ended_session, expired_api_key, invalid_api_key, missing_authorization
from services.gateway.decoding.validation_errors import InvalidRequest, MalformedBody
from services.gateway.http.representations import ETAG, REVALIDATE

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
# What HTTP has a status of its own for.
STATUSES_OF_REASONS = {"REVISION_MISMATCH": 412, "RANGE_NOT_SATISFIABLE": 416}
# Seconds, unless the service says otherwise.
RETRY_AFTER: dict[type[DomainError], float] = {
    errors.Aborted: 1,
    errors.ResourceExhausted: 5,
    errors.Unavailable: 1,
    errors.DeadlineExceeded: 1,
}
# For errors without a reason of ours: gRPC's own messages contain internal addresses.
FIXED_MESSAGES: dict[type[DomainError], str] = {
    errors.Unavailable: "A service that this request needs is not available; try again",
    errors.DeadlineExceeded: "The request took too long; try again",
}
_JSON_HEADERS = {hdrs.CONTENT_TYPE: "application/json"}
_CREDENTIAL_ERRORS = (missing_authorization, invalid_api_key, expired_api_key, ended_session)
_API_KEY_REASONS = frozenset(make().reason for make in _CREDENTIAL_ERRORS)

log = logs.get(__name__)


class HttpError(Exception):
    """A status, a detail (a sentence, or a list of {loc, msg, type}) and a reason (UPPER_SNAKE) for programs.

    `close` ends the connection: the rest of the request is not worth reading.
    """

    def __init__(
        self,
        status: int,
        detail: object,
        code: str,
        *,
        headers: Mapping[str, str] | None = None,
        close: bool = False,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code
        self.headers = dict(headers or {})
        self.close = close

    @property
    def message(self) -> str:
        """The detail as a sentence."""
        if isinstance(self.detail, list):
            return "; ".join(str(issue["msg"]) for issue in self.detail)
        return str(self.detail)


def json_response(body: bytes, status: int = 200, *, etag: str = "") -> web.Response:
    """A response with this JSON text; one with an ETag may be kept by the client."""
    headers = {**_JSON_HEADERS, ETAG: etag, hdrs.CACHE_CONTROL: REVALIDATE} if etag else _JSON_HEADERS
    return web.Response(status=status, body=body, headers=headers)


def error_response(error: HttpError) -> web.Response:
    """The error as JSON. Authentication failures have exactly one field, `detail`; all others also have `code`."""
    body = {"detail": error.detail} if error.status == 401 else {"detail": error.detail, "code": error.code}
    response = json_response(orjson.dumps(body), error.status)
    response.headers.update(error.headers)
    if error.close:
        response.force_close()
    return response


def map_error(error: Exception, request_id: str) -> HttpError:
    """The HTTP error for any exception; an unexpected one is logged, and the client only learns the request id."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, InvalidRequest):
        return HttpError(422, [issue.as_json() for issue in error.field_errors], "VALIDATION_FAILED")
    if isinstance(error, MalformedBody):
        return HttpError(400, str(error), "JSON_MALFORMED")
    known = _upstream_cancelled(error) or error_status.to_domain_error(error)
    if known is None or _is_service_token_error(known):
        return _internal_error(error, request_id)
    return _from_domain_error(known)


def _upstream_cancelled(error: Exception) -> DomainError | None:
    """A service that shuts down cancels its calls; the client is still connected and may try again."""
    cancelled = isinstance(error, grpc.aio.AioRpcError) and error.code() is grpc.StatusCode.CANCELLED
    return errors.Unavailable("stopped") if cancelled else None


def _is_service_token_error(error: DomainError) -> bool:
    """Whether a service rejected the gateway's own token, which the client cannot fix."""
    return isinstance(error, errors.Unauthenticated) and error.reason not in _API_KEY_REASONS


def _from_domain_error(error: DomainError) -> HttpError:
    kind = next((kind for kind in STATUSES if isinstance(error, kind)), None)
    if kind is None:
        return HttpError(500, error.message, error.reason)
    if (status := STATUSES_OF_REASONS.get(error.reason)) is not None:
        size = {"Content-Range": f"bytes */{error.metadata['size']}"} if status == 416 else {}
        return HttpError(status, error.message, error.reason, headers=size)
    headers = {"WWW-Authenticate": "Bearer"} if kind is errors.Unauthenticated else {}
    retry_after = error.retry_after if error.retry_after is not None else RETRY_AFTER.get(kind)
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, ceil(retry_after)))
    fixed = FIXED_MESSAGES.get(kind) if error.reason == kind.default_reason else None
    return HttpError(STATUSES[kind], fixed or error.message, error.reason, headers=headers)


def _internal_error(error: Exception, request_id: str) -> HttpError:
    log.error("request_failed", request_id=request_id, exc_info=error)
    return HttpError(500, f"Internal error (request {request_id})", "INTERNAL")
