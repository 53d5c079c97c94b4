"""What runs without a server need beside the command: the extra "local" of its distribution."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

from mobiletest_cli.errors import USAGE, CliError

_EXTRA = re.compile(r"""\s*;\s*extra\s*==\s*["']local["']\s*$""", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def check_installed() -> None:
    """Check that the packages of a local run are installed; those of a checkout are.

    Raises:
        CliError: a package is missing; it says what to install.
    """
    try:
        declared = requires("mobiletest-cli") or ()
    except PackageNotFoundError:
        return
    needed = [_EXTRA.sub("", requirement) for requirement in declared if _EXTRA.search(requirement)]
    if not all(map(_is_installed, needed)):
        packages = " ".join(f"'{requirement}'" for requirement in needed)
        hint = f"{sys.executable} -m pip install {packages}"
        raise CliError("the packages for runs without a server are not installed", USAGE, hint)


def _is_installed(requirement: str) -> bool:
    name = _NAME.match(requirement)
    try:
        return name is not None and bool(version(name[0]))
    except PackageNotFoundError:
        return False
