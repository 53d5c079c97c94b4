"""The memory of other processes, from /proc."""

import re
from collections.abc import Iterable
from pathlib import Path

MEBIBYTE = 1024 * 1024


def resident_bytes(pid: int) -> int:
    """What the process has in memory now."""
    return _status(pid, "VmRSS")


class PeakMemory:
    """How far processes rise above what they have in memory at the beginning."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._before = {pid: resident_bytes(pid) for pid in pids}
        for pid in self._before:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # starts VmHWM again

    def risen(self) -> float:
        """MiB, of the process that rose most."""
        return max(_status(pid, "VmHWM") - before for pid, before in self._before.items()) / MEBIBYTE


def _status(pid: int, field: str) -> int:
    match = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    if match is None:
        raise ProcessLookupError(pid)
    return int(match[1]) * 1024
