"""What the middlewares know of a request and its handler needs, kept in the request under typed keys."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from aiohttp import web
from google.protobuf.message import Message

from services.chassis.context import Caller
from services.gateway.auth.rate_limits import UNLIMITED, RequestLimits

MAX_HEADER_LENGTH = 4000
_HEADER_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-[]")


@dataclass(slots=True)
class RequestContext:
    """Who sent the request (and when their key expires), how it is to be handled, and headers for the response.

    `timeout` is in seconds, None when the client sent no X-Request-Timeout; `strict` rejects unknown fields; `limits`
    are those of the caller's organisation; `session_id` is empty for a caller with an API key. `resources` are what
    the operations of a page have read, by reader and id (see `read_resource`); None for a single operation.
    """

    caller: Caller
    timeout: float | None = None
    strict: bool = False
    key_expires_at: datetime | None = None
    limits: RequestLimits = UNLIMITED
    session_id: str = ""
    resources: dict[tuple[object, str], Message] | None = None
    response_headers: dict[str, str] = field(default_factory=dict)

    def report_ignored(self, names: Iterable[str]) -> None:
        """Set X-Ignored-Fields: characters that are not safe in a header are replaced, and a long list is cut."""
        text = ", ".join("".join(c if c in _HEADER_SAFE else "?" for c in name) for name in names)
        if text:
            cut = len(text) > MAX_HEADER_LENGTH
            self.response_headers["X-Ignored-Fields"] = text[:MAX_HEADER_LENGTH] + "..." if cut else text


REQUEST_ID = web.RequestKey("request_id", str)
REQUEST_CONTEXT = web.RequestKey("request_context", RequestContext)

# The organisation of requests without one.
PUBLIC = ""


def organisation(request: web.BaseRequest) -> str:
    """The organisation whose key or session the request has brought, if it is valid."""
    context = request.get(REQUEST_CONTEXT)
    return context.caller.org_id if context is not None else PUBLIC
