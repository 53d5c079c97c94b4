"""Infrastructure storms: executions in which nearly everything failed in the same way."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from services.reporting.model.tables import EndedRun


@dataclass(frozen=True, slots=True)
class StormRules:
    """A storm has at least `tests` tests with a verdict, of which `percent` failed with one fingerprint."""

    tests: int = 5
    percent: int = 80


DEFAULT_RULES = StormRules()


def is_storm(tested: Iterable[EndedRun], rules: StormRules = DEFAULT_RULES) -> bool:
    """Whether the finished execution with these verdicts was a storm; a test counts once however many runs it had."""
    tests: set[str] = set()
    failed: set[tuple[str, str]] = set()
    for run in tested:
        if not run.verdict:
            continue
        tests.add(run.test_id)
        if run.fingerprint is not None:
            failed.add((run.fingerprint, run.test_id))
    together = Counter(fingerprint for fingerprint, _ in failed)
    most = max(together.values(), default=0)
    return len(tests) >= rules.tests and 100 * most >= rules.percent * len(tests)


def settled(total: int | None, finished: int, tested: Iterable[EndedRun], rules: StormRules) -> bool | None:
    """Whether it is a storm; None while that is open. With too few runs to be one it is none from the start."""
    if total is None:
        return None
    if total < rules.tests:
        return False
    return is_storm(tested, rules) if finished >= total else None
