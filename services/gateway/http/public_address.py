"""The address of the dashboard, which links to it begin with: the deployment's own, or that which the client used."""

import re
from typing import Final

from aiohttp import web
from multidict import istr

from services.gateway.http.session_cookie import FORWARDED_HOST, FORWARDED_PROTO

# Tells clients the deployment's own address.
PUBLIC_URL_HEADER: Final = istr("X-Public-Url")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,255}(?:/[A-Za-z0-9._~/-]{0,200})?", re.ASCII)


def is_web_address(text: str) -> bool:
    """Whether a link to a page may begin with the text."""
    return _ADDRESS.fullmatch(text) is not None


def base_url(request: web.Request, public_url: str) -> str:
    """The address that a link in the answer begins with; empty if the client's is not a plain one."""
    if public_url:
        return public_url
    used = f"{_first(request, FORWARDED_PROTO, request.scheme)}://{_first(request, FORWARDED_HOST, request.host)}"
    return used if is_web_address(used) else ""


def _first(request: web.Request, header: istr, default: str) -> str:
    """What the proxy next to the client says, or the default without a proxy."""
    return request.headers.get(header, default).partition(",")[0].strip()
