"""flaky_score and classification are those of the definition: its worked examples and its properties."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.attempts import MAX_WINDOWS, Attempt, retained_attempts
from services.reporting.model.flaky import Classification, FlakyRules
from tests.fakes.reporting_attempts import NO_DEADLINE, START, assess, attempts_from_letters, build_ref

DOCS = Path(__file__).resolve().parents[3] / "docs"
WORKED_EXAMPLES = [
    ("P/P/P/P/P/P/P/P/P/P", 0.000, "stable"),
    ("F/F/F/F/F/F/F/F/F/F", 0.000, "broken"),
    ("P/P/P/P/P/P/P/F/F/F", 0.000, "broken"),
    ("P/P/P/F/F/F/P/P/P/P", 0.000, "recovered"),
    ("P/P/P/P/F/P/P/P/P/P", 0.176, "stable"),
    ("P/P/F/P/P/P/P/F/P/P", 0.357, "flaky"),
    ("P/F/P/F/P/F/P/F/P/F", 0.706, "flaky"),
    ("P/P/P/FP/P/P/P/P/P/P", 0.156, "flaky"),
    ("/".join(["P"] * 39 + ["FP"]), 0.071, "stable"),
    ("P/P/P/P/P/P/P/P/P/FF", 0.000, "regressed"),
    ("PFPFPF", 0.705, "flaky"),
    ("P/P/x:FF/P/x:FF/P/P/x:FF/P/P", 0.000, "stable"),
    ("P/P/P/P/P*P/*P/P/P/P/P", 0.000, "stable"),
    ("P/P/P/P/FF'PPP", 0.000, "stable"),
]


@pytest.mark.parametrize(("text", "score", "classification"), WORKED_EXAMPLES)
def test_worked_examples(text: str, score: float, classification: str) -> None:
    assessment = assess(attempts_from_letters(text))
    assert (assessment.score, assessment.classification) == (score, classification)


@pytest.mark.parametrize(
    ("text", "classification"),
    [
        ("", "insufficient_data"),
        ("P", "insufficient_data"),
        ("F/F", "insufficient_data"),
        ("PF", "flaky"),
        ("P/P/P", "stable"),
        ("P/P/FFF", "regressed"),
        ("PPFFF", "flaky"),
        ("PP/FFF", "regressed"),
        ("PP/FF/F", "broken"),
        ("PF/PPPPPPPP/FF/FF", "flaky"),
        ("PF/PPPPPPPP/FF/FFF", "broken"),
        ("FFF/PPP", "recovered"),
        ("FFF/PP", "stable"),
        ("FF/PPP", "stable"),
        ("P/x:F/P/x:F/x:F/P/P/P", "stable"),
    ],
)
def test_each_rule_at_its_edge(text: str, classification: str) -> None:
    assert assess(attempts_from_letters(text)).classification == classification


def test_constants_are_parameters() -> None:
    history = attempts_from_letters("P/P/P/P/F/P/P/P/P/P")
    assert assess(history, FlakyRules(flaky_alone=1)).classification == Classification.FLAKY
    assert assess(history, FlakyRules(window=4)).score == 0.0


def test_a_build_without_a_branch_counts_as_the_newest_builds() -> None:
    history = attempts_from_letters("P/P/P/F/P/P/P")
    unknown = [replace(item, branch=None) if item.build.id == "build-004" else item for item in history]
    assert assess(unknown) == assess(history)


def test_a_build_has_the_first_branch_that_ci_named() -> None:
    history = attempts_from_letters("P/P/F/P/P")
    again = replace(
        history[-1], run_id="again", started_at=history[-1].started_at + timedelta(minutes=1), branch="other"
    )
    same = replace(again, branch="main")
    assert assess([*history, again]) == assess([*history, same])


@st.composite
def histories(draw: st.DrawFn, max_size: int = 60) -> list[Attempt]:
    """Any history: builds, branches, versions, storms and starts in any mixture."""
    count = draw(st.integers(0, max_size))
    storms = draw(st.sets(st.integers(0, 9), max_size=3))
    return [_drawn(draw, index, storms) for index in range(count)]


def _drawn(draw: st.DrawFn, index: int, storms: set[int]) -> Attempt:
    number, execution = draw(st.integers(1, 8)), draw(st.integers(0, 9))
    return Attempt(
        run_id=f"run-{index:03}",
        number=draw(st.integers(1, 3)),
        execution_id=f"execution-{execution}",
        started_at=START + timedelta(minutes=draw(st.integers(0, 500))),
        build=build_ref(number),
        test_version=draw(st.integers(1, 2)),
        passed=draw(st.booleans()),
        branch=draw(st.sampled_from(["main", "feature", None])),
        storm=execution in storms,
    )


@NO_DEADLINE
@given(histories(), st.randoms(use_true_random=False), st.integers(0, 5))
def test_order_of_arrival_and_duplicates_change_nothing(history: list[Attempt], random: Random, repeats: int) -> None:
    shuffled = history + history[:repeats]
    random.shuffle(shuffled)
    assert assess(shuffled) == assess(history)


@NO_DEADLINE
@given(histories(), st.lists(st.tuples(st.booleans(), st.integers(1, 8)), max_size=10))
def test_attempts_older_than_the_window_change_nothing(history: list[Attempt], older: list[tuple[bool, int]]) -> None:
    rules = FlakyRules(window=10)
    if sum(not item.storm for item in history) < rules.window:
        return
    ancient = [
        Attempt(f"old-{i}", 1, f"old-{i}", START - timedelta(days=1), build_ref(number), 1, passed, "old", storm=False)
        for i, (passed, number) in enumerate(older)
    ]
    assert assess(history + ancient, rules) == assess(history, rules)


@NO_DEADLINE
@given(histories(), st.integers(1, 12), st.randoms(use_true_random=False), st.sets(st.integers(0, 9)))
def test_the_order_in_which_storms_are_settled_changes_nothing(
    history: list[Attempt], window: int, random: Random, never: set[int]
) -> None:
    """Attempts arrive and executions settle in any order, some never; what is kept is what a recount keeps."""
    storms: dict[str, bool | None] = {item.execution_id: item.storm for item in history}
    storms |= {f"execution-{number}": None for number in never}
    told: list[Attempt | str] = [*history, *storms]
    random.shuffle(told)
    known: dict[str, bool | None] = {}
    kept: tuple[Attempt, ...] = ()
    for fact in told:
        if isinstance(fact, str):
            known[fact] = storms[fact]
            kept = retained_attempts([replace(item, storm=known.get(item.execution_id)) for item in kept], window)
        else:
            kept = retained_attempts((*kept, replace(fact, storm=known.get(fact.execution_id))), window)
        assert len(kept) <= MAX_WINDOWS * window
    whole = [replace(item, storm=storms[item.execution_id]) for item in history]
    assert kept == retained_attempts(whole, window)
    assert assess(kept, FlakyRules(window=window)) == assess(whole, FlakyRules(window=window))


def test_a_history_is_bounded_when_no_execution_is_ever_settled() -> None:
    unsettled = [replace(item, storm=None) for item in attempts_from_letters("/".join("PF" * 500))]
    assert len(retained_attempts(unsettled, 40)) == MAX_WINDOWS * 40
    assert assess(unsettled) == assess(retained_attempts(unsettled, 40)) == assess(unsettled[-40:])


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("flaky.md", r"at most (\d+) attempts per test and app"),
        ("decisions/bounded-test-histories.md", r"keeps the newest (\d+) decided attempts"),
    ],
)
def test_the_documented_bound_of_a_history_is_the_one_in_the_code(page: str, sentence: str) -> None:
    bounds = re.findall(sentence, " ".join((DOCS / page).read_text(encoding="utf-8").split()))
    assert [int(number) for number in bounds] == [MAX_WINDOWS * FlakyRules().window]


def test_a_settled_history_without_storms_keeps_one_window() -> None:
    assert len(retained_attempts(attempts_from_letters("/".join("P" * 100)), 40)) == 40


def test_attempts_before_storms_count_within_the_maximum_of_windows() -> None:
    """What happened outside of storms still counts while the storms are fewer than the windows considered."""
    calm = attempts_from_letters("/".join(["P"] * 3 + ["FP"] * 3))
    stormy = [
        replace(item, storm=True, run_id=f"storm-{place}", started_at=item.started_at + timedelta(days=1), passed=False)
        for place, item in enumerate(attempts_from_letters("/".join(["P"] * 6 + ["P" * 190])))
    ]
    assert assess([*calm, *stormy[:160]]).score == assess(calm).score > 0
    assert len(stormy) == 196
    assert assess([*calm, *stormy]).score != assess(calm).score
