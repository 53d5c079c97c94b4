"""How the command ends when it cannot do what was asked: exit codes, and the error that carries one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

OK = 0
FAILED = 1
USAGE = 2
AUTHENTICATION = 3
NOT_FOUND = 4
CANCELLED = 5
TIMEOUT = 6
NO_VERDICT = 7
UNREACHABLE = 8
RATE_LIMITED = 9
INVALID_FILE = 10
INTERRUPTED = 130
TERMINATED = 143

MEANINGS = {
    OK: "the tests passed, or the command did what was asked",
    FAILED: "tests failed, or the gate blocks",
    USAGE: "wrong usage, a device that --local cannot use, or the server refused the request",
    AUTHENTICATION: "no API key, or one that is not valid or lacks a scope",
    NOT_FOUND: "no such app, build, test, workflow or execution",
    CANCELLED: "the execution was cancelled",
    TIMEOUT: "--timeout passed before the execution ended",
    NO_VERDICT: "no verdict: infrastructure or configuration stopped the runs, or a person helped with --interactive",
    UNREACHABLE: "the server cannot be reached, or cannot answer",
    RATE_LIMITED: "a limit of the organisation is exhausted",
    INVALID_FILE: "a file, folder or flow cannot be used",
    INTERRUPTED: "interrupted (Ctrl-C)",
    TERMINATED: "terminated (SIGTERM)",
}


class CliError(Exception):
    """The command cannot go on: what is wrong and where, the exit code, and what to do about it (`hint`).

    `details` are lines for the end of the message, which is one line.
    """

    def __init__(self, message: str, exit_code: int, hint: str | None = None, *, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.hint = hint
        self.details = details

    @property
    def text(self) -> str:
        """The message with its details."""
        return "\n".join([self.message, *self.details])


class RequestRefused(CliError):
    """The server refused a request: its status, its stable code, and the id under which its log has the request."""

    def __init__(
        self,
        message: str,
        exit_code: int,
        hint: str | None = None,
        *,
        status: int,
        code: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(message, exit_code, hint)
        self.status = status
        self.code = code
        self.request_id = request_id


def is_transient(error: CliError) -> bool:
    """Whether repeating the same call may help."""
    if isinstance(error, RequestRefused):
        return error.status == 429 or error.status >= 500 or error.code == "IDEMPOTENCY_KEY_IN_FLIGHT"
    return error.exit_code == UNREACHABLE
