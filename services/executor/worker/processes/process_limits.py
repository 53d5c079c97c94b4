"""What an attempt may use of the machine."""

import math
import os
import resource
import signal
import sys
from dataclasses import dataclass
from time import monotonic, process_time

from services.chassis.child_process import data_bytes

# How often an attempt gets the CPU time that it may use for the time that has passed.
EXTEND_SECONDS = 5.0
# An attempt that has used more CPU time than this gives way to the others.
HEAVY_SECONDS = 2.0
LOWEST_PRIORITY = 19
# With this share of its memory allocated, a process may be out of it.
FULL = 0.9


@dataclass(frozen=True, slots=True)
class CpuAllowance:
    """CPU time of an attempt: `seconds`, plus a `share` of the time that it takes."""

    seconds: float
    share: float

    def __str__(self) -> str:
        return f"{self.seconds:g} s of CPU time plus {self.share:.0%} of its duration"


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """The limits of an attempt beside those of time."""

    cpu: CpuAllowance
    memory_bytes: int


class CpuLimit:
    """The limit of this process for one attempt, from now on: the kernel ends the process when it is exceeded.

    `gave_way`: the process has the lowest priority from now on, and cannot get another one.
    """

    def __init__(self, allowance: CpuAllowance) -> None:
        self._allowance = allowance
        self._used = process_time()
        self._began = monotonic()
        self.gave_way = False
        signal.signal(signal.SIGPROF, self._give_way)
        signal.setitimer(signal.ITIMER_PROF, HEAVY_SECONDS)

    def _give_way(self, *_: object) -> None:
        os.setpriority(os.PRIO_PROCESS, 0, LOWEST_PRIORITY)
        self.gave_way = True

    def end(self) -> None:
        """The attempt is over."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def extend(self) -> None:
        """Allow what the time passed so far gives. An attempt that computes all the time never gets here."""
        passed = monotonic() - self._began
        seconds = math.ceil(self._used + self._allowance.seconds + self._allowance.share * passed)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))


def is_out_of_memory(error: Exception) -> bool:
    """Whether the error says so, or is one of a library in C that could not say so any more."""
    most, _ = resource.getrlimit(resource.RLIMIT_DATA)
    full = most != resource.RLIM_INFINITY and data_bytes() > FULL * most
    return isinstance(error, MemoryError) or (isinstance(error, SystemError) and full)


def peak_memory() -> int:
    """The most memory that this process has used, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
