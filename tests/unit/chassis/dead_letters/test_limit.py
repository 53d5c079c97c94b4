"""The limit of invalid messages."""

from collections.abc import Sequence

import pytest
from aiokafka import TopicPartition

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.dead_letters.limit import DlqLimit, DlqLimitState, Outcome
from services.chassis.events import Headers, InvalidMessage
from tests.fakes.chassis import raw_record

WINDOW = 100
PARTITION = TopicPartition("t", 0)


@pytest.fixture
def state() -> DlqLimitState:
    return DlqLimitState(DlqLimit(0.5, WINDOW))


def batch(verdicts: Sequence[bool], *, topic: str = "t", headers: Headers | None = None) -> list[Outcome]:
    """Records of partition 0; True is invalid."""
    error = InvalidMessage("BAD", "no such thing")
    return [
        (raw_record(topic, n, value=b"", headers=headers or []), error if bad else None)
        for n, bad in enumerate(verdicts)
    ]


def exceeds(state: DlqLimitState, verdicts: Sequence[bool], headers: Headers | None = None) -> bool:
    """Whether the batch exceeds the limit; if not, it is counted."""
    outcomes = batch(verdicts, headers=headers)
    if state.over_limit(outcomes):
        return True
    state.count(outcomes)
    return False


def test_the_first_messages_never_exceed_the_limit(state: DlqLimitState) -> None:
    assert not exceeds(state, [True] * (WINDOW - 1))
    assert not exceeds(state, [False] * WINDOW)
    assert not exceeds(state, [True, False] * WINDOW)


def test_dlq_limit_is_exceeded_by_one_more_than_the_share(state: DlqLimitState) -> None:
    state.count_valid(record for record, _ in batch([False] * 10_000))
    assert not exceeds(state, [True] * (WINDOW // 2))
    (why,) = state.over_limit(batch([True])).values()
    assert why.startswith("51 of the newest 100 messages of t/0 are invalid")
    assert "BAD (no such thing) at 0" in why


def test_each_partition_has_its_own_count(state: DlqLimitState) -> None:
    for _ in range(WINDOW - 1):
        state.count(batch([False] * 10, topic="busy"))
        state.count(batch([True], topic="quiet"))
    assert set(state.over_limit(batch([True], topic="busy") + batch([True], topic="quiet"))) == {
        TopicPartition("quiet", 0)
    }


def test_replayed_messages_do_not_count(state: DlqLimitState) -> None:
    assert not exceeds(state, [True] * WINDOW * 3, headers=[(REPLAYED_FROM, b"t.dlq/0/1")])


def test_a_share_of_one_sets_no_limit() -> None:
    assert not exceeds(DlqLimitState(DlqLimit(1.0, WINDOW)), [True] * WINDOW * 3)


def test_the_explanation_says_what_to_do(state: DlqLimitState) -> None:
    why = state.over_limit(batch([True] * WINDOW))[PARTITION]
    assert "python -m services.chassis.dead_letters list t" in why
    assert "MOBILETEST_INVALID_SHARE=1" in why


def test_a_batch_over_the_limit_is_not_counted(state: DlqLimitState) -> None:
    state.count_valid(record for record, _ in batch([False] * WINDOW))
    for _ in range(3):
        assert exceeds(state, [True] * (WINDOW // 2 + 1))
    assert not exceeds(state, [True] * (WINDOW // 2))
