from dataclasses import replace

import pytest

from mobiletest_automation.screen.elements import Role
from mobiletest_automation.screen.identity import ElementIdentity
from mobiletest_automation.stored_screens.binding_alarm import changed_binding

PAY = ElementIdentity(role=Role.BUTTON, text="Pay", id="pay", path="button[0]")
LATER = ElementIdentity(role=Role.BUTTON, text="Pay later", id="pay_later", path="button[1]")
# Rows have no ids of their own.
ROWS = [ElementIdentity(role=Role.CELL, text=name, path=f"cell[{place}]") for place, name in enumerate("abcdefgh")]
REMOVE = ElementIdentity(role=Role.BUTTON, text="Remove", ancestors=("cart",))


def test_another_element_than_in_the_last_passes_is_told() -> None:
    assert changed_binding([PAY] * 12, LATER) == (
        'the step bound button "Pay later" (id pay_later); in its last 12 passes it bound button "Pay" (id pay)'
    )


@pytest.mark.parametrize(
    "now",
    [
        replace(PAY, text="Pay $12", path="list[0]/button[3]", ancestors=("footer",)),
        replace(PAY, text="Buy now"),
        replace(PAY, role=Role.LINK),
        replace(PAY, id=""),
    ],
)
def test_the_same_element_with_another_text_or_place_is_no_change(now: ElementIdentity) -> None:
    assert changed_binding([PAY] * 12, now) == ""


def test_counters_and_prices_are_no_change() -> None:
    price = ElementIdentity(role=Role.BUTTON, text="Pay $12")
    assert changed_binding([price] * 12, replace(price, text="Pay $13")) == ""


def test_a_step_that_binds_now_this_and_now_that_gives_no_alarm() -> None:
    assert changed_binding(ROWS[:7], ROWS[7]) == ""
    assert changed_binding([PAY, PAY, PAY, LATER, PAY, PAY], ROWS[0]) == ""


def test_an_element_that_was_bound_in_one_of_the_last_passes_gives_no_alarm() -> None:
    assert changed_binding([PAY] * 5 + [LATER] * 5, LATER) == ""


def test_after_a_lasting_change_the_next_one_is_told() -> None:
    assert 'in its last 5 passes it bound button "Pay later"' in changed_binding([LATER] * 5 + [PAY] * 9, ROWS[0])


def test_passes_that_are_too_few_or_too_long_ago_say_nothing() -> None:
    assert changed_binding([], PAY) == ""
    assert changed_binding([PAY] * 2, LATER) == ""
    assert "in its last 20 passes" in changed_binding([PAY] * 20 + [LATER], LATER)


def test_another_element_of_the_same_name_is_told_apart() -> None:
    assert changed_binding([REMOVE] * 3, replace(REMOVE, ancestors=("wishlist",))) == (
        'the step bound another button "Remove" in wishlist; in its last 3 passes it bound button "Remove"'
    )
