"""Executions, runs and gates as the API returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from uuid import NAMESPACE_URL, uuid5

from mobiletest_cli.results.report import Report

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Attempt, Execution, Gate, GateReason, Run

URL = "https://mobiletest.example.com/executions"
EXECUTION = "5d1c0a52-0000-4000-8000-000000000001"


def run_id(name: str) -> str:
    """The id of the run of the test with this name."""
    return str(uuid5(NAMESPACE_URL, repr(name)))


def attempt(
    message: str | None = None,
    *,
    device: str | None = "Pixel 9",
    simulated: bool | None = False,
    built_in_model: bool | None = None,
) -> Attempt:
    """An attempt, which passed without a `message`."""
    failure = {"message": message, "reason": "", "category": "assertion_failed"} if message is not None else None
    known = {"number": 1, "device": device, "simulated": simulated, "failure": failure}
    built_in = {} if built_in_model is None else {"built_in_model": built_in_model}
    return cast("Attempt", {**known, **built_in})


def passed(name: str = "Log in", *attempts: Attempt, **fields: Any) -> Run:
    """A run that passed, with `attempts` before the last one given."""
    return _run(name, list(attempts) or [attempt()], {"success": True, **fields})


def failed(name: str = "Pay", message: str = "No button", **fields: Any) -> Run:
    """A run with a failing verdict."""
    attempts = [attempt(message)]
    return _run(name, attempts, {"success": False, "failure": attempts[-1]["failure"], **fields})


def failed_at(*positions: str, **fields: Any) -> Run:
    """A run that failed at the first of the positions ("pay.yaml:12:3"), whose file is run from the others."""
    written, *run_from = (
        {"file": file, "line": int(line), "column": int(column)}
        for file, line, column in (each.split(":") for each in positions)
    )
    run = failed(**fields)
    for failure in (run["failure"], run["attempts"][-1]["failure"]):
        cast("dict[str, Any]", failure).update(position=written, run_from=run_from)
    return run


def reason(run: Run, rule: str, **fields: Any) -> GateReason:
    """What the gate says of a run."""
    known = {
        "test_id": run["test_id"],
        "test_name": run["test_name"],
        "run_id": run["id"],
        "blocks": rule not in ("known_on_base", "flaky", "quarantined"),
        "rule": rule,
        "detail": f"It is {rule}.",
        "breakage": None,
        "quarantine": None,
        **fields,
    }
    return cast("GateReason", known)


def report(*runs: Run, reasons: list[GateReason] | None = None, **fields: Any) -> Report:
    """The report of an execution; with a gate if there are `reasons`."""
    success = all(run["success"] for run in runs)
    known = {
        "id": EXECUTION,
        "workflow_name": "Nightly",
        "status": "completed",
        "success": success,
        "execution_time_seconds": 65.0,
        "counts": {"total": len(runs), "passed": sum(bool(run["success"]) for run in runs), "failed": 0},
        **fields,
    }
    return Report(cast("Execution", known), runs, None if reasons is None else _gate(reasons), {}, URL)


def _gate(reasons: list[GateReason]) -> Gate:
    blocks = any(each["blocks"] for each in reasons)
    return cast("Gate", {"result": "block" if blocks else "pass", "summary": "The gate's summary.", "reasons": reasons})


def _run(name: str, attempts: list[Attempt], fields: dict[str, Any]) -> Run:
    known = {
        "id": run_id(name),
        "test_id": f"test {name}",
        "test_name": name,
        "resolved_build_version": "1.2.0",
        "status": "completed",
        "execution_time_seconds": 4.2,
        "attempt_number": len(attempts),
        "attempts": attempts,
        "failure": None,
        **fields,
    }
    return cast("Run", known)
