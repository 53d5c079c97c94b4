"""Documents are read as plain data, within limits, and every error has a location."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.flows.documents import DocumentLimits, read_json, read_yaml
from mobiletest_automation.flows.nodes import DocumentError, Node


def plain(node: Node) -> object:
    """The value of a node, without locations."""
    if isinstance(node.value, tuple):
        return [plain(item) for item in node.value]
    if node.is_mapping:
        return {key: plain(item) for key, item in node.mapping().items()}
    return node.value


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = "[no, yes, on, true, False, null, ~, 12, 1.5, 007, 0x10, 2024-01-02, 1_000, 12:30:45, '12', .5]"
    expected = ["no", "yes", "on", True, False, None, None, 12, 1.5, 7, "0x10", "2024-01-02", "1_000", "12:30:45"]
    assert plain(read_yaml(text, "x")) == [*expected, "12", 0.5]


def test_numbers_that_json_would_change_are_texts() -> None:
    """An account number of 16 digits is typed as it was written."""
    kept = ["9007199254740993", "-1234567890123456", "123456789012345678901234567890", "1e400"]
    assert plain(read_yaml(f"[{', '.join(kept)}, 999999999999999, -5]", "x")) == [*kept, 999_999_999_999_999, -5]


def test_scalars_keep_their_raw_text() -> None:
    assert [node.raw for node in read_yaml("[007, 1.50, true, ' a ']", "x").items()] == ["007", "1.50", "true", " a "]
    assert [node.raw for node in read_json([7.0, 1.5, True, "a"], "x").items()] == ["7", "1.5", "true", "a"]


def test_every_value_has_a_location() -> None:
    root = read_yaml("a:\n  - b\n  - c: 1\n", "doc")
    inner = root.mapping()["a"].items()[1].mapping()["c"]
    assert (inner.location.path, inner.location.line, inner.location.column) == ("doc.a[1].c", 3, 8)
    assert inner.key_location is not None
    assert (inner.key_location.line, inner.key_location.column) == (3, 5)
    assert read_json({"a": [{"c": 1}]}, "doc").mapping()["a"].items()[0].mapping()["c"].location.path == "doc.a[0].c"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: &x 1\nb: *x", 2, 4, "aliases"),
        ("- *x", 1, 3, "aliases"),
        ("- !!python/object:os.system {}", 1, 3, "tags"),
        ("a: !!binary 1", 1, 4, "tags"),
        ("a: 1\nb: 2\na: 3", 3, 1, "duplicate key"),
        ("---\n1\n---\n2\n", 3, 1, "one document"),
        ("? [a]\n: b", 1, 3, "a key must be a text"),
        ("- 'a' b", 1, 7, "not valid YAML"),
        ("{a: 1", 2, 1, "not valid YAML"),
        ("a: \x00", 1, 1, "characters"),
        ("a: \ud800", 1, 1, "characters"),
        ("[" * 5000, 1, 41, "nested deeper than 40"),
        ("- a\n" * 20_001, 20_000, 3, "more than 20000 values"),
        ("x" * 300_000, 1, 1, "longer than"),
        ("k" * 201 + ": 1", 1, 1, "longer than 200"),
    ],
)
def test_yaml_beyond_plain_data_is_refused_at_its_location(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_yaml(text, "doc")
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (line, column)
    assert str(error.value).startswith(f"line {line}, column {column} (doc")


def test_json_has_the_same_limits() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DocumentError, match="nested deeper than 40"):
        read_json(deep, "doc")
    with pytest.raises(DocumentError, match="more than 3 values"):
        read_json([1, 2, 3], "doc", DocumentLimits(values=3))
    with pytest.raises(DocumentError, match="a key must be a text"):
        read_json({1: 2}, "doc")
    with pytest.raises(DocumentError, match="object is not a JSON value"):
        read_json(object(), "doc")
    with pytest.raises(DocumentError, match="longer than 200"):
        read_json({"k" * 201: 1}, "doc")


def test_the_total_characters_of_json_are_limited() -> None:
    assert read_json(["abc", "de"], "steps", DocumentLimits(characters=5)).items()
    with pytest.raises(DocumentError, match=r"steps\[1\]: more than 5 characters in all"):
        read_json(["abc", "def"], "steps", DocumentLimits(characters=5))


def test_huge_numbers_can_be_read() -> None:
    assert read_json(10**5000, "doc").raw
    assert isinstance(read_yaml("9" * 400, "doc").value, str)
    with pytest.raises(DocumentError, match="expected a number from 0 to 9"):
        read_json(float("nan"), "doc").number(0, 9)


@pytest.mark.parametrize(
    ("written", "seconds"), [("500ms", 0.5), ("2s", 2.0), ("1.5 s", 1.5), ("1m", 60.0), (3, 3.0), ("4", 4.0)]
)
def test_durations(written: object, seconds: float) -> None:
    assert read_json(written, "doc").seconds(0, 100) == seconds


@pytest.mark.parametrize("written", ["soon", "-1s", "2h", None, True, [], "101s", ""])
def test_invalid_durations_are_refused(written: object) -> None:
    with pytest.raises(DocumentError, match="expected a duration"):
        read_json(written, "doc").seconds(0, 100)


def test_an_unknown_field_comes_with_a_suggestion() -> None:
    with pytest.raises(DocumentError, match="did you mean optional") as error:
        read_yaml("tapOn:\n  optinal: true", "doc").mapping()["tapOn"].fields(("text", "optional"))
    assert (error.value.line, error.value.column) == (2, 3)


@given(st.text(max_size=200))
def test_any_text_is_read_or_is_a_document_error(text: str) -> None:
    try:
        read_yaml(text, "doc")
    except DocumentError as error:
        assert error.line is not None  # noqa: PT017


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=20,
    )
)
def test_json_round_trips(value: object) -> None:
    assert repr(plain(read_json(value, "doc"))) == repr(value)
