"""Builders and stand-ins for the tests of reporting: histories written as letters."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings

from services.reporting.model.attempts import Attempt, BuildRef, newest_attempts
from services.reporting.model.flaky import DEFAULT_FLAKY_RULES, Assessment, FlakyRules, judge

# For properties: a busy machine is no failure.
NO_DEADLINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])

START = datetime(2026, 1, 1, tzinfo=UTC)


def build_ref(number: int) -> BuildRef:
    """The build `number` (from 1), uploaded an hour after the one before."""
    return BuildRef(START + timedelta(hours=number), f"build-{number:03}", f"1.{number}")


def assess(attempts: Iterable[Attempt], rules: FlakyRules = DEFAULT_FLAKY_RULES) -> Assessment:
    """Judge attempts in any order and with any duplicates."""
    return judge(newest_attempts(attempts, rules.window), rules)


def attempts_from_letters(text: str) -> list[Attempt]:
    """A history as docs/flaky.md writes it.

    Builds stand left to right with "/" between; letters are attempts in time order; "x:" a feature branch;
    "*" the next attempt failed in a storm; "'" the steps were edited before it.
    """
    attempts: list[Attempt] = []
    test_version = 1
    for number, cell in enumerate(text.split("/"), start=1):
        branch, cell = ("feature", cell[2:]) if cell.startswith("x:") else ("main", cell)
        storm = False
        for letter in cell:
            if letter in "*'":
                storm, test_version = letter == "*", test_version + (letter == "'")
                continue
            attempts.append(_attempt(len(attempts), build_ref(number), letter, test_version, branch, storm=storm))
            storm = False
    return attempts


def _attempt(index: int, build: BuildRef, letter: str, version: int, branch: str, *, storm: bool) -> Attempt:
    return Attempt(
        run_id=f"run-{index:03}",
        number=1,
        execution_id="the-storm" if storm else f"execution-{index:03}",
        started_at=START + timedelta(days=1, minutes=index),
        build=build,
        test_version=version,
        passed=letter == "P" and not storm,
        branch=branch,
        storm=storm,
    )
