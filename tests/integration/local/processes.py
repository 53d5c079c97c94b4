"""Looking at processes from outside."""

import subprocess


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
