"""Differences of texts: what is removed and added, with the lines around it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.dashboard.versions import LINES_LIMIT, compare_texts

TEXTS = st.lists(st.sampled_from("abcd"), max_size=30).map("\n".join)


def test_changed_lines_stand_between_equal_ones() -> None:
    before = "\n".join("abcdefghij")
    comparison = compare_texts(before, before.replace("h", "H"))
    assert [(line.kind, line.text) for line in comparison.lines] == [
        ("gap", "line 5"),
        ("same", "e"),
        ("same", "f"),
        ("same", "g"),
        ("removed", "h"),
        ("added", "H"),
        ("same", "i"),
        ("same", "j"),
    ]
    assert (comparison.added, comparison.removed) == (1, 1)


def test_equal_texts_have_no_difference() -> None:
    assert compare_texts("a\nb", "a\nb").lines == ()


def test_texts_of_too_many_lines_are_not_compared() -> None:
    assert (compare_texts("a\n" * LINES_LIMIT, "b\n" * LINES_LIMIT)).lines
    assert (compare_texts("", "b\n" * (LINES_LIMIT + 1))).is_too_long


@given(TEXTS, TEXTS)
def test_the_lines_are_those_of_the_texts(before: str, after: str) -> None:
    lines = compare_texts(before, after).lines
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    assert is_part([line.text for line in lines if line.kind in ("same", "removed")], old)
    assert is_part([line.text for line in lines if line.kind in ("same", "added")], new)
    counts = Counter(line.kind for line in lines)
    assert counts["added"] - counts["removed"] == len(new) - len(old)
    assert (counts["added"] + counts["removed"] == 0) == (old == new)


def is_part(lines: list[str], text: list[str]) -> bool:
    """Whether the lines are in a text, in this order."""
    rest = iter(text)
    return all(line in rest for line in lines)
