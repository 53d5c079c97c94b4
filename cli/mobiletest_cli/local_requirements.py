"""What runs without a server need beside the command: the extra "local" of its distribution."""

from __future__ import annotations

import re
import sys
import threading
from importlib.util import find_spec

from mobiletest_cli.errors import USAGE, CliError

# What is imported of the packages of the extra. Asking the packages themselves takes 0.1 s.
MODULES = (
    *("aiohttp", "dns", "faker", "jinja2", "junitparser", "orjson", "PIL", "prometheus_client", "pydantic"),
    *("quickjs_rs", "re2", "structlog", "wasmtime", "yaml"),
)
# structlog loads them if they are installed, which takes 0.1 s; our lines need neither.
_UNUSED = frozenset({"rich", "greenlet"})
_EXTRA = re.compile(r"""\s*;\s*extra\s*==\s*["']local["']\s*$""", re.ASCII)


def check_installed() -> None:
    """Check that the packages of a local run are installed; those of a checkout are.

    Raises:
        CliError: a package is missing; it says what to install.
    """
    if all(map(find_spec, MODULES)):
        return
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("mobiletest-cli") or ()
    except PackageNotFoundError:
        return
    needed = [_EXTRA.sub("", requirement) for requirement in declared if _EXTRA.search(requirement)]
    packages = " ".join(f"'{requirement}'" for requirement in needed)
    hint = f"{sys.executable} -m pip install {packages}"
    raise CliError("the packages for runs without a server are not installed", USAGE, hint)


def import_structlog() -> None:
    """Import structlog without what it does not need, in a process in which no other thread imports anything."""
    hidden = tuple(_UNUSED - sys.modules.keys())
    if "structlog" in sys.modules or threading.active_count() > 1:
        return
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
    try:
        import structlog  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]
