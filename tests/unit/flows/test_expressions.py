"""Expressions in ${...} have a value or an error."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.flows.values import ExpressionError, UnknownVariable, Value, is_true, to_text
from services.flows.variables import BuiltInVariables, Scope, initial_scope, is_template, parse_template

VALUES = {"NAME": "Ada", "N": "3", "EMPTY": "", "ZERO": "0", "FLAG": "true", "QUOTE": "it's"}
SCOPE = initial_scope(VALUES.items(), BuiltInVariables("android", "com.example.shop", "copied"))


def fill(text: str, values: Mapping[str, str] | None = None) -> str:
    return parse_template(text).fill(SCOPE.within(values or {}).lookup)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("Hello ${NAME}!", "Hello Ada!"),
        ("${NAME}${N}", "Ada3"),
        ("${ NAME }", "Ada"),
        ("\\${NAME}", "${NAME}"),
        ("a\\${b} ${NAME}", "a${b} Ada"),
        ("$NAME {x} $ {", "$NAME {x} $ {"),
        ("${'}'}", "}"),
        ('${"a\\"b" + \'c\\\'d\' + "\\n\\t\\\\"}', "a\"bc'd\n\t\\"),
        ("${1 + 2 * 3 - 4 / 2}", "5"),
        ("${(1 + 2) * 3}", "9"),
        ("${7 % 4 + 0.5}", "3.5"),
        ("${-N + 1}", "-2"),
        ("${- -N}", "3"),
        ("${N + 1}", "31"),
        ("${N * 1 + 1}", "4"),
        ("${1 / 4}", "0.25"),
        ("${1e}", None),
        ("${NAME == 'Ada'}", "true"),
        ("${NAME === 'Ada' && N !== 4}", "true"),
        ("${N == 3.0}", "true"),
        ("${N != '3'}", "false"),
        ("${FLAG == true}", "true"),
        ("${N < 10}", "true"),
        ("${'10' < '9'}", "false"),
        ("${'abc' < 'abd'}", "true"),
        ("${2 <= 2 && 3 >= 3 && !(3 > 3)}", "true"),
        ("${!EMPTY}", "true"),
        ("${!!ZERO}", "false"),
        ("${null}", "null"),
        ("${undefined == null}", "true"),
        ("${EMPTY || 'otherwise'}", "otherwise"),
        ("${NOBODY || 'otherwise'}", "otherwise"),
        ("${NOBODY || NOWHERE || 'otherwise'}", "otherwise"),
        ("${NAME && N}", "3"),
        ("${!NOBODY}", "true"),
        ("${!NOBODY && N}", "3"),
        ("${false && NOBODY}", "false"),
        ("${true || NOBODY}", "true"),
        ("${maestro.copiedText + '/' + maestro.platform + '/' + MAESTRO_APP_ID}", "copied/android/com.example.shop"),
    ],
)
def test_templates_are_filled(text: str, filled: str | None) -> None:
    if filled is None:
        with pytest.raises(ExpressionError):
            fill(text)
    else:
        assert fill(text) == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${", "a closing brace is missing"),
        ("${NAME", "a closing brace is missing"),
        ("${}", "something is missing"),
        ("${1 +}", "something is missing"),
        ("${(1}", "something is missing"),
        ("${a b}", '"b" is not expected'),
        ("${a = 1}", '"=" is not expected'),
        ("${[1]}", '"[" is not expected'),
        ("${{a: 1}}", '"{" is not expected'),
        ("${a ? b : c}", '"?" is not expected'),
        ("${a; b}", '";" is not expected'),
        ("${Math.random()}", '"Math.random(...)" cannot be called'),
        ("${`x`}", '"`" is not expected'),
        ("${'x}", '"\'" is not expected'),
        ("${" + "1+" * 300 + "1}", "at most 500 characters"),
        ("${" + "(" * 30 + "1" + ")" * 30 + "}", "at most 20 deep"),
        ("${" + "!" * 400 + "1}", "at most 4 signs"),
    ],
)
def test_malformed_expressions_are_refused_when_parsed(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_template(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${NAEM}", 'there is no variable "NAEM"; did you mean NAME?'),
        ("${output.result}", 'there is no variable "output.result"; known: '),
        ("${maestro.copiedTxt}", "did you mean maestro.copiedText?"),
        ("${NOBODY + 1 || 2}", 'there is no variable "NOBODY"'),
        ("${!(NOBODY == 1)}", 'there is no variable "NOBODY"'),
        ("${NAME - 1}", '- needs numbers, not "Ada"'),
        ("${null + 1}", '+ needs numbers, not "null"'),
        ("${NAME < 1}", '< needs numbers, not "Ada"'),
        ("${1 / ZERO}", "division by 0"),
        ("${1 % 0}", "division by 0"),
        ("${" + " * ".join(["999999999999999"] * 25) + "}", "too large"),
        ("${LONG + LONG}", "longer than 10000"),
        ("${LONG}${LONG}${LONG}", "longer than 20000"),
    ],
)
def test_expressions_without_a_value_are_errors(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        fill(text, {"LONG": "x" * 8_000})
    assert message in str(error.value)


def test_inner_variables_hide_outer_ones() -> None:
    inner = SCOPE.within({"NAME": "Grace"})
    assert (inner.lookup("NAME"), inner.lookup("N"), SCOPE.lookup("NAME")) == ("Grace", "3", "Ada")
    with pytest.raises(UnknownVariable, match="use copyTextFrom first"):
        Scope().lookup("maestro.copiedText")
    with pytest.raises(UnknownVariable, match="the build has no package name"):
        Scope().lookup("MAESTRO_APP_ID")


@pytest.mark.parametrize("value", ["", " ", "false", "False", "null", "undefined", "0", "0.0", "-0", False, None, 0.0])
def test_false_values(value: Value) -> None:
    assert not is_true(value)


@pytest.mark.parametrize("value", ["x", "true", "1", "no", "'false'", "00x", True, 1.0, -1.0])
def test_true_values(value: Value) -> None:
    assert is_true(value)


TOKENS = st.lists(
    st.sampled_from(["1", "2.5", "'x'", '"3"', "NAME", "N", "NOBODY", "null", "true", "(", ")", "!", "-", "+", "*", "/",
                     "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", " ", ".", "}", "{", "$", "\\"]),
    max_size=25,
).map("".join)  # fmt: skip


def value_of(text: str) -> str | None:
    """The filled text; None if it is refused. Any other exception fails the test."""
    try:
        return fill(text)
    except ExpressionError:
        return None


@given(TOKENS)
def test_every_expression_has_a_value_or_an_expression_error(source: str) -> None:
    assert isinstance(value_of("${" + source + "}"), str | None)


@given(st.text(max_size=60))
def test_text_without_variables_is_unchanged(text: str) -> None:
    assert is_template(text) or fill(text) == text


@given(st.integers(-999_999, 999_999), st.integers(-999_999, 999_999))
def test_arithmetic(one: int, other: int) -> None:
    assert fill("${A * 1 + B}", {"A": str(one), "B": str(other)}) == to_text(f"{one}{other}")
    assert fill("${A - -B}", {"A": str(one), "B": str(other)}) == str(one + other)
    assert fill("${A < B}", {"A": str(one), "B": str(other)}) == str(one < other).lower()
