"""Each classification is explained by a sentence that carries the counts behind its rule."""

import pytest

from services.reporting.model.flaky import assess
from services.reporting.model.sentence import sentence
from tests.fakes.reporting import build_ref, letters

VERSIONS = {build_ref(number).id: build_ref(number).version for number in range(1, 60)}

SENTENCES = [
    ("", "0 decided attempts of the 3 needed."),
    ("P", "1 decided attempt of the 3 needed."),
    ("F/F/F", "Failed 3 times in a row since build 1.1 (2026-01-02 00:00 UTC); never passed."),
    ("P/P/F/F/F", "Failed 3 times in a row since build 1.3 (2026-01-02 00:02 UTC); last passed on build 1.2."),
    (
        "/".join(["F"] * 41),
        "Failed 40 times in a row since build 1.2 (2026-01-02 00:01 UTC); no pass in the newest 40 attempts.",
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
    ("P/P/P/F/P/P", "Passed 5 of 6 attempts over 6 builds."),
    ("P/P*P/*P/P", "Passed 3 of 3 attempts over 3 builds; 2 attempts of an infrastructure storm left out."),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentence(text: str, expected: str) -> None:
    assert sentence(assess(letters(text)), VERSIONS) == expected


def test_a_renamed_build_has_its_present_name() -> None:
    assert sentence(assess(letters("P/P/F")), {}).startswith("Build 1.3 broke")
    assert sentence(assess(letters("P/P/F")), {build_ref(3).id: "2.0"}).startswith("Build 2.0 broke")
