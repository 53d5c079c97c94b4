"""`mobiletest mcp`: the same operations as tools for coding agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mobiletest_cli.context import Context, command
from mobiletest_cli.errors import USAGE, CliError

# As pyproject.toml has it for the extra "mcp": the package of the command itself is in no index.
REQUIREMENT = "mcp>=2.3,<3"


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "mcp")(serve)


def serve(
    context: Context,
    allow_run: Annotated[
        bool, typer.Option("--allow-run", help="Also tools that start and cancel executions, and change tests.")
    ] = False,
) -> None:
    """Serve tools for coding agents on stdin and stdout (Model Context Protocol); read-only without --allow-run."""
    if context.flags.api_key:
        raise CliError("the MCP server needs stdin for its protocol", USAGE, "Set MOBILETEST_API_KEY, or use a profile")
    try:
        from mobiletest_cli.mcp_server.server import build_server
    except ModuleNotFoundError as missing:
        if missing.name not in ("anyio", "mcp", "pydantic"):
            raise
        raise CliError(
            "the MCP server is not installed", USAGE, f"{sys.executable} -m pip install '{REQUIREMENT}'"
        ) from None
    build_server(context.api, Path.cwd(), allow_run=allow_run).run("stdio")
