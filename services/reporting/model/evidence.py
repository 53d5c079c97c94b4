"""The counts behind a classification."""

from dataclasses import dataclass, replace
from datetime import datetime

from services.reporting.model.attempts import BuildRef, OrderedAttempts, count_trailing


@dataclass(frozen=True, slots=True)
class Evidence:
    """The counts behind a classification: what the sentence says.

    attempts/passed/builds count the calm attempts of the window (all of them if none is calm), mixed_builds and
    alone_builds the builds of the flaky evidence (none is both), storm_attempts and storms what the calm ones leave
    out. failed_builds counts the builds that they failed on, the last of which is last_failed_build. elsewhere is the
    number of their failures if all are on other branches than the newest build's, and outdated if all are of older
    steps than those that ran last.

    decided, streak, before and since_* count the whole window: streak the equal verdicts that it ends with, before the
    opposite ones preceding these; cut says that there may have been more of them before the window. failed_in_storms
    and failing_storms count the failures among streak and before.
    """

    decided: int = 0
    needed: int = 0
    attempts: int = 0
    passed: int = 0
    builds: int = 0
    mixed_builds: int = 0
    alone_builds: int = 0
    failed_builds: int = 0
    elsewhere: int = 0
    outdated: int = 0
    storm_attempts: int = 0
    storms: int = 0
    streak: int = 0
    before: int = 0
    cut: bool = False
    failed_in_storms: int = 0
    failing_storms: int = 0
    since_build: BuildRef | None = None
    since_at: datetime | None = None
    last_passed_build: BuildRef | None = None
    last_failed_build: BuildRef | None = None

    @property
    def named_builds(self) -> set[str]:
        """Ids of the builds that a sentence may name."""
        named = (self.since_build, self.last_passed_build, self.last_failed_build)
        return {build.id for build in named if build and build.id}


def streak_evidence(everything: OrderedAttempts, *, needed: int, window: int) -> Evidence:
    """The counts of the verdicts that the window ends with."""
    items = everything.attempts
    if not items:
        return Evidence(needed=needed)
    streak = count_trailing(items, passed=items[-1].passed)
    before = count_trailing(items[:-streak], passed=not items[-1].passed)
    stormy = [item for item in items[len(items) - streak - before :] if item.storm and not item.passed]
    passes = [item for item in items[:-streak] if item.passed]
    return Evidence(
        decided=len(items),
        needed=needed,
        streak=streak,
        before=before,
        cut=streak + before == len(items) >= window,
        failed_in_storms=len(stormy),
        failing_storms=len({item.execution_id for item in stormy}),
        since_build=items[-streak].build,
        since_at=items[-streak].started_at,
        last_passed_build=passes[-1].build if passes else None,
    )


def with_calm_attempts(evidence: Evidence, calm: OrderedAttempts, everything: OrderedAttempts) -> Evidence:
    """The evidence with the counts of the attempts that the score is computed from, and of those that it leaves out."""
    basis = calm if calm.attempts else everything
    items = basis.attempts
    failures = [item for item in items if not item.passed]
    left_out = [item.execution_id for item in everything.attempts if item.storm] if basis is calm else []
    elsewhere = all(basis.branch(item) != basis.branch(items[-1]) for item in failures)
    outdated = all(item.test_version < items[-1].test_version for item in failures)
    return replace(
        evidence,
        attempts=len(items),
        passed=len(items) - len(failures),
        builds=len({item.build.id for item in items}),
        failed_builds=len({item.build.id for item in failures}),
        elsewhere=len(failures) if elsewhere else 0,
        outdated=len(failures) if outdated else 0,
        storm_attempts=len(left_out),
        storms=len(set(left_out)),
        last_failed_build=failures[-1].build if failures else None,
    )
