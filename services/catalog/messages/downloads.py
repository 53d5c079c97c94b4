"""The headers of a download, as gRPC metadata that the gateway turns into HTTP."""

import re
from urllib.parse import quote

from services.catalog.model.builds import Build

_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def headers_of(build: Build) -> tuple[tuple[str, str], ...]:
    """Length, ETag (the content's SHA-256) and the name to save the file under."""
    return (
        ("http-content-length", str(build.size or 0)),
        ("http-etag", f'"{build.sha256}"'),
        ("http-content-disposition", _disposition(_file_name(build))),
    )


def _file_name(build: Build) -> str:
    """The uploaded file's own name without its folders."""
    name = re.split(r"[/\\]", build.file_name or "")[-1]
    return name or f"{build.version}.bin"


def _disposition(name: str) -> str:
    """RFC 6266: a plain name for all, the exact one for those who understand it."""
    return f"attachment; filename=\"{_PLAIN.sub('_', name)}\"; filename*=UTF-8''{quote(name, safe='')}"
