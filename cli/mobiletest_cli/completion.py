"""The scripts that let shells complete the command."""

from __future__ import annotations

from typer._completion_shared import get_completion_script

from mobiletest_cli.errors import USAGE, CliError

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """The script of a shell. CliError: it is not known."""
    if shell not in SHELLS:
        raise CliError(f'"{shell}" is not a shell that can be completed', USAGE, ", ".join(SHELLS))
    return get_completion_script(prog_name="mobiletest", complete_var="_MOBILETEST_COMPLETE", shell=shell)
