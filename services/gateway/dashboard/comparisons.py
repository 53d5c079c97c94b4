"""What pages with a comparison of builds or a gate share: the base branch in the address, the gate of an execution, and
where the repository is.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from services.gateway.dashboard.resources import read, read_part

# What there is to show of a gate that nobody can know.
NO_GATE: Mapping[str, Any] = {"gate": None, "gate_refusal": None}


def base_branch_of(request: web.Request) -> dict[str, str]:
    """The parameter with the branch to compare with, if the address of the page names one."""
    branch = request.query.get("base_branch", "").strip()
    return {"base_branch": branch} if branch else {}


async def read_gate(request: web.Request) -> Mapping[str, Any]:
    """The gate of the execution in the address, or why it was refused; NO_GATE if reporting does not know the execution
    yet.
    """
    part = await read_part("gate", read(request, "GetGate", **base_branch_of(request)))
    refusal = part["gate_refusal"]
    return NO_GATE if refusal is not None and refusal.status == 404 else part


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
