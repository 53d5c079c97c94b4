"""One admitted request on its way through a handler."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from aiohttp.web import BaseRequest, StreamResponse

from services.chassis.context import Caller

MAX_HEADER_LENGTH = 4000
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-[]")


@dataclass(slots=True)
class RequestContext:
    """The request, who sent it, and the headers that go out with the answer.

    `seconds` is the time limit that the client asked for, if it did; `strict` that it wants unknown fields refused.
    """

    http: BaseRequest
    path: dict[str, str]
    caller: Caller
    headers: dict[str, str]
    seconds: float | None = None
    strict: bool = False

    def note_ignored(self, names: Iterable[str]) -> None:
        """Name what was ignored; characters that a header cannot bear are replaced, and a long list is cut."""
        text = ", ".join("".join(c if c in _PLAIN else "?" for c in name) for name in names)
        if text:
            cut = len(text) > MAX_HEADER_LENGTH
            self.headers["X-Ignored-Fields"] = text[:MAX_HEADER_LENGTH] + "..." if cut else text


Handler = Callable[[RequestContext], Awaitable[StreamResponse]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route: what it needs of its caller, and what answers. Without a `scope` it is open to everyone."""

    verb: str
    template: str
    handle: Handler
    scope: str = ""
    takes_idempotency_key: bool = False
