"""What the page of the coverage makes of a test's last run on its target."""

import pytest

from services.gateway.dashboard.coverage import STATES, is_missing, state_of


@pytest.mark.parametrize(
    ("last_status", "observed", "state", "missing"),
    [
        ("not_run", None, "never run", True),
        ("not_run", "1", "stale", True),
        ("no_verdict", None, "no verdict", True),
        ("no_verdict", "1", "no verdict", True),
        ("no_verdict", "2", "no verdict", False),
        ("cancelled", "1", "cancelled", True),
        ("failed", "2", "failed", False),
        ("passed", "2", "passed", False),
    ],
)
def test_a_run_without_a_verdict_is_no_failure_and_no_result(
    last_status: str, observed: str | None, state: str, missing: bool
) -> None:
    item = {
        "last_status": last_status,
        "last_observed_build_id": observed,
        "last_observed_build_version": observed,
        "target_build_version": "2",
    }
    assert (state_of(item), is_missing(state_of(item), item)) == (state, missing)
    assert state in STATES
