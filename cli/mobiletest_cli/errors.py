"""How the command ends: exit codes, that of an execution which was waited for, and the error that carries one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mobiletest_cli.api_types import BuildGate, Execution, Gate

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
    FAILED: "tests failed, the gate blocks, or a rechecked step does not hold",
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


def exit_code(execution: Execution, gate: Gate | None, *, fail_on_cancellation: bool = True) -> int:
    """The gate decides if it was asked, otherwise every run has to pass. What has no verdict is never a failed test."""
    if execution["status"] == "cancelled":
        return CANCELLED if fail_on_cancellation else OK
    if gate is not None:
        return exit_code_of_gate(gate)
    counts = execution["counts"]
    if counts is None or not counts["total"]:
        return NO_VERDICT
    if counts["failed"]:
        return FAILED
    return OK if counts["passed"] == counts["total"] else NO_VERDICT


def exit_code_of_gate(gate: Gate | BuildGate) -> int:
    """The exit code of a gate that is not pending. If nothing passed, failures count that would not block otherwise."""
    if gate["result"] == "pass":
        return OK
    blocking = {reason["rule"] for reason in gate["reasons"] if reason["blocks"]}
    deciding = blocking or {reason["rule"] for reason in gate["reasons"]}
    return NO_VERDICT if deciding <= {"no_verdict"} else FAILED
