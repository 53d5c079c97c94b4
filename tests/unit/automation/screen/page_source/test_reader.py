"""Formats are detected; anything else is a SourceError, in linear time."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobiletest_automation.screen.elements import Role, walk
from mobiletest_automation.screen.page_source.nodes import SourceError
from mobiletest_automation.screen.page_source.reader import read_source
from tests.examples import examples

ANDROID = '<hierarchy><node class="android.widget.Button" text="Go" bounds="[0,0][9,9]"/></hierarchy>'
IOS = '<XCUIElementTypeApplication><XCUIElementTypeButton label="Go"/></XCUIElementTypeApplication>'


@pytest.mark.parametrize("source", [ANDROID, IOS, "<button>Go</button>", "<!DOCTYPE HTML><p><button>Go"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n ", "<?xml version='1.0' encoding='utf-16'?>", "<!-- a --> "])
def test_every_kind_is_recognised_after_prologs_and_comments(source: str, before: str) -> None:
    (button,) = [element for element in walk(read_source(before + source)) if element.role is Role.BUTTON]
    assert "Go" in (button.text, button.label)


@pytest.mark.parametrize(("source", "platform"), [(ANDROID, "iOS"), (IOS, "Android")])
def test_a_source_of_the_other_platform_is_an_error(source: str, platform: str) -> None:
    with pytest.raises(SourceError, match="platform"):
        read_source(source, platform)
    read_source("<p>Hi", platform)


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("", 1, 1),
        ("Hello", 1, 1),
        ('{"value": "<p>"}', 1, 1),
        ("\n\n  Hello", 3, 3),
        ("<hierarchy>\n <node></hierarchy>", 2, 10),
        ("\n<hierarchy>\n <node></hierarchy>", 3, 10),
        ("<hierarchy>\n <node a=1/></hierarchy>", 2, 10),
        ("<hierarchy>&b;</hierarchy>", 1, 12),
        ("<hierarchy/><hierarchy/>", 1, 13),
        ("<unknown/>", 1, 1),
        ("<AppiumAUT/>", None, None),
    ],
)
def test_errors_have_line_and_column(source: str, line: int | None, column: int | None) -> None:
    if line is None:
        assert read_source(source).children == ()
        return
    with pytest.raises(SourceError) as error:
        read_source(source)
    assert str(error.value).startswith(f"line {line}, column {column}: ")


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "doctype", [f"<!DOCTYPE h [<!ENTITY a0 'ha'>{LAUGHS}]>", "<!DOCTYPE h SYSTEM 'file:///etc/passwd'>", "<!DOCTYPE h>"]
)
def test_document_types_are_an_error(doctype: str) -> None:
    with pytest.raises(SourceError, match="document type"):
        read_source(f"{doctype}<hierarchy>&a9;</hierarchy>")


@pytest.mark.parametrize("begin", ["<hierarchy>", "<html>"])
def test_limits_of_depth_and_count(begin: str) -> None:
    with pytest.raises(SourceError, match="nested deeper"):
        read_source(begin + "<div>" * 500)
    with pytest.raises(SourceError, match="more than 20000 nodes"):
        read_source(begin + "<div></div>" * 20_001)


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        ("<html><p " + " ".join(f"a{n}" for n in range(300)) + ">", "<p> has more than 200 attributes"),
        ("<hierarchy " + " ".join(f"a{n}=''" for n in range(300)) + "/>", "<hierarchy> has more than 200 attributes"),
        ("<html><template>" + "<a/>" * 100_001, "more than 100000 tags"),
        ("<html>" + ("<b>" * 300 + "x " * 5_000 + "</b>" * 300) * 8, "more than 20000000 characters"),
    ],
    ids=["attributes", "attributes of XML", "tags", "texts"],
)
def test_other_limits_are_named(source: str, limit: str) -> None:
    with pytest.raises(SourceError, match=limit):
        read_source(source)


def test_the_limit_of_bytes() -> None:
    room = 4 * 1024 * 1024 - len("<p></p>")
    read_source(f"<p>{'x' * room}</p>")
    for more in ("x" * (room + 1), "é" * (room // 2 + 1)):
        with pytest.raises(SourceError, match="4 MiB"):
            read_source(f"<p>{more}</p>")


def test_lone_surrogates_are_an_error() -> None:
    with pytest.raises(SourceError, match="surrogate"):
        read_source("<p>\ud800</p>")


@pytest.mark.parametrize(
    "broken",
    [
        *("<!--", "<a ", "<", "</", "<![CDATA[", "<?", "&", "<a b='", "<a b=", "<a b\t=", "<script>", "</script"),
        *("<a b c", "<!", "&#9", "\x00", "<textarea>", "<a b='c", "<title>", "< a>", "<a/b"),
    ],
)
def test_broken_pages_are_read_in_linear_time(broken: str) -> None:
    """A parser with a quadratic case needs a minute to hours for each of these 200 KB, and pytest ends the test."""
    with suppress(SourceError):
        assert read_source("<html>" + broken * (200_000 // len(broken))).role is Role.SCREEN


_TEXTS = """< > </ /> = ' " a p td tr table li &amp; &#x <!-- --> <p> </p> <li> <tr> <td> <select> <option> <svg/>
<label for=a> <input id=a> text <hierarchy> <node bounds='[0,0][1,1]'> <XCUIElementTypeButton x='1' width='1e400'>"""
PIECES = st.sampled_from([" ", "\n", *_TEXTS.split()])


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(["<html>", "<hierarchy>", "<AppiumAUT>", ""]), st.lists(PIECES, max_size=40))
def test_any_text_is_a_source_or_a_source_error(begin: str, pieces: list[str]) -> None:
    with suppress(SourceError):
        root = read_source(begin + "".join(pieces))
        assert all(element.bounds.width >= 0 or not element.visible for element in walk(root))
