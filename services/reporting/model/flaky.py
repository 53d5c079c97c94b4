"""flaky_score and classification, as docs/flaky.md defines them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from services.reporting.model.attempts import (
    Attempt,
    OrderedAttempts,
    count_trailing,
    lone_failures,
    mixed_groups,
    order_attempts,
    verdict_changes,
)
from services.reporting.model.evidence import Evidence, streak_evidence, with_calm_attempts


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
