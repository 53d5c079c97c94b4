"""Imported by the fork server alone, before all other modules: it starts again with only what children need.

The variables with which a program was started stay readable in /proc/PID/environ, in its forks too, whatever it removes
later. Those of a service have addresses, passwords, tokens and keys.
"""

import os
import sys
from collections.abc import Mapping

_NEEDED = frozenset(
    (
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        "__CF_USER_TEXT_ENCODING",
    )
)
_NEEDED_KINDS = ("LC_", "PYTHON", "MALLOC_", "DYLD_")


def needed_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the variables that children need: they have no settings and no credentials."""
    return {name: value for name, value in environment.items() if name in _NEEDED or name.startswith(_NEEDED_KINDS)}


def _is_fork_server() -> bool:
    return any("multiprocessing.forkserver" in argument for argument in sys.orig_argv)


if _is_fork_server() and (kept := needed_variables(os.environ)).keys() != os.environ.keys():
    os.execve(sys.executable, sys.orig_argv, kept)  # noqa: S606 (this program itself)
