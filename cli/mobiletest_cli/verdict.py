"""The exit code of an execution that was waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mobiletest_cli.errors import CANCELLED, FAILED, NO_VERDICT, OK

if TYPE_CHECKING:
    from mobiletest_cli.api_types import BuildGate, Execution, Gate


def exit_code(execution: Execution, gate: Gate | None, *, fail_on_cancellation: bool = True) -> int:
    """The gate decides if it was asked, otherwise every run has to pass. What has no verdict is never a failed test."""
    if execution["status"] == "cancelled":
        return CANCELLED if fail_on_cancellation else OK
    if gate is not None:
        return of_gate(gate)
    counts = execution["counts"]
    if counts is None or not counts["total"]:
        return NO_VERDICT
    if counts["failed"]:
        return FAILED
    return OK if counts["passed"] == counts["total"] else NO_VERDICT


def of_gate(gate: Gate | BuildGate) -> int:
    """The exit code of a gate that is not pending. If nothing passed, failures count that would not block otherwise."""
    if gate["result"] == "pass":
        return OK
    blocking = {reason["rule"] for reason in gate["reasons"] if reason["blocks"]}
    deciding = blocking or {reason["rule"] for reason in gate["reasons"]}
    return NO_VERDICT if deciding <= {"no_verdict"} else FAILED
