"""A process of attempts that takes all memory but a little when it is told to."""

import os
import resource
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from services.executor.worker.processes.attempt_process import AttemptProcess
from services.executor.worker.processes.attempt_start import LogFormat

FILL = signal.SIGUSR1
# The niceness of the process once it is full.
FULL_NICENESS = 15
LEFT_CHUNKS = 64
# Bytes; smaller ones come from the heap, where a larger one would be mapped.
CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class FillingProcess:
    """See the module. What the fork server has freed would otherwise serve any attempt."""

    log_format: LogFormat

    def __call__(self, worker: socket.socket) -> None:
        signal.signal(FILL, fill)
        AttemptProcess(self.log_format)(worker)


_taken: object = None


def fill(*_: object) -> None:
    """Leave about 4 MiB, however much is free of what was allocated before."""
    global _taken
    lines = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    left = [bytearray(CHUNK) for _ in range(LEFT_CHUNKS)]
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    for size in (CHUNK, 4096, 1024, 256):
        try:
            while True:
                _taken = (_taken, bytearray(size))
        except MemoryError:
            continue
    left.clear()
    os.setpriority(os.PRIO_PROCESS, 0, FULL_NICENESS)
