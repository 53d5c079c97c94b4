"""The limit of invalid messages."""

from collections.abc import Sequence

import pytest
from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.dead_letters.limit import DlqLimit, DlqLimitExceeded, DlqLimitState
from services.chassis.events import Headers, InvalidMessage
from tests.fakes.chassis import raw_record

WINDOW = 100


def limit_state() -> DlqLimitState:
    return DlqLimitState(DlqLimit(0.5, WINDOW))


def count(state: DlqLimitState, verdicts: Sequence[bool], *, topic: str = "t", headers: Headers | None = None) -> None:
    """One batch; True is invalid."""
    records: list[ConsumerRecord] = [
        raw_record(topic, n, value=b"", headers=headers or []) for n in range(len(verdicts))
    ]
    state.count(records, {n: InvalidMessage("BAD", "no such thing") for n, bad in enumerate(verdicts) if bad})


def exceeds(state: DlqLimitState, verdicts: Sequence[bool], headers: Headers | None = None) -> bool:
    try:
        count(state, verdicts, headers=headers)
    except DlqLimitExceeded:
        return True
    return False


def test_the_first_messages_never_exceed_the_limit() -> None:
    state = limit_state()
    assert not exceeds(state, [True] * (WINDOW - 1))
    assert not exceeds(state, [False] * WINDOW)
    assert not exceeds(state, [True, False] * WINDOW)


def test_dlq_limit_is_exceeded_by_one_more_than_the_share() -> None:
    state = limit_state()
    count(state, [False] * 10_000)
    count(state, [True] * (WINDOW // 2))
    with pytest.raises(DlqLimitExceeded, match=r"51 of the newest 100 messages of t .*BAD \(no such thing\) at 0/0"):
        count(state, [True])


def test_dlq_limit_allows_half_of_the_messages() -> None:
    state = limit_state()
    assert not any(exceeds(state, [True, False] * 7) for _ in range(50))


def test_each_topic_has_its_own_count() -> None:
    state = limit_state()
    for _ in range(WINDOW - 1):
        count(state, [False] * 1000, topic="busy")
        count(state, [True], topic="quiet")
    with pytest.raises(DlqLimitExceeded, match="of quiet are invalid"):
        count(state, [True], topic="quiet")


def test_replayed_messages_do_not_count() -> None:
    state = limit_state()
    assert not exceeds(state, [True] * WINDOW * 3, headers=[(REPLAYED_FROM, b"t.dlq/0/1")])


def test_a_share_of_one_is_no_limit() -> None:
    assert not exceeds(DlqLimitState(DlqLimit(1.0, WINDOW)), [True] * WINDOW * 3)


def test_the_error_explains_what_to_do() -> None:
    with pytest.raises(DlqLimitExceeded) as caught:
        count(limit_state(), [True] * WINDOW)
    assert "python -m services.chassis.dead_letters list t" in str(caught.value)
    assert "MOBILETEST_INVALID_SHARE=1" in str(caught.value)


def test_a_check_raises_but_counts_nothing() -> None:
    state = limit_state()
    count(state, [False] * WINDOW)
    records = [raw_record("t", n, value=b"", headers=[]) for n in range(WINDOW)]
    too_many = {n: InvalidMessage("BAD") for n in range(WINDOW // 2 + 1)}
    for _ in range(2):
        with pytest.raises(DlqLimitExceeded, match="51 of the newest 100"):
            state.check(records, too_many)
        state.check(records, dict(list(too_many.items())[1:]))
    count(state, [True] * (WINDOW // 2))
