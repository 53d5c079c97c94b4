"""Expressions that are answered without the engine have the value that the engine gives."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobiletest_automation.scripting.engine import Script, ScriptEngine, ScriptResult
from mobiletest_automation.scripting.text_expressions import evaluate_texts
from tests.examples import examples

NAMES = ("NAME", "N", "$x", "_", "Math", "toString", "length", "maestro.platform", "maestro.copiedText", "NOBODY")
TEXTS = st.text(max_size=4) | st.sampled_from(["", "3", "03", "ios", "true", "é", "\u2028", "\x00", "😀"])
LITERALS = st.builds(lambda quote, text: quote + text + quote, st.sampled_from("'\""), TEXTS)
OPERANDS = st.sampled_from(NAMES) | LITERALS
OPERATORS = st.sampled_from(
    ["==", "===", "!=", "!==", "+", "||", "&&", "-", "<", "\n", "\n+", "=", "+=", "++", ",", "."]
)
PAIRS = st.lists(st.builds(lambda a, b: f" {a} {b}", OPERATORS, OPERANDS), max_size=3)
SOURCES = st.builds(lambda first, rest: (first + "".join(rest)).strip(), OPERANDS, PAIRS)
VARIABLES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("NAME", "N", "$x", "_", "Math", "toString", "length"), TEXTS)
)


Evaluate = Callable[[str, Mapping[str, str]], ScriptResult]


@pytest.fixture(scope="module")
def evaluate() -> Iterator[Evaluate]:
    """What the engine says, in one attempt."""
    with asyncio.Runner() as runner:
        engine = ScriptEngine()

        def evaluate(source: str, variables: Mapping[str, str]) -> ScriptResult:
            script = Script(
                source=source, place="here", fuel=10**8, variables=variables, copied=variables.get("N"), platform="ios"
            )
            return runner.run(engine.evaluate(script))

        yield evaluate
        runner.run(engine.close())


def result_here(source: str, variables: Mapping[str, str]) -> ScriptResult | None:
    known = {**variables, "maestro.platform": "ios", "maestro.copiedText": variables.get("N")}
    match evaluate_texts(source, known.get):
        case None:
            return None
        case bool() as truth:
            return ScriptResult("boolean", str(truth).lower())
        case text:
            return ScriptResult("text", str(text))


@settings(max_examples=examples(300))
@given(source=SOURCES, variables=VARIABLES)
def test_the_engine_gives_the_same_value(evaluate: Evaluate, source: str, variables: Mapping[str, str]) -> None:
    here = result_here(source, variables)
    if here is not None:
        assert evaluate(source, variables) == here


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("NAME == 'Ada'", True),
        ("NAME!=='Ada'", False),
        ("'Ada' === NAME", True),
        ('maestro.platform == "ios"', True),
        ("NAME + '-' + NAME", "Ada-Ada"),
        ("NAME + '!' == 'Ada!'", True),
        ("NAME || 'nobody'", "Ada"),
        ("EMPTY || 'nobody'", "nobody"),
        ("'a text'", "a text"),
    ],
)
def test_texts_are_compared_and_joined_without_the_engine(source: str, value: str | bool) -> None:
    known = {"NAME": "Ada", "EMPTY": "", "maestro.platform": "ios"}
    assert evaluate_texts(source, known.get) == value


@pytest.mark.parametrize(
    "source",
    [
        *("NOBODY == 'x'", "NOBODY || 'x'", "output.user", "NAME.length", "NAME - 1", "NAME == 3", "NAME = 'x'"),
        *("NAME == true", "NAME == null", "NAME == undefined", "'\\n'", "NAME 'x'", "NAME +", "", "NAME ++ NAME"),
        *("NAME || 'x' == 'x'", "'a' == 'a' == 'true'", "NAME == /x/", "`x`", "NAME // 'x'", "NAME == N\u00c9"),
        *("LONG", "HALF", "NAME + '\x00'", "LONG == 'x'", "NAME" + " + NAME" * 100),
    ],
)
def test_other_expressions_are_left_to_the_engine(source: str) -> None:
    known = {"NAME": "Ada", "LONG": "x" * 30_000, "HALF": "\ud83d", "null": "x", "true": "x", "undefined": "x"}
    assert evaluate_texts(source, known.get) is None


@pytest.mark.parametrize("name", ["true", "null", "undefined", "NaN", "class", "let", "this", "eval"])
def test_reserved_words_are_refused_as_names(name: str) -> None:
    assert evaluate_texts(f"{name} == 'mine'", {name: "mine"}.get) is None
