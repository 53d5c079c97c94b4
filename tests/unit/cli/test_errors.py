"""Exit codes of executions: the gate decides if it was asked, and infrastructure is never a failed test."""

from typing import Any

import pytest

from mobiletest_cli.errors import CANCELLED, FAILED, NO_VERDICT, OK, exit_code

COUNTS = {"total": 0, "queued": 0, "running": 0, "passed": 0, "failed": 0, "cancelled": 0, "infra_failed": 0}


def execution(status: str = "completed", **counts: int) -> Any:
    return {"status": status, "counts": {**COUNTS, **counts, "total": sum(counts.values())}}


def gate(result: str, *reasons: tuple[str, bool]) -> Any:
    return {"result": result, "reasons": [{"rule": rule, "blocks": blocks} for rule, blocks in reasons]}


@pytest.mark.parametrize(
    ("runs", "code"),
    [
        (execution(passed=2), OK),
        (execution(passed=1, failed=1), FAILED),
        (execution(passed=1, failed=1, infra_failed=1), FAILED),
        (execution("failed", passed=1, infra_failed=1), NO_VERDICT),
        (execution("completed", passed=1, cancelled=1), NO_VERDICT),
        (execution("cancelled", passed=1, cancelled=1), CANCELLED),
        (execution("failed"), NO_VERDICT),
        ({"status": "failed", "counts": None}, NO_VERDICT),
    ],
)
def test_without_a_gate_every_run_has_to_pass(runs: Any, code: int) -> None:
    assert exit_code(runs, None) == code


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (gate("pass", ("flaky", False)), OK),
        (gate("block", ("newly_broken", True), ("flaky", False)), FAILED),
        (gate("block", ("newly_broken", True), ("no_verdict", True)), FAILED),
        (gate("block", ("no_verdict", True), ("known_on_base", False)), NO_VERDICT),
        (gate("block", ("known_on_base", False)), FAILED),
        (gate("block", ("not_run_before", True)), FAILED),
        (gate("block"), NO_VERDICT),
    ],
)
def test_the_gate_decides(answer: Any, code: int) -> None:
    assert exit_code(execution(failed=1), answer) == code


def test_a_cancelled_execution_may_be_tolerated() -> None:
    assert exit_code(execution("cancelled"), None, fail_on_cancellation=False) == OK
