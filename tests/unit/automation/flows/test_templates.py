"""The ${...} of a text are found wherever they end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.templates import (
    Expression,
    ExpressionError,
    Value,
    is_template,
    is_true,
    parse_template,
)

PARTS: list[tuple[str, list[str]]] = [
    ("plain", ["plain"]),
    ("Hello ${NAME}!", ["Hello ", "=NAME", "!"]),
    ("${A}${B}", ["=A", "=B"]),
    ("${ NAME }", ["=NAME"]),
    ("${}", ["="]),
    ("\\${NAME}", ["${", "NAME}"]),
    ("a\\${b} ${NAME}", ["a${", "b} ", "=NAME"]),
    ("$NAME {x} $ {", ["$NAME {x} $ {"]),
    ("${'}'} }", ["='}'", " }"]),
    ("${\"a\\\"}\" + '\\'}'}", ["=\"a\\\"}\" + '\\'}'"]),
    ("${`v${n}}` + `}`}", ["=`v${n}}` + `}`"]),
    ("${`a${`b${c}`}`}.", ["=`a${`b${c}`}`", "."]),
    ("${(() => { return {a: 1}.a })()}", ["=(() => { return {a: 1}.a })()"]),
    ("${/[/}]}/.test(x)} z", ["=/[/}]}/.test(x)", " z"]),
    ("${x => {return /}/}}", ["=x => {return /}/}"]),
    ("${a / 2 / '}'.length}", ["=a / 2 / '}'.length"]),
    ("${a++ / 2}", ["=a++ / 2"]),
    ("${// }\n1}", ["=// }\n1"]),
    ("${/* } */ 1}", ["=/* } */ 1"]),
    ('${"$5"}', ['="$5"']),
]


def parts_of(text: str) -> list[str]:
    return [part if isinstance(part, str) else f"={part.source}" for part in parse_template(text).parts]


def test_expressions_are_found() -> None:
    assert {text: parts_of(text) for text, _ in PARTS} == dict(PARTS)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("${", "a closing brace is missing", 2),
        ("ab ${NAME", "a closing brace is missing", 5),
        ("${ {a: 1}", "a closing brace is missing", 2),
        ("${`x}", "a closing brace is missing", 2),
        ("${'x}", "a quote is not closed", 2),
        ("${1 /* }", "a comment is not closed", 4),
        ("${" + "= /a" * 1_000, "too many slashes", 804),
    ],
)
def test_an_expression_without_an_end_is_refused(text: str, message: str, position: int) -> None:
    with pytest.raises(ExpressionError, match=message) as error:
        parse_template(text)
    assert error.value.position == pytest.approx(position, abs=5)


FALSE: list[Value] = [
    *("", " ", "false", "False", "null", "undefined", "0", "0.0", "-0", "+0", ".0", "0.", "0e5", "0f", " 0\n"),
    *("0x0p0", "0X.0P1d", "0x1p-9999", "1e-400", "-2e-324f"),
    *(False, None, 0.0),
]
TRUE: list[Value] = [
    *("x", "true", "1", "no", "'false'", "00x", "0x", "0x0f", "0b1", "0o0", "0:0", ".", "e5", "0e", "NaN", "{}"),
    *(
        "0x0",
        "0b0",
        "0_0",
        "NULL",
        " null",
        "Undefined",
        "false ",
        "1e999",
        "0x1p9999",
        "3e-324",
        "0x.p0",
        "1" * 9_999 + "x",
    ),
    *(True, 1.0, -1.0),
]


def test_values_are_true_or_false_as_in_maestro() -> None:
    assert [value for value in FALSE if is_true(value)] == []
    assert [value for value in TRUE if not is_true(value)] == []


@given(st.text(max_size=60))
def test_text_without_variables_is_unchanged(text: str) -> None:
    assert is_template(text) or "".join(map(str, parse_template(text).parts)) == text


TOKENS = st.lists(st.sampled_from(["${", "}", "{", "`", "'", '"', "/", "*", "\\", "a", " ", "\n", "(", "[", "]", "$"]))


@given(TOKENS.map("".join))
def test_every_text_is_a_template_or_an_expression_error(text: str) -> None:
    try:
        parts = parse_template(text).parts
    except ExpressionError:
        return
    assert all(isinstance(part, str | Expression) for part in parts)
