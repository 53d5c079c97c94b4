"""Texts are made well-formed where they enter, and no cut leaves a part of a secret."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mobiletest_automation.flows.texts import (
    cut,
    cut_beginning,
    cut_elsewhere,
    shorten,
    splitting_no_secret,
    well_formed,
    well_formed_json,
)
from mobiletest_automation.outside_texts import parse_json, readable_xml
from mobiletest_automation.screen.page_source.reader import read_xml
from mobiletest_automation.secret_texts import SecretTexts

# Lone surrogates, NUL and non-characters too.
ANY = st.text(st.characters(exclude_categories=()) | st.sampled_from("\0\ud83d\ude00\ufffe\uffff\x1b"))
SECRETS = st.lists(st.text("abc<é\n", min_size=3, max_size=12), max_size=3)


def secrets_of(values: Sequence[str]) -> SecretTexts:
    secrets = SecretTexts()
    secrets.add_secrets({f"V{number}": value for number, value in enumerate(values)})
    return secrets


def places(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    for value in values:
        for match in re.finditer(f"(?={re.escape(value)})", text):
            yield match.start(), match.start() + len(value)


@given(SECRETS, st.lists(st.text("abc<é\n", max_size=5), max_size=5), st.integers(0, 30))
@example(["abcabc", "cabcab"], ["abcabcabcab"], 8)
def test_a_cut_splits_no_secret(values: list[str], between: list[str], limit: int) -> None:
    text = "".join(f"{each}{value}" for each, value in zip([*between, "", "", ""], [*values, ""], strict=False))
    with splitting_no_secret(secrets_of(values)):
        begin, end = cut(text, limit), cut_beginning(text, limit)
    for kept, position in ((begin, len(begin)), (end, len(text) - len(end))):
        assert len(kept) <= limit
        assert not [place for place in places(text, values) if place[0] < position < place[1]]
    assert text.startswith(begin)
    assert text.endswith(end)


def test_a_text_is_cut_at_its_limit_where_no_secret_is() -> None:
    with splitting_no_secret(secrets_of(["hunter2"])):
        assert (cut("abcdef", 3), cut_beginning("abcdef", 3), shorten("abcdef", 3)) == ("abc", "def", "abc...")
        assert (cut("abc", 3), cut_beginning("abc", 3), shorten("abc", 3)) == ("abc", "abc", "abc")
        assert shorten("my hunter2", 5) == "my ..."
    assert shorten("my hunter2", 5) == "my hu..."


@pytest.mark.parametrize("kept", range(1, 7))
@pytest.mark.parametrize("half", ["", "\ufffd"])
def test_a_text_that_a_page_has_cut_shows_no_beginning_of_a_secret(kept: int, half: str) -> None:
    text = "x" * (20 - kept - len(half)) + "hunter2"[:kept]
    with splitting_no_secret(secrets_of(["hunter2"])):
        assert cut_elsewhere(text + half, 20, 40) == "x" * (20 - kept - len(half))
        assert cut_elsewhere(text, 21 + len(half)) == text
        assert cut_elsewhere("a hunter2", 9) == "a hunter2"


@given(ANY)
def test_a_well_formed_text_is_utf_8_without_nul_and_otherwise_the_same(text: str) -> None:
    made = well_formed(text)
    assert "\0" not in made.encode().decode()
    assert made == re.sub("[\ud800-\udfff]", "\ufffd", text).replace("\0", "")


VALUES = st.recursive(
    ANY | st.none() | st.booleans() | st.integers(-9, 9), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)
)


@given(VALUES)
def test_any_json_is_read_with_well_formed_texts(value: Any) -> None:
    read = parse_json(json.dumps(value).encode())
    assert read == well_formed_json(read)
    assert parse_json(json.dumps(value)) == read


def test_json_is_read_as_it_is_written() -> None:
    value = {"a": ["é😀", 1, 1.5, True, None], "b": {}}
    assert parse_json(json.dumps(value)) == value
    assert parse_json(b'{"half": "\\ud83d", "cut": "\xf0\x9f", "ended": "a\\u0000"}') == {
        "half": "\ufffd",
        "cut": "\ufffd",
        "ended": "a",
    }


@pytest.mark.parametrize(
    "content", [b"", b"{", b"<html>", b"[" * 100_000, b'["\\ud800", NaN]', b'["\\ud800", 1e400]', b"\xff", b'"a\x01"']
)
def test_invalid_json_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of two parsers)
        parse_json(content)


@pytest.mark.parametrize(
    ("number", "expected"),
    [("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63)), ("18446744073709551616", 2.0**64)],
)
def test_numbers_of_more_than_64_bits_are_floats(number: str, expected: float) -> None:
    """Nothing that stores an attempt has others; a lone surrogate beside them makes another parser read them."""
    for text in (f"[{number}]", f'[{number}, "\\ud800"]'):
        assert parse_json(text)[0] == expected
        assert type(parse_json(text)[0]) is type(expected)


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_that_is_too_large_is_an_error(digits: int) -> None:
    for text in (f"[{'9' * digits}]", f'[-{"9" * digits}, "\\ud800"]'):
        with pytest.raises(ValueError):  # noqa: PT011 (of two parsers)
            parse_json(text)


@given(ANY)
def test_any_text_can_be_read_as_xml(text: str) -> None:
    written = "".join(f"&#{ord(c)};" if number % 2 else f"&#x{ord(c):x};" for number, c in enumerate(text))
    raw = re.sub("[<&]", "", text)
    node = read_xml(readable_xml(f'<a b="{written}">{raw.replace(">", "")}</a>'))
    assert len(node.attributes["b"]) == len(text)


def test_xml_that_can_be_read_is_left_as_it_is() -> None:
    source = '<a b="&#10;&#x1F600;&amp;é">\t😀</a>'
    assert readable_xml(source) == source
    assert readable_xml(f"&#{'9' * 5000};&#xFFFFFFFF;&#0;&#000000065;") == "\ufffd\ufffd\ufffd&#000000065;"
