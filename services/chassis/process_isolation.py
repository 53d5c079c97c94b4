"""Keeps what a service knows from its children, which handle what tenants send, and run as the same user.

The variables with which a program was started stay readable in /proc/PID/environ, whatever it removes later, and all
its memory in /proc/PID/mem. Those of a service have addresses, passwords, tokens and keys.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_NEEDED = frozenset(
    (
        *("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "TMPDIR"),
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        "__CF_USER_TEXT_ENCODING",
    )
)
_NEEDED_KINDS = ("LC_", "PYTHON", "MALLOC_", "DYLD_")
_PR_SET_DUMPABLE = 4


def needed_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Those of the variables that children need: they have no settings and no credentials."""
    return {name: value for name, value in environment.items() if name in _NEEDED or name.startswith(_NEEDED_KINDS)}


def spawn_without_settings(path: str, args: Sequence[str], passfds: Sequence[int]) -> int:
    """Start a program with these descriptors and only the variables that children need; returns its id.

    This is `multiprocessing.util.spawnv_passfds`, by which multiprocessing starts its fork server and its resource
    tracker, and which gives them all variables.
    """
    process = subprocess.Popen(  # noqa: S603 (this interpreter, as multiprocessing names it)
        args, executable=path, pass_fds=passfds, env=needed_variables(os.environ), restore_signals=False
    )
    process.returncode = 0  # multiprocessing waits for the process, and nobody else may
    return process.pid


def deny_inspection() -> None:
    """Let no process of the same user read the memory, variables and descriptors of this one, or trace it.

    On Linux; root still may. It holds for forks too, but not for programs that are started. There are no core dumps.
    """
    if sys.platform != "linux":
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


def isolate_fork_server() -> None:
    """Make this process, and so its forks, the first to end when memory runs out, and deny their inspection."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # before it is denied, which it is to this process too
    deny_inspection()
