"""What pages with a comparison of builds share: the base branch in the address, and where the repository is."""

from typing import Any
from urllib.parse import urlsplit

from aiohttp import web


def base_branch_of(request: web.Request) -> dict[str, str]:
    """The parameter with the branch to compare with, if the address of the page names one."""
    branch = request.query.get("base_branch", "").strip()
    return {"base_branch": branch} if branch else {}


def repository_url(named: str | None) -> str | None:
    """The address of the repository that CI named; None unless it is http or https."""
    try:
        scheme, host = urlsplit(named or "").scheme, urlsplit(named or "").hostname
    except ValueError:
        return None
    return (named or "").rstrip("/").removesuffix(".git") if scheme in ("http", "https") and host else None


def repository_of(comparison: dict[str, Any] | None) -> str | None:
    """The address of the repository that CI named for a build or for the one that it is compared with."""
    builds = (comparison["build"], comparison["base"]) if comparison else ()
    return next((url for build in builds if (url := repository_url(build["repository"]))), None)
