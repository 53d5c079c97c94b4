"""How a worker reacts to others that claim the same runs."""

from services.executor.storage.claim_contention import CALM_CLAIMS, MAX_LOOKAHEAD, ClaimContention


def test_the_order_is_exact_without_contention() -> None:
    contention = ClaimContention()
    for _ in range(3):
        contention.record_win()
    assert contention.lookahead == 0
    assert contention.pick([1, 2], 2) == [1, 2]


def test_losses_increase_the_lookahead_up_to_a_limit() -> None:
    contention = ClaimContention()
    seen = []
    for _ in range(7):
        contention.record_loss()
        seen.append(contention.lookahead)
    assert seen == [1, 3, 7, 15, MAX_LOOKAHEAD, MAX_LOOKAHEAD, MAX_LOOKAHEAD]


def test_the_lookahead_shrinks_without_contention() -> None:
    contention = ClaimContention()
    contention.record_loss()
    contention.record_loss()
    for _ in range(3 * CALM_CLAIMS):
        contention.record_win()
    assert contention.lookahead == 0


def test_picked_candidates_are_in_order_and_distinct() -> None:
    for _ in range(50):
        chosen = ClaimContention().pick(range(10), 4)
        assert len(chosen) == 4
        assert chosen == sorted(set(chosen))
