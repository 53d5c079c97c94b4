"""Names, versions and searches: trimmed, normalised, literal."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobiletest.catalog.v1 import apps_pb2

from services.catalog.model.builds import METADATA_LIMIT, validate_metadata
from services.catalog.model.tests import validate_tags
from services.catalog.model.text import SUFFIX_LIMIT, name_suffixes, suffix_of, validate_name
from services.catalog.model.values import InvalidValue
from services.chassis.text_search import fold_case, search_pattern
from services.chassis.validation import find_violations


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


INVISIBLE = [
    *("\u200b", "\u2060", "\u00ad", "\u3164", "\ufe0f", "\U000e0041\U000e007f", "\U000e0100", "\u034f", "\u115f\u1160"),
    *(
        "\u2800",
        "\ufeff",
        "\u202e",
        "\u180e",
        "\uffa0",
        "\u061c",
        "\u2066\u2069",
        "\u200b \u200d",
        "\U0001d159",
        "\ufff9",
    ),
]
VISIBLE = [
    "\u2764\ufe0f",
    "\U0001f469\u200d\U0001f4bb",
    "\u200bx",
    "\uac00",
    "\u0600",
    "\u0e33",
    ".",
    "\uf8ff",
    "\U000f0000",
]


@pytest.mark.parametrize("name", INVISIBLE)
def test_a_name_that_cannot_be_seen_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="must contain a character that can be seen"):
        validate_name(name)
    with pytest.raises(InvalidValue, match="one that can be seen"):
        validate_tags(["ok", name])
    (violation,) = find_violations(apps_pb2.CreateAppRequest(name=name, platform="PLATFORM_IOS"))
    assert (violation.type, violation.message) == (
        "string.visible",
        "String should contain a character that can be seen",
    )


@pytest.mark.parametrize("name", VISIBLE)
def test_a_name_with_something_to_see_is_taken(name: str) -> None:
    assert validate_name(name) == name


def test_files_and_requests_have_one_rule_for_what_can_be_seen() -> None:
    """Tried with each character that has no width or is near one, and a sample of all others."""
    near = {0x115F, 0x1D159, 0x2800, 0x3164, 0xFFA0, 0xE0000, 0xE0FFF}
    near |= {code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp")}
    codes = {code + step for code in near for step in (-1, 0, 1) if 0 <= code + step < 0x110000} | {
        *range(0, 0x110000, 997)
    }
    texts = [chr(code) for code in sorted(codes) if not 0xD800 <= code < 0xE000]
    for text in texts:
        request = apps_pb2.CreateAppRequest(name=text, platform="PLATFORM_IOS")
        assert (find_violations(request) == []) == is_name(text), ascii(text)


def is_name(text: str) -> bool:
    try:
        return bool(validate_name(text))
    except InvalidValue:
        return False


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
def test_a_search_is_literal_text_and_not_a_pattern(search: str) -> None:
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
