"""`mobiletest devices`: the devices of this machine, for runs without a server."""

from __future__ import annotations

from typing import Annotated

import typer

from mobiletest_cli.context import Context, command
from mobiletest_cli.errors import USAGE, CliError


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "devices")(list_devices)


def list_devices(
    context: Context,
    local: Annotated[bool, typer.Option("--local", help="Those of this machine, for run --local.")] = False,
) -> None:
    """List the devices of this machine, and what each of them lacks."""
    from dataclasses import asdict

    from mobiletest_cli.local_run.devices import ThisMachine, find_devices

    if not local:
        raise CliError("a server chooses devices itself", USAGE, "Those of this machine: mobiletest devices --local")
    devices = find_devices(ThisMachine())
    rows = [[device.name, device.description, device.missing or "ready"] for device in devices]
    context.output.report({"items": [asdict(device) for device in devices]}, ("--device", "What", "State"), rows)
