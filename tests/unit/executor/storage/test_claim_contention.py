"""What a worker does about others that claim the same runs."""

from services.executor.storage.claim_contention import CALM, FURTHEST, ClaimContention


def test_the_order_is_kept_while_nobody_is_in_the_way() -> None:
    crowding = ClaimContention()
    for _ in range(3):
        crowding.won()
    assert crowding.ahead == 0
    assert crowding.some([1, 2], 2) == [1, 2]


def test_losses_make_it_look_further_up_to_a_bound() -> None:
    crowding = ClaimContention()
    seen = []
    for _ in range(7):
        crowding.lost()
        seen.append(crowding.ahead)
    assert seen == [1, 3, 7, 15, FURTHEST, FURTHEST, FURTHEST]


def test_it_comes_back_to_the_order_when_it_is_calm_again() -> None:
    crowding = ClaimContention()
    crowding.lost()
    crowding.lost()
    for _ in range(3 * CALM):
        crowding.won()
    assert crowding.ahead == 0


def test_what_it_chooses_stays_in_order_and_has_no_repeats() -> None:
    for _ in range(50):
        chosen = ClaimContention().some(range(10), 4)
        assert len(chosen) == 4
        assert chosen == sorted(set(chosen))
