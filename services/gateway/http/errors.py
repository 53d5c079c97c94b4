"""Errors that arise in HTTP itself, before or beside any service."""

from collections.abc import Mapping


class HttpError(Exception):
    """A status with a sentence that says what to do, and a reason (UPPER_SNAKE) for programs.

    `close` ends the connection: the rest of the request is not worth reading.
    """

    def __init__(
        self,
        status: int,
        detail: str,
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


def method_not_allowed(verb: str, allowed: tuple[str, ...]) -> HttpError:
    verbs = ", ".join(allowed)
    return HttpError(405, f"{verb} is not allowed here; use {verbs}", "METHOD_NOT_ALLOWED", headers={"Allow": verbs})


def too_large(limit: int) -> HttpError:
    return HttpError(413, f"The body is larger than {limit} bytes", "BODY_TOO_LARGE", close=True)


def too_many_fields(limit: int) -> HttpError:
    return HttpError(413, f"The form has more than {limit} fields", "BODY_TOO_LARGE", close=True)


def too_slow(seconds: float) -> HttpError:
    return HttpError(408, f"The body did not arrive within {seconds:g} s", "BODY_TOO_SLOW", close=True)


def unsupported_type(wanted: str) -> HttpError:
    return HttpError(415, f"Send the body as {wanted}", "CONTENT_TYPE_UNSUPPORTED")


def unsupported_encoding() -> HttpError:
    return HttpError(415, "Send the body without a Content-Encoding", "CONTENT_ENCODING_UNSUPPORTED", close=True)


def broken_body() -> HttpError:
    return HttpError(400, "The body ends before it is complete or is not valid HTTP", "BODY_BROKEN", close=True)
