"""Names, versions and searches: trimmed, normalised, literal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.catalog.model.builds import METADATA_LIMIT, validate_metadata
from services.catalog.model.tests import validate_tags
from services.catalog.model.text import (
    SUFFIX_LIMIT,
    fold_case,
    name_suffixes,
    search_pattern,
    suffix_of,
    validate_name,
)
from services.catalog.model.values import InvalidValue


@pytest.mark.parametrize(
    ("name", "kept"), [(" Shop ", "Shop"), ("e\u0301", "\u00e9"), ("x" * 200, "x" * 200), (" " + "x" * 200, "x" * 200)]
)
def test_a_name_is_trimmed_and_normalised(name: str, kept: str) -> None:
    assert validate_name(name) == kept


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\x00b", "a\nb", "a\x7fb", "a\x85b", "\x1b[0m"])
def test_a_name_out_of_bounds_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        validate_name(name)
    assert refusal.value.field == "name"


HOSTILE = [
    ".*",
    "(a+)+$",
    "$where",
    '{"$gt":""}',
    "name[$ne]=",
    "[",
    "\\",
    "\u202eevil",
    "\U0001f600",
    "e\u0301",
    "stra\u00dfe",
    "^a|b$",
]


@pytest.mark.parametrize("search", HOSTILE)
def test_a_search_finds_itself_and_is_no_pattern(search: str) -> None:
    pattern = search_pattern(search)
    assert pattern is not None
    assert re.search(pattern, fold_case(f"before {search} after"))
    assert not re.search(pattern, fold_case("before after"))


@given(st.text(max_size=50), st.text(max_size=20), st.text(max_size=20))
def test_a_search_ignores_case_and_normal_form(needle: str, before: str, after: str) -> None:
    pattern = search_pattern(needle)
    if "\x00" in needle:
        assert pattern is None
        return
    assert pattern is not None
    assert re.fullmatch(pattern, fold_case(needle))


@pytest.mark.parametrize("search", [*HOSTILE, "x", "a search that is longer than a suffix"])
def test_a_name_has_a_suffix_that_begins_with_each_part(search: str) -> None:
    pattern = search_pattern(search)
    assert pattern is not None
    beginning, is_all = suffix_of(pattern)
    assert any(suffix.startswith(beginning) for suffix in name_suffixes(fold_case(f"before {search} after")))
    assert is_all == (len(fold_case(search)) <= SUFFIX_LIMIT)


@pytest.mark.parametrize("search", ["a\x00", "x" * 10_000, "\U0001f600" * 601])
def test_what_no_name_can_contain_has_no_pattern(search: str) -> None:
    assert search_pattern(search) is None


def test_tags_are_trimmed_and_unique() -> None:
    assert validate_tags((" smoke", "smoke", "slow")) == ("smoke", "slow")
    with pytest.raises(InvalidValue) as refusal:
        validate_tags(("smoke", " "))
    assert refusal.value.field == "tags[1]"


def test_metadata_has_a_limit() -> None:
    frame = len('{"a": ""}')
    validate_metadata({"a": "x" * (METADATA_LIMIT - frame)})
    with pytest.raises(InvalidValue):
        validate_metadata({"a": "x" * (METADATA_LIMIT - frame + 1)})
