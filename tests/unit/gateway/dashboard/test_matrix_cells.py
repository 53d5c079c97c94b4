"""What a cell of the matrix looks like and says."""

from typing import Any

import pytest

from services.gateway.dashboard.matrix import TIP_LENGTH, align_cells


def cell(*variants: tuple[str, bool | None, int, int], passed: int, failed: int) -> dict[str, Any]:
    """A cell with these runs; each variant is its values, its verdict, and how often it passed and failed."""
    named = [
        {"variant": name, "success": success, "passed_runs": good, "failed_runs": bad, "latest_execution_id": name}
        for name, success, good, bad in variants
    ]
    counts = {"passed_runs": passed, "failed_runs": failed, "infra_failed_runs": 0, "cancelled_runs": 0}
    shown = {"build_id": "b", "failure_details": [], "latest_execution_id": "newest"}
    return {**shown, **counts, **({"variants": named} if named else {})}


GERMAN, FRENCH = ("LOCALE=de", False, 0, 1), ("LOCALE=fr", True, 1, 0)


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (cell(passed=1, failed=0), ("passed", "1 passed", "newest")),
        (cell(passed=1, failed=1), ("flaky", "1 passed, 1 failed", "newest")),
        (cell(GERMAN, FRENCH, passed=1, failed=1), ("failed", "1 passed, 1 failed (LOCALE=de)", "LOCALE=de")),
        (cell(FRENCH, passed=1, failed=0), ("passed", "1 passed", "LOCALE=fr")),
        (
            cell(("LOCALE=it", False, 1, 1), GERMAN, passed=1, failed=2),
            ("flaky", "1 passed, 2 failed (LOCALE=it; LOCALE=de)", "LOCALE=it"),
        ),
        (cell(("LOCALE=it", None, 0, 0), FRENCH, passed=1, failed=0), ("passed", "1 passed", "LOCALE=it")),
    ],
)
def test_a_cell_is_that_of_its_worst_variant(made: dict[str, Any], shown: tuple[str, str, str]) -> None:
    assert align_cells([made], [{"build_id": "b"}]) == [shown]


def test_a_cell_shows_the_message_of_its_failure_as_it_was_and_no_more_than_a_line() -> None:
    failure = {"reason": "IBAN DE<n> is refused", "sample_message": "\nIBAN DE89 3704 is refused\non the screen: Pay"}
    made = {**cell(passed=0, failed=1), "failure_details": [failure]}
    assert align_cells([made], [{"build_id": "b"}]) == [("failed", "1 failed: IBAN DE89 3704 is refused", "newest")]
    long = {**made, "failure_details": [{"sample_message": "a" * 1000}]}
    [(_, text, _)] = [shown for shown in align_cells([long], [{"build_id": "b"}]) if shown]
    assert (len(text), text[-2:]) == (len("1 failed: ") + TIP_LENGTH, "a…")
