"""The cookie that carries the token of a session, and the token that proves that a page of ours sent a request."""

import hmac
from base64 import urlsafe_b64encode
from hashlib import sha256
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from multidict import istr

CSRF_HEADER = istr("X-CSRF-Token")
FORWARDED_PROTO, FORWARDED_HOST = istr("X-Forwarded-Proto"), istr("X-Forwarded-Host")
_FETCH_SITE = istr("Sec-Fetch-Site")
_SECURE_NAME, _PLAIN_NAME = "__Host-mobiletest-session", "mobiletest-session"
_SAFE_METHODS = frozenset((hdrs.METH_GET, hdrs.METH_HEAD, hdrs.METH_OPTIONS))


def session_token(request: web.Request) -> str | None:
    """The token in the request's cookie; None if there is none. Behind TLS it has a name that no other host can set."""
    token = request.cookies.get(_SECURE_NAME if _is_tls(request) else _PLAIN_NAME)
    return token if token and token.isascii() else None


def set_session(request: web.Request, response: web.StreamResponse, token: str, seconds: int) -> None:
    """Keep the token in the browser, out of reach of scripts and of other sites."""
    secure = _is_tls(request)
    response.set_cookie(
        _SECURE_NAME if secure else _PLAIN_NAME,
        token,
        max_age=seconds,
        path="/",
        httponly=True,
        samesite="Strict",
        secure=secure,
    )


def remove_session(response: web.StreamResponse) -> None:
    """Remove the cookie from the browser."""
    response.del_cookie(_SECURE_NAME, path="/", secure=True, httponly=True, samesite="Strict")
    response.del_cookie(_PLAIN_NAME, path="/", httponly=True, samesite="Strict")


def csrf_token(token: str) -> str:
    """What pages of this session send with every change: it follows from the token, which no script can read."""
    return urlsafe_b64encode(sha256(f"csrf {token}".encode()).digest()).decode().rstrip("=")


def has_csrf_token(request: web.Request, token: str) -> bool:
    """Whether the request changes nothing, or comes from a page of this session."""
    sent = request.headers.get(CSRF_HEADER, "")
    sent_bytes = sent.encode(errors="surrogateescape")
    return request.method in _SAFE_METHODS or hmac.compare_digest(sent_bytes, csrf_token(token).encode())


def is_of_another_site(request: web.Request) -> bool:
    """Whether a browser says that a page of another origin has sent the request; programs say nothing.

    Browsers leave out Sec-Fetch-Site without TLS, but for this machine. Origin is "null" for pages that hide theirs.
    """
    if (site := request.headers.get(_FETCH_SITE)) is not None:
        return site not in ("same-origin", "none")
    if (origin := request.headers.get(hdrs.ORIGIN)) is None:
        return False
    try:
        host = urlsplit(origin).netloc
    except ValueError:
        return True
    return host not in (request.host, request.headers.get(FORWARDED_HOST))


def _is_tls(request: web.Request) -> bool:
    """Whether the browser uses TLS, perhaps as far as a proxy."""
    return request.secure or request.headers.get(FORWARDED_PROTO, "") == "https"
