"""flaky_score and classification, as docs/flaky.md defines them, and the counts behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from services.reporting.model.attempts import (
    Attempt,
    BuildRef,
    OrderedAttempts,
    count_trailing,
    lone_failures,
    mixed_groups,
    order_attempts,
    verdict_changes,
)


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


class Classification(StrEnum):
    """The classes of tests; the values are those of the contract."""

    INSUFFICIENT_DATA = "insufficient_data"
    BROKEN = "broken"
    FLAKY = "flaky"
    REGRESSED = "regressed"
    RECOVERED = "recovered"
    STABLE = "stable"


@dataclass(frozen=True, slots=True)
class FlakyRules:
    """The constants of the definition; the defaults are those of its evaluation."""

    window: int = 40
    half_life: float = 30.0
    prior: float = 2.0
    flaky_score: float = 0.075
    flaky_alone: int = 2
    decided: int = 3
    broken_streak: int = 3
    broken_streak_mixed: int = 5
    regressed_passes: int = 3
    recovered_streak: int = 3


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict on one history: score in [0, 1) with 3 decimals, class, and the evidence for the sentence."""

    score: float
    classification: Classification
    evidence: Evidence


DEFAULT_FLAKY_RULES = FlakyRules()


def judge(decided: Sequence[Attempt], rules: FlakyRules = DEFAULT_FLAKY_RULES) -> Assessment:
    """Judge the decided attempts of one test on one app, as `retained_attempts` gives them: oldest first, unique."""
    outside = [attempt for attempt in decided if not attempt.storm]
    everything = order_attempts(decided[-rules.window :])
    calm = order_attempts(outside[-rules.window :]) if len(outside) < len(decided) else everything
    lone = lone_failures(calm)
    score = _score(calm, lone, rules)
    alone = [index for index in lone if _shares_no_code(calm, index)]
    mixed = mixed_groups(calm.attempts)
    looks_flaky = (bool(mixed) or len(alone) >= rules.flaky_alone) and score >= rules.flaky_score
    classification = _classify(everything, rules, looks_flaky=looks_flaky)
    mixed_builds = {build_id for build_id, _ in mixed}
    alone_builds = {calm.attempts[index].build.id for index in alone} - mixed_builds
    evidence = streak_evidence(everything, needed=rules.decided, window=rules.window)
    evidence = replace(evidence, mixed_builds=len(mixed_builds), alone_builds=len(alone_builds))
    return Assessment(score, classification, with_calm_attempts(evidence, calm, everything))


def _score(calm: OrderedAttempts, lone: list[int], rules: FlakyRules) -> float:
    count = len(calm.attempts)
    if count < 2:
        return 0.0
    items, alone = calm.attempts, set(lone)
    flips = pairs = 0.0
    changed = set(verdict_changes(calm))
    for i in range(count - 1):
        if calm.branch(items[i]) != calm.branch(items[i + 1]):
            continue
        weight = 2.0 ** (-(count - 2 - i) / rules.half_life)
        pairs += weight
        if i in changed and (items[i].code == items[i + 1].code or i in alone or i + 1 in alone):
            flips += weight
    return round(flips / (pairs + rules.prior), 3)


def _shares_no_code(calm: OrderedAttempts, index: int) -> bool:
    before, here, after = calm.attempts[index - 1 : index + 2]
    return here.code not in (before.code, after.code)


def _classify(everything: OrderedAttempts, rules: FlakyRules, *, looks_flaky: bool) -> Classification:
    items = everything.attempts
    mixed = bool(mixed_groups(items))
    if len(items) < rules.decided and not mixed:
        return Classification.INSUFFICIENT_DATA
    if _broken(everything, rules, mixed=mixed):
        return Classification.BROKEN
    if looks_flaky:
        return Classification.FLAKY
    if _regressed(everything, rules):
        return Classification.REGRESSED
    if _recovered(everything, rules):
        return Classification.RECOVERED
    return Classification.STABLE


def _broken(everything: OrderedAttempts, rules: FlakyRules, *, mixed: bool) -> bool:
    items = everything.attempts
    streak = count_trailing(items, passed=False)
    if streak < (rules.broken_streak_mixed if mixed else rules.broken_streak) or _passed_on_newest(everything):
        return False
    return streak == len(items) or len({item.build.id for item in items[-streak:]}) >= 2


def _regressed(everything: OrderedAttempts, rules: FlakyRules) -> bool:
    items = everything.attempts
    streak = count_trailing(items, passed=False)
    before = items[: len(items) - streak][-rules.regressed_passes :]
    return bool(streak and before) and all(item.passed for item in before) and not _passed_on_newest(everything)


def _recovered(everything: OrderedAttempts, rules: FlakyRules) -> bool:
    items = everything.attempts
    streak = count_trailing(items, passed=True)
    before = items[: len(items) - streak]
    failures = count_trailing(before, passed=False)
    if streak < rules.recovered_streak or failures < rules.recovered_streak:
        return False
    return everything.branch(before[-1]) == everything.branch(items[-1])


def _passed_on_newest(everything: OrderedAttempts) -> bool:
    newest = everything.newest_build.id
    return any(item.passed and item.build.id == newest for item in everything.attempts)


# That of a test without attempts.
UNKNOWN_ASSESSMENT = judge(())
