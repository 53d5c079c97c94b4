"""The table of errors."""

from typing import Any

import orjson
import pytest

from services.chassis import errors
from services.chassis.errors import DomainError
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, MalformedBody
from services.gateway.http.json_responses import STATUSES, HttpError, error_response, map_error


def body(error: HttpError) -> Any:
    content = error_response(error).body
    assert isinstance(content, bytes)
    return orjson.loads(content)


def test_every_domain_error_has_a_status() -> None:
    assert set(STATUSES) == set(DomainError.__subclasses__())


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (errors.Aborted("in flight"), 409, "1"),
        (errors.AlreadyExists("there"), 409, None),
        (errors.Unavailable("x"), 503, "1"),
        (errors.Unavailable("x", retry_after=4.2), 503, "5"),
        (errors.ResourceExhausted("x", retry_after=0.001), 429, "1"),
        (TimeoutError(), 504, "1"),
    ],
)
def test_status_and_retry_after(error: Exception, status: int, retry_after: str | None) -> None:
    response = map_error(error, "id")
    assert (response.status, response.headers.get("Retry-After")) == (status, retry_after)


def test_field_errors_are_a_list_and_other_details_sentences() -> None:
    invalid = map_error(InvalidRequest([FieldError(("body", "tags", 1), "Field required", "missing")]), "id")
    assert body(invalid) == {
        "detail": [{"loc": ["body", "tags", 1], "msg": "Field required", "type": "missing"}],
        "code": "VALIDATION_FAILED",
    }
    malformed = map_error(MalformedBody("The body is not valid JSON"), "id")
    assert (malformed.status, malformed.detail) == (400, "The body is not valid JSON")


def test_http_errors_keep_their_headers_and_may_close_the_connection() -> None:
    not_allowed = error_response(map_error(HttpError(405, "no", "NO", headers={"Allow": "GET"}), "id"))
    assert (not_allowed.headers["Allow"], not_allowed.keep_alive) == ("GET", None)
    assert error_response(map_error(HttpError(413, "large", "LARGE", close=True), "id")).keep_alive is False


def test_authentication_failure_has_exactly_one_field() -> None:
    error = map_error(errors.Unauthenticated("Invalid API key", reason="INVALID_API_KEY"), "id")
    assert (error.status, error.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert body(error) == {"detail": "Invalid API key"}


def test_rejected_service_token_is_an_internal_error() -> None:
    error = map_error(errors.Unauthenticated("The service token is wrong", reason="SERVICE_TOKEN_INVALID"), "id")
    assert (error.status, error.code) == (500, "INTERNAL")


def test_unexpected_error_shows_only_the_request_id() -> None:
    response = map_error(RuntimeError("inner workings"), "the-id")
    assert body(response) == {"detail": "Internal error (request the-id)", "code": "INTERNAL"}
