"""Errors that HTTP itself causes: unknown paths, wrong methods, unusable bodies."""

from collections.abc import Iterable, Mapping


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


def unknown_path() -> HttpError:
    return HttpError(404, "Not Found", "PATH_UNKNOWN")


def method_not_allowed(method: str, allowed: Iterable[str]) -> HttpError:
    methods = ", ".join(sorted(allowed))
    message = f"{method} is not allowed here; use {methods}"
    return HttpError(405, message, "METHOD_NOT_ALLOWED", headers={"Allow": methods})


def expectation_failed() -> HttpError:
    return HttpError(417, "Expect can only be 100-continue", "EXPECTATION_FAILED")


def body_too_large(limit: int) -> HttpError:
    return HttpError(413, f"The body is larger than {limit} bytes", "BODY_TOO_LARGE", close=True)


def too_many_fields(limit: int) -> HttpError:
    return HttpError(413, f"The form has more than {limit} fields", "BODY_TOO_LARGE", close=True)


def body_too_slow(seconds: float) -> HttpError:
    return HttpError(408, f"The body did not arrive within {seconds:g} s", "BODY_TOO_SLOW", close=True)


def unsupported_content_type(expected: str) -> HttpError:
    return HttpError(415, f"Send the body as {expected}", "CONTENT_TYPE_UNSUPPORTED")


def unsupported_encoding() -> HttpError:
    return HttpError(415, "Send the body without a Content-Encoding", "CONTENT_ENCODING_UNSUPPORTED", close=True)


def broken_body() -> HttpError:
    return HttpError(400, "The body ends before it is complete or is not valid HTTP", "BODY_BROKEN", close=True)


def header_too_large(limit: int) -> HttpError:
    return HttpError(431, f"A line of the header is longer than {limit} bytes", "HEADER_TOO_LARGE", close=True)


def malformed_http() -> HttpError:
    return HttpError(400, "This is not a valid HTTP request", "HTTP_MALFORMED", close=True)
