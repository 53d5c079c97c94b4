"""An execution in which at least 5 tests ran and at least 80 % of them failed alike is a storm."""

import pytest

from services.reporting.model.storms import DEFAULT_STORM_RULES, is_storm, storm_verdict
from services.reporting.model.tables import EndedRun


def ran(outcomes: str) -> list[EndedRun]:
    """A letter a test: P passed, - no verdict, else it failed with that letter as its fingerprint."""
    return [
        EndedRun("app", f"test-{number}", letter != "-", None if letter in "P-" else letter)
        for number, letter in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("outcomes", "storm"),
    [
        ("aaaaa", True),
        ("aaaa", False),
        ("aaaaP", True),
        ("aaaaPP", False),
        ("aaaabb", False),
        ("aaaab", True),
        ("aaaaPPPPP", False),
        ("a" * 8 + "PP", True),
        ("a" * 28 + "P" * 7, True),
        ("a" * 27 + "P" * 8, False),
        ("aaaaa--", True),
        ("aaaa-", False),
        ("-----", False),
        ("", False),
    ],
)
def test_is_storm(outcomes: str, storm: bool) -> None:
    assert is_storm(ran(outcomes)) is storm


def test_a_test_with_many_runs_counts_once() -> None:
    assert not is_storm([EndedRun("app", "the-test", True, "a")] * 9)


def test_a_storm_is_settled_when_all_runs_have_ended_or_are_too_few() -> None:
    assert storm_verdict(None, 9, ran("aaaaa"), DEFAULT_STORM_RULES) is None
    assert storm_verdict(6, 5, ran("aaaaa"), DEFAULT_STORM_RULES) is None
    assert storm_verdict(5, 5, ran("aaaaa"), DEFAULT_STORM_RULES) is True
    assert storm_verdict(5, 5, ran("aaPPP"), DEFAULT_STORM_RULES) is False
    assert storm_verdict(4, 0, [], DEFAULT_STORM_RULES) is False
