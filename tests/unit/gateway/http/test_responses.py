"""The table of errors."""

import orjson
import pytest

from services.chassis import errors
from services.chassis.errors import DomainError
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, MalformedBody
from services.gateway.http.errors import method_not_allowed, too_large
from services.gateway.http.responses import STATUSES, map_error


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
def test_statuses_and_when_to_come_back(error: Exception, status: int, retry_after: str | None) -> None:
    found = map_error(error, "id")
    assert (found.status, found.headers.get("Retry-After")) == (status, retry_after)


def test_issues_are_a_list_and_the_rest_sentences() -> None:
    invalid = map_error(InvalidRequest([FieldError(("body", "tags", 1), "Field required", "missing")]), "id")
    assert orjson.loads(invalid.body) == {
        "detail": [{"loc": ["body", "tags", 1], "msg": "Field required", "type": "missing"}],
        "code": "VALIDATION_FAILED",
    }
    malformed = map_error(MalformedBody("The body is not valid JSON"), "id")
    assert (malformed.status, malformed.detail) == (400, "The body is not valid JSON")


def test_http_errors_keep_their_headers_and_may_end_the_connection() -> None:
    assert map_error(method_not_allowed("PUT", ("GET", "POST")), "id").headers == {"Allow": "GET, POST"}
    assert map_error(too_large(10), "id").close


def test_a_refused_client_is_told_how_to_authenticate_but_a_refused_gateway_is_our_error() -> None:
    client = map_error(errors.Unauthenticated("Invalid API key", reason="INVALID_API_KEY"), "id")
    assert (client.status, client.headers) == (401, {"WWW-Authenticate": "Bearer"})
    ours = map_error(errors.Unauthenticated("The service token is wrong", reason="SERVICE_TOKEN_INVALID"), "id")
    assert (ours.status, ours.code) == (500, "INTERNAL")


def test_what_nobody_foresaw_shows_nothing() -> None:
    found = map_error(RuntimeError("inner workings"), "the-id")
    assert (found.status, found.detail) == (500, "Internal error (request the-id)")
