"""The X-CI headers of a start, without values that the gateway would refuse with 422."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

from mobiletest_cli.ci.attribution import Attribution, repository_name

# Bytes in UTF-8, so that neither the limit in characters nor that of a header line is exceeded.
LENGTH_LIMIT = 1000
URL_LENGTH_LIMIT = 4000
BRANCH_LENGTH_LIMIT = 300
_LAST_NUMBER = 2**31 - 1
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WEB_ADDRESS = re.compile(r"(?ai:https?)://[^\x00-\x20\x7f/]\S*")


def headers(attribution: Attribution) -> dict[str, str]:
    """The headers for what is known.

    The gateway reads header values as UTF-8, and a branch may have any characters: send them as
    `httpx.Headers(headers(...), encoding="utf-8")`.
    """
    values = {
        "X-CI-System": _text(attribution.system),
        "X-CI-Commit-SHA": _text(attribution.commit_sha),
        "X-CI-Branch": _text(attribution.branch),
        "X-CI-PR-Number": _number(attribution.pr_number),
        "X-CI-Run-URL": _url(attribution.run_url),
        "X-CI-Run-ID": _text(attribution.run_id),
        "X-CI-Repository": _text(repository_name(attribution.repository)),
        "X-CI-Base-Branch": _text(attribution.base_branch, BRANCH_LENGTH_LIMIT),
    }
    return {name: value for name, value in values.items() if value}


def _text(value: str | None, limit: int = LENGTH_LIMIT) -> str:
    """The value; "" if it cannot be sent."""
    text = (value or "").strip()
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # bytes of an environment variable that are not UTF-8
        return ""
    return text if size <= limit and not _CONTROLS.search(text) else ""


def _number(number: int | None) -> str:
    return str(number) if number is not None and 0 < number <= _LAST_NUMBER else ""


def _url(url: str | None) -> str:
    """The URL without credentials; "" if it is not http or https."""
    text = _text(url, URL_LENGTH_LIMIT)
    if not _WEB_ADDRESS.fullmatch(text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    without = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return without if _WEB_ADDRESS.fullmatch(without) else ""
