"""What the scripts of an attempt may use, and how they fail."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """Limits of one attempt's scripts.

    Fuel counts what the engine computes, and is the same on a busy machine: 10**9 is 0.2 to 0.5 s of CPU time, and a
    loop of 100,000 additions takes 1.2 * 10**8.
    """

    memory_bytes: int = 64 * 2**20
    stack_bytes: int = 512 * 2**10
    expression_fuel: int = 10**9
    script_fuel: int = 10**10
    total_fuel: int = 5 * 10**10
    source_bytes: int = 256 * 2**10
    value_bytes: int = 2**20
    answer_bytes: int = 4 * 2**20
    log_lines: int = 200
    log_bytes: int = 64 * 2**10


DEFAULT_LIMITS = ScriptLimits()


class ScriptError(Exception):
    """A script cannot be run, was stopped, or threw an error; the message says where.

    `path` is that of the text in the flow whose expression it is, if it is one.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.path = ""


class ScriptLimitExceeded(ScriptError):
    """A script used more than it may; no script can run after it."""


class ScriptsUnavailable(ScriptError):
    """This machine has no script engine."""


class UnusableValue(Exception):
    """A script's value cannot be taken out of the engine; the message says why."""


class ScriptStopped(Exception):
    """A script was ended; `stack` says where it was."""

    def __init__(self, stack: str) -> None:
        super().__init__(stack)
        self.stack = stack
