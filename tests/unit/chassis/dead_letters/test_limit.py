"""When too much is invalid."""

from collections.abc import Sequence

import pytest
from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.dead_letters.limit import DlqLimit, DlqLimitExceeded, DlqLimitState
from services.chassis.events import Headers, InvalidMessage
from tests.fakes.chassis import raw_record

WINDOW = 100


def share() -> DlqLimitState:
    return DlqLimitState(DlqLimit(0.5, WINDOW))


def count(share: DlqLimitState, verdicts: Sequence[bool], *, topic: str = "t", headers: Headers | None = None) -> None:
    """One batch; True is invalid."""
    records: list[ConsumerRecord] = [
        raw_record(topic, n, value=b"", headers=headers or []) for n in range(len(verdicts))
    ]
    share.count(records, {n: InvalidMessage("BAD", "no such thing") for n, bad in enumerate(verdicts) if bad})


def test_invalid_ones_at_the_start_stop_nobody() -> None:
    watched = share()
    count(watched, [True] * (WINDOW - 1))
    count(watched, [False] * WINDOW)
    count(watched, [True, False] * WINDOW)


def test_more_than_the_share_of_the_newest_is_too_much() -> None:
    watched = share()
    count(watched, [False] * 10_000)
    count(watched, [True] * (WINDOW // 2))
    with pytest.raises(DlqLimitExceeded, match=r"51 of the newest 100 messages of t .*BAD \(no such thing\) at 0/0"):
        count(watched, [True])


def test_half_of_all_is_borne_for_ever() -> None:
    watched = share()
    for _ in range(50):
        count(watched, [True, False] * 7)


def test_a_busy_topic_does_not_hide_a_quiet_one() -> None:
    watched = share()
    for _ in range(WINDOW - 1):
        count(watched, [False] * 1000, topic="busy")
        count(watched, [True], topic="quiet")
    with pytest.raises(DlqLimitExceeded, match="of quiet are invalid"):
        count(watched, [True], topic="quiet")


def test_what_was_replayed_does_not_count() -> None:
    watched = share()
    count(watched, [True] * WINDOW * 3, headers=[(REPLAYED_FROM, b"t.dlq/0/1")])


def test_a_share_of_one_never_stops() -> None:
    count(DlqLimitState(DlqLimit(1.0, WINDOW)), [True] * WINDOW * 3)


def test_the_error_says_what_to_do() -> None:
    with pytest.raises(DlqLimitExceeded) as caught:
        count(share(), [True] * WINDOW)
    assert "python -m services.chassis.dead_letters list t" in str(caught.value)
    assert "MOBILETEST_INVALID_SHARE=1" in str(caught.value)


def test_a_check_tells_of_too_many_and_counts_nothing() -> None:
    watched = share()
    count(watched, [False] * WINDOW)
    records = [raw_record("t", n, value=b"", headers=[]) for n in range(WINDOW)]
    too_many = {n: InvalidMessage("BAD") for n in range(WINDOW // 2 + 1)}
    for _ in range(2):
        with pytest.raises(DlqLimitExceeded, match="51 of the newest 100"):
            watched.check(records, too_many)
        watched.check(records, dict(list(too_many.items())[1:]))
    count(watched, [True] * (WINDOW // 2))
