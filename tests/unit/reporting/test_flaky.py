"""flaky_score and classification are those of the definition: its worked examples and its properties."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.flaky import Classification, FlakyRules, assess
from services.reporting.model.history import Attempt, retain
from tests.fakes.reporting import START, UNHURRIED, build_ref, letters

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
    found = assess(letters(text))
    assert (found.score, found.classification) == (score, classification)


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
    assert assess(letters(text)).classification == classification


def test_constants_are_parameters() -> None:
    history = letters("P/P/P/P/F/P/P/P/P/P")
    assert assess(history, FlakyRules(flaky_alone=1)).classification == Classification.FLAKY
    assert assess(history, FlakyRules(window=4)).score == 0.0


def test_a_build_without_a_branch_counts_as_the_newest_builds() -> None:
    history = letters("P/P/P/F/P/P/P")
    unknown = [replace(item, branch=None) if item.build.id == "build-004" else item for item in history]
    assert assess(unknown) == assess(history)


def test_the_first_branch_that_ci_said_is_the_builds() -> None:
    history = letters("P/P/F/P/P")
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


@UNHURRIED
@given(histories())
def test_score_is_at_least_0_and_below_1(history: list[Attempt]) -> None:
    assert 0.0 <= assess(history).score < 1.0


@UNHURRIED
@given(histories(), st.booleans())
def test_score_of_a_constant_history_is_0(history: list[Attempt], verdict: bool) -> None:
    assert assess([replace(item, passed=verdict) for item in history]).score == 0.0


@UNHURRIED
@given(st.integers(2, 20), st.integers(2, 20), st.booleans())
def test_score_of_one_lasting_change_between_builds_is_0(before: int, after: int, passed_before: bool) -> None:
    first, then = ("P", "F") if passed_before else ("F", "P")
    assert assess(letters("/".join([first] * before + [then] * after))).score == 0.0


@UNHURRIED
@given(histories(), st.randoms(use_true_random=False), st.integers(0, 5))
def test_order_of_arrival_and_duplicates_change_nothing(history: list[Attempt], random: Random, repeats: int) -> None:
    shuffled = history + history[:repeats]
    random.shuffle(shuffled)
    assert assess(shuffled) == assess(history)


@UNHURRIED
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


@UNHURRIED
@given(histories(), st.integers(1, 12))
def test_incremental_equals_recomputed(history: list[Attempt], window: int) -> None:
    """Keeping only what `retain` keeps after each arrival gives the assessment of the whole history."""
    rules = FlakyRules(window=window)
    kept: tuple[Attempt, ...] = ()
    for attempt in history:
        kept = retain((*kept, attempt), window)
        assert len(kept) <= 2 * window
    assert assess(kept, rules) == assess(history, rules)


@UNHURRIED
@given(histories(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_storms_that_are_settled_later_give_the_same(history: list[Attempt], window: int, random: Random) -> None:
    """Attempts arrive while their execution is unsettled; what is retained is enough whichever way it turns out."""
    steps: list[Attempt] = list(history)
    random.shuffle(steps)
    kept: tuple[Attempt, ...] = ()
    for attempt in steps:
        kept = retain((*kept, replace(attempt, storm=None)), window)
    for execution in sorted({attempt.execution_id for attempt in history}):
        storm = next(item.storm for item in history if item.execution_id == execution)
        settled = (replace(item, storm=storm) if item.execution_id == execution else item for item in kept)
        kept = retain(settled, window)
    rules = FlakyRules(window=window)
    assert assess(kept, rules) == assess(history, rules)
