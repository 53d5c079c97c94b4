"""Each classification is explained by a sentence that carries the counts behind its rule."""

import re
from dataclasses import replace

import pytest
from hypothesis import given

from services.reporting.model.attempts import Attempt
from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.flaky import Classification
from tests.fakes.reporting_attempts import NO_DEADLINE, assess, attempts_from_letters, build_ref
from tests.unit.reporting.test_flaky import histories

VERSIONS = {build_ref(number).id: build_ref(number).version for number in range(1, 60)}

SENTENCES = [
    ("", "0 attempts with a verdict so far, of the 3 needed."),
    ("P", "1 attempt with a verdict so far, of the 3 needed."),
    ("F/F/F", "Failed 3 times in a row since build 1.1 (2026-01-02 00:00 UTC); never passed."),
    ("P/P/F/F/F", "Failed 3 times in a row since build 1.3 (2026-01-02 00:02 UTC); last passed on build 1.2."),
    (
        "/".join(["F"] * 41),
        "Failed 40 times in a row since build 1.2 (2026-01-02 00:01 UTC) or before; no pass in the newest 40 attempts.",
    ),
    ("P/P/P/FP/P/P/P/P/P/P", "Passed and failed on the same code in 1 of 10 builds, in 11 attempts."),
    ("P/P/F/P/P/P/P/F/P/P", "Failed alone on 2 of 10 builds between passing builds, in 10 attempts."),
    (
        "PF/P/P/F/P/P*P/P",
        "Passed and failed on the same code in 1 of 7 builds, and failed alone on 1 more between passing builds, "
        "in 8 attempts; 1 attempt of an infrastructure storm left out.",
    ),
    ("P/P/P/P/FF", "Build 1.5 broke a run of 4 passes: failed 2 times since 2026-01-02 00:04 UTC."),
    ("P/P/F", "Build 1.3 broke a run of 2 passes: failed once since 2026-01-02 00:02 UTC."),
    (
        "P/F/F/F/P/P/P",
        "Passed 3 times in a row since the fix on build 1.5 (2026-01-02 00:04 UTC), after 3 failures in a row.",
    ),
    ("P/P/P/F/P/P", "Passed 5 of 6 attempts over 6 builds; the failure was on build 1.4."),
    ("P/FF/P/P", "Passed 3 of 5 attempts over 4 builds; both failures were on build 1.2."),
    ("F/F/P/P/P", "Passed 3 of 5 attempts over 5 builds; last failed on build 1.2."),
    ("P/P*P/*P/P", "Passed 3 of 3 attempts over 3 builds; 2 attempts of an infrastructure storm left out."),
    ("PFPFPF", "Passed and failed on the same code in 1 of 1 build, in 6 attempts."),
    ("/".join(["P"] * 39 + ["FP"]), "Passed 39 of 40 attempts over 39 builds; the failure was on build 1.40."),
    (
        "/".join(["P"] * 50 + ["F"]),
        "Build 1.51 broke a run of at least 39 passes: failed once since 2026-01-02 00:50 UTC.",
    ),
    (
        "/".join(["F"] * 38 + ["P"] * 3),
        "Passed 3 times in a row since the fix on build 1.39 (2026-01-02 00:38 UTC), "
        "after at least 37 failures in a row.",
    ),
    ("P/P/x:FF/P/P", "Passed 4 of 6 attempts over 5 builds; both failures were on another branch."),
    ("P/x:F/P/P", "Passed 3 of 4 attempts over 4 builds; the failure was on another branch."),
    ("P/P/P/P/FF'PPP", "Passed 7 of 9 attempts over 5 builds; both failures were before its steps were edited."),
    (
        "P/P/F/F*P*P/F",
        "Failed 5 times in a row since build 1.3 (2026-01-02 00:02 UTC), 2 of them in an infrastructure storm; "
        "last passed on build 1.2.",
    ),
    (
        "*P*P*P/*P",
        "Failed 4 times in a row since build 1.1 (2026-01-02 00:00 UTC), all in an infrastructure storm; never passed.",
    ),
    (
        "P/P/P/*P",
        "Build 1.4 broke a run of 3 passes: failed once since 2026-01-02 00:03 UTC, in an infrastructure storm.",
    ),
    (
        "P/P/P/*P*P*P/P/P/P",
        "Passed 3 times in a row since build 1.5 (2026-01-02 00:06 UTC), after 3 failures in a row, "
        "all in an infrastructure storm.",
    ),
    (
        "P/P/F/F*P/P/P/P",
        "Passed 3 times in a row since the fix on build 1.5 (2026-01-02 00:05 UTC), after 3 failures in a row, "
        "1 of them in an infrastructure storm.",
    ),
    ("P/*P", "2 attempts with a verdict so far, of the 3 needed."),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentence(text: str, expected: str) -> None:
    assert classification_detail(assess(attempts_from_letters(text)), VERSIONS) == expected


def test_a_renamed_build_has_its_current_version() -> None:
    assert classification_detail(assess(attempts_from_letters("P/P/F")), {}).startswith("Build 1.3 broke")
    assert classification_detail(assess(attempts_from_letters("P/P/F")), {build_ref(3).id: "2.0"}).startswith(
        "Build 2.0 broke"
    )


def test_two_storms_are_counted() -> None:
    history = attempts_from_letters("P/P*P/P*P/P")
    second = [replace(item, execution_id="other") if item.build.id == "build-003" else item for item in history]
    assert classification_detail(assess(second), VERSIONS) == (
        "Passed 4 of 4 attempts over 4 builds; 2 attempts of 2 infrastructure storms left out."
    )


def test_a_failure_between_two_edits_of_the_test_is_not_a_lone_failure() -> None:
    """P, edited, F, edited back to what passed: such a build cannot stand between itself."""
    history = attempts_from_letters("P/P/FP'F'P/P/P/F/P")
    assert "1 of 7 builds, and failed alone on 1 more" in classification_detail(assess(history), VERSIONS)


def test_a_build_without_a_name_is_not_named() -> None:
    nameless = [replace(item, build=replace(item.build, version="")) for item in attempts_from_letters("P/P/F")]
    assert classification_detail(assess(nameless), {}).startswith("An unknown build broke a run of 2 passes")


@NO_DEADLINE
@given(histories())
def test_every_sentence_is_well_formed_and_its_counts_are_consistent(history: list[Attempt]) -> None:
    said = classification_detail(assess(history), VERSIONS)
    assert said[0].isupper() or said[0].isdigit()
    assert said.endswith(".")
    assert ". " not in said
    assert "  " not in said
    assert not re.search(r"\b1 (attempts|builds|failures|passes|times)\b|\b0 (?!attempts|of)|None", said)
    assert not re.search(r"\b(?!1\b)\d+ (attempt|build|failure|pass|time)\b", said)
    for part, whole in re.findall(r"(\d+) of (\d+) (?:attempts|builds)", said):
        assert int(part) <= int(whole)


@NO_DEADLINE
@given(histories())
def test_the_counts_are_those_of_the_history(history: list[Attempt]) -> None:
    assessment = assess(history)
    evidence, calm = assessment.evidence, [item for item in history if not item.storm]
    if assessment.classification is Classification.STABLE and calm:
        newest = sorted(calm, key=lambda item: item.recency)[-40:]
        assert (evidence.passed, evidence.attempts) == (sum(item.passed for item in newest), len(newest))
        assert evidence.builds == len({item.build.id for item in newest})
    if assessment.classification is Classification.FLAKY:
        assert evidence.mixed_builds + evidence.alone_builds <= evidence.builds
        assert evidence.mixed_builds or evidence.alone_builds
    if assessment.classification in (Classification.BROKEN, Classification.REGRESSED):
        assert 0 < evidence.streak <= sum(not item.passed for item in history)
    if assessment.classification is Classification.RECOVERED:
        assert evidence.streak >= 3 <= evidence.before
    assert evidence.failed_in_storms <= sum(bool(item.storm) and not item.passed for item in history)
