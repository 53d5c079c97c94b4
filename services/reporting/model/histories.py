"""Folds finished runs into the histories of their tests."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from services.reporting.model.attempts import Attempt, BuildRef, retained_attempts
from services.reporting.model.flaky import FlakyRules, judge
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.tables import EPOCH, History

NO_BUILD = BuildRef(EPOCH, "")


def decided_attempts(run: RunSnapshot, *, storm: bool | None) -> list[Attempt]:
    """The decided attempts of a finished run."""
    return [
        Attempt(
            run_id=run.run_id,
            number=attempt.number,
            execution_id=run.execution_id,
            started_at=attempt.started_at,
            build=run.build or NO_BUILD,
            test_version=run.test_version,
            passed=attempt.passed,
            branch=run.branch,
            storm=storm,
        )
        for attempt in run.attempts
        if attempt.passed is not None
    ]


def extend_history(
    history: History, runs: Iterable[tuple[RunSnapshot, bool | None]], storms: Mapping[str, bool], rules: FlakyRules
) -> History:
    """The history with these finished runs, each with its storm if settled, and with newly settled executions."""
    attempts = [_settled(attempt, storms) for attempt in history.attempts] if storms else list(history.attempts)
    observed = history.observed
    for run, storm in runs:
        attempts.extend(decided_attempts(run, storm=storm))
        if run.build is not None and run.outcome is not None and run.outcome.verdict:
            observed = newer_build(observed, run.build)
    kept = retained_attempts(attempts, rules.window)
    return replace(history, attempts=kept, observed=observed, assessment=judge(kept, rules))


def newer_build(one: BuildRef | None, other: BuildRef) -> BuildRef:
    """The newer of two builds; of one build with two versions, the same one in either order."""
    return other if one is None or (*other.key, other.version) > (*one.key, one.version) else one


def _settled(attempt: Attempt, storms: Mapping[str, bool]) -> Attempt:
    storm = storms.get(attempt.execution_id)
    return attempt if storm is None else replace(attempt, storm=storm)
