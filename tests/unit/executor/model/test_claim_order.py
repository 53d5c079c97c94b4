"""The order in which the runs of one execution are claimed."""

from hypothesis import given
from hypothesis import strategies as st

from services.executor.model.claim_order import claim_turns, smoothed_duration

EXPECTED = st.lists(st.none() | st.floats(0, 10_000, allow_nan=False))


def test_the_longest_goes_first_and_an_unknown_one_counts_as_the_median() -> None:
    assert claim_turns([1.0, 60.0, None, 600.0]) == [3, 1, 2, 0]


def test_without_a_past_the_order_of_the_workflow_stays() -> None:
    assert claim_turns([None, None, None]) == [0, 1, 2]
    assert claim_turns([5.0, 5.0]) == [0, 1]
    assert claim_turns([]) == []


@given(EXPECTED)
def test_everybody_has_one_turn(expected: list[float | None]) -> None:
    assert sorted(claim_turns(expected)) == list(range(len(expected)))


@given(EXPECTED)
def test_known_ones_go_by_their_length(expected: list[float | None]) -> None:
    known = [
        (place, seconds) for place, seconds in zip(claim_turns(expected), expected, strict=True) if seconds is not None
    ]
    lengths = [seconds for _, seconds in sorted(known)]
    assert lengths == sorted(lengths, reverse=True)


def test_a_change_of_duration_is_followed() -> None:
    seconds = smoothed_duration(100.0, None)
    for _ in range(12):
        seconds = smoothed_duration(10.0, seconds)
    assert 10 < seconds < 12
