"""Responses as aiohttp sends them."""

from collections.abc import Mapping

from aiohttp.web import Response

from services.gateway.serving.failures import Failure

JSON_TYPE = "application/json"
FIXED_HEADERS = {"Server": "mobiletest", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def json_response(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    """An answer with a JSON body."""
    return Response(status=status, body=body, headers={**headers, "Content-Type": JSON_TYPE})


def empty_response(headers: Mapping[str, str]) -> Response:
    """204."""
    return Response(status=204, headers=headers)


def failure_response(failure: Failure, headers: Mapping[str, str]) -> Response:
    """The answer to an error; it may end the connection."""
    response = json_response(failure.status, failure.body, {**headers, **failure.headers})
    if failure.close:
        response.force_close()
    return response
