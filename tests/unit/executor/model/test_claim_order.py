"""The order in which runs are claimed, within an execution and between organisations."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.model.claim_order import OrgQueue, claim_orders, share_slots, smoothed_duration
from tests.unit.executor.model.builders import later

EXPECTED = st.lists(st.none() | st.floats(0, 10_000, allow_nan=False))


def test_the_longest_run_is_first_and_an_unknown_one_counts_as_the_median() -> None:
    assert claim_orders([1.0, 60.0, None, 600.0]) == [3, 1, 2, 0]


def test_without_durations_the_order_of_the_workflow_stays() -> None:
    assert claim_orders([None, None, None]) == [0, 1, 2]
    assert claim_orders([5.0, 5.0]) == [0, 1]
    assert claim_orders([]) == []


@given(EXPECTED)
def test_every_run_has_one_turn(expected: list[float | None]) -> None:
    assert sorted(claim_orders(expected)) == list(range(len(expected)))


@given(EXPECTED)
def test_known_durations_are_sorted(expected: list[float | None]) -> None:
    known = [
        (place, seconds) for place, seconds in zip(claim_orders(expected), expected, strict=True) if seconds is not None
    ]
    lengths = [seconds for _, seconds in sorted(known)]
    assert lengths == sorted(lengths, reverse=True)


def test_smoothed_durations_follow_changes() -> None:
    seconds = smoothed_duration(100.0, None)
    for _ in range(12):
        seconds = smoothed_duration(10.0, seconds)
    assert 10 < seconds < 12


def queue(org_id: str, *, rank: int = 11, since: datetime | None = None) -> OrgQueue:
    return OrgQueue(rank, org_id, since or later(0))


def organisations(queues: list[OrgQueue]) -> list[str]:
    return [queue.org_id for queue in queues]


A, B, LATE_B, LATE_C = queue("a"), queue("b"), queue("b", since=later(9)), queue("c", since=later(5))


@pytest.mark.parametrize(
    ("queues", "limit", "use", "chosen"),
    [
        ([A], 3, {}, "aaa"),
        # The organisation with the fewest running runs comes first.
        ([A, B, LATE_C], 6, {"running": {"a": 3, "b": 1}}, "cbcbca"),
        # Ties go to the organisation served longest ago, then to the oldest.
        ([A, LATE_B, LATE_C], 3, {"served": {"a": 7}}, "cba"),
        # Fairness between organisations takes precedence over priority.
        ([queue("a", rank=1), LATE_B], 3, {"running": {"a": 1}}, "bab"),
        # No organisation exceeds its remaining slots.
        ([A, queue("a", rank=0), B, queue("c")], 9, {"left": {"a": 2, "b": 0, "c": 1}}, "aca"),
        ([A, B, LATE_C], 9, {"left": {"a": -1, "b": 0, "c": 0}}, ""),
    ],
)
def test_which_organisations_get_free_slots(
    queues: list[OrgQueue], limit: int, use: dict[str, Any], chosen: str
) -> None:
    assert "".join(organisations(share_slots(queues, limit, **use))) == chosen


def test_priority_decides_within_an_organisation() -> None:
    queues = [queue("a"), queue("a", rank=1, since=later(9)), queue("b")]
    assert [(q.org_id, q.rank) for q in share_slots(queues, 3)] == [("b", 11), ("a", 1), ("b", 11)]


@given(
    running=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 20), min_size=1),
    limit=st.integers(0, 40),
)
def test_freed_slots_even_out_organisations(running: dict[str, int], limit: int) -> None:
    """No organisation gets a slot while another one that waits has two fewer."""
    chosen = organisations(share_slots([queue(org_id) for org_id in running], limit, running=running))
    assert len(chosen) == limit
    now = dict(running)
    for org_id in chosen:
        assert now[org_id] == min(now.values())
        now[org_id] += 1
