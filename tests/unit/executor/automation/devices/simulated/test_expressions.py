"""Conditions and templates of app models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.automation.devices.simulated.expressions import ExpressionError, Template, Value, parse_condition

STATE: dict[str, Value] = {"email": "ada@example.com", "empty": "", "cart": 2, "price": 1.5, "signed_in": True}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("signed_in", True),
        ("not signed_in", False),
        ("not not signed_in", True),
        ("cart == 2", True),
        ("cart != 2", False),
        ("cart > 1 and cart < 3", True),
        ("cart >= 3 or price <= 1.5", True),
        ('email == "ada@example.com" and not (cart == 0)', True),
        ("email == 'ada@example.com'", True),
        ('empty != ""', False),
        ("empty", False),
        ('email contains "EXAMPLE"', True),
        ('"Blue mug" contains empty', True),
        ("cart contains 2", True),
        ("true", True),
        ("false or false", False),
        ("email > 1", False),
        ("signed_in == true", True),
        ("cart == -2", False),
        ("not cart == 0 and signed_in", True),
    ],
)
def test_conditions_hold_or_not(source: str, expected: bool) -> None:
    assert parse_condition(source).holds(STATE) is expected


def test_a_condition_names_its_variables() -> None:
    assert parse_condition("cart > 1 and (email == '' or not signed_in)").names == {"cart", "email", "signed_in"}


@pytest.mark.parametrize(
    ("source", "position", "message"),
    [
        ("", 0, "expected a variable"),
        ("cart ==", 7, "expected a variable"),
        ("cart = 2", 5, "= is not expected"),
        ("(cart", 5, "a ) is missing"),
        ("cart cart", 5, "cart is not expected"),
        ("and cart", 0, "expected a variable"),
        ("cart & 1", 5, "& is not expected"),
        ('"open', 0, '" is not expected'),
        ("(" * 30 + "cart" + ")" * 30, 21, "nested too deeply"),
        ("cart " * 101, 500, "at most 500"),
    ],
)
def test_malformed_conditions_are_refused_at_their_position(source: str, position: int, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_condition(source)
    assert message in error.value.message
    assert error.value.position == position


def test_templates_are_filled() -> None:
    assert Template("{cart} at ${price}, {signed_in} {{x}}").fill(STATE) == "2 at $1.5, true {x}"
    assert Template("{cart} {{email}}").names == {"cart"}
    assert Template("{total}").fill({"total": 12.0}) == "12"


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_refused(source: str) -> None:
    try:
        condition = parse_condition(source)
    except ExpressionError as error:
        assert 0 <= error.position <= len(source)  # noqa: PT017
    else:
        condition.holds(dict.fromkeys(condition.names, 1))
