"""Conditions of app models hold or not, and are refused at the position of what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.expressions import parse_condition
from mobiletest_automation.flows.templates import ExpressionError, Value

VALUES: dict[str, Value] = {
    **{"email": "ada@example.com", "empty": "", "cart": 2, "price": 1.5, "signed_in": True, "typed": "2"},
    "permission.camera": "allow",
}


CONDITIONS: list[tuple[str, bool]] = [
    ("signed_in", True),
    ("not signed_in", False),
    ("not not signed_in", True),
    ("not not not signed_in", False),
    ("!signed_in", False),
    ("cart == 2", True),
    ("cart != 2", False),
    ("cart == 2.0", True),
    ("cart > 1 and cart < 3", True),
    ("cart > 1 && cart < 3", True),
    ("cart >= 3 or price <= 1.5", True),
    ("cart >= 3 || price <= 1.5", True),
    ("cart + 1 == 3", True),
    ('email == "ada@example.com" and not (cart == 0)', True),
    ("email == 'ada@example.com'", True),
    ('empty != ""', False),
    ("empty", False),
    ('email contains "EXAMPLE"', True),
    ('"Blue mug" contains empty', True),
    ("cart contains 2", True),
    ("not email contains 'x@'", True),
    ("true", True),
    ("false or false", False),
    ("email > 1", False),
    ("signed_in == true", True),
    ("typed == 2", True),
    ("cart == -2", False),
    ("not cart == 0 and signed_in", True),
    ("permission.camera == 'allow'", True),
]


def test_conditions_hold_or_not() -> None:
    assert {source: parse_condition(source).holds(VALUES) for source, _ in CONDITIONS} == dict(CONDITIONS)


def test_a_condition_lists_its_variables() -> None:
    condition = parse_condition("cart > 1 and (email == '' or not permission.camera contains 'and') && true")
    assert condition.names == {"cart", "email", "permission.camera"}


@pytest.mark.parametrize(
    ("source", "position", "message"),
    [
        ("", 0, "something is missing at the end"),
        ("cart ==", 7, "something is missing at the end"),
        ("cart = 2", 5, '"=" is not expected'),
        ("(cart", 5, "something is missing at the end"),
        ("cart cart", 5, '"cart" is not expected'),
        ("and cart", 0, '"and" is not expected'),
        ("cart & 1", 5, '"&" is not expected'),
        ("cart }", 5, '"}" is not expected'),
        ('"open', 0, '""" is not expected'),
        ("cart(1)", 0, '"cart(...)" cannot be called'),
        ("(" * 30 + "cart" + ")" * 30, 21, "nested at most 20 deep"),
        ("cart " * 101, 500, "at most 500"),
    ],
)
def test_malformed_conditions_are_refused_at_their_position(source: str, position: int, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_condition(source)
    assert message in error.value.message
    assert error.value.position == position


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_refused(source: str) -> None:
    try:
        condition = parse_condition(source)
    except ExpressionError as error:
        assert 0 <= error.position <= len(source)  # noqa: PT017
    else:
        condition.holds(dict.fromkeys(condition.names, 1))
