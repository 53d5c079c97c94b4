import zlib
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_automation.screen.elements import Bounds, Element, Role, walk
from mobiletest_automation.screen.stored_trees import (
    ELEMENTS_LIMIT,
    UnreadableTree,
    decode_tree,
    encode_tree,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 4000).map(lambda tenths: tenths / 10)


def elements(children: st.SearchStrategy[tuple[Element, ...]]) -> st.SearchStrategy[Element]:
    return st.builds(
        Element,
        role=st.sampled_from(Role),
        text=texts,
        label=texts,
        hint=texts,
        id=texts,
        tag=texts,
        bounds=st.builds(Bounds, numbers, numbers, numbers, numbers),
        enabled=st.booleans(),
        visible=st.booleans(),
        focused=st.booleans(),
        selected=st.booleans(),
        clickable=st.booleans(),
        secret=st.booleans(),
        checked=st.none() | st.booleans(),
        attributes=st.dictionaries(texts, texts, max_size=3),
        children=children,
    )


trees = st.recursive(
    elements(st.just(())), lambda inner: elements(st.lists(inner, max_size=3).map(tuple)), max_leaves=20
)


def as_data(element: Element) -> list[object]:
    values = [getattr(element, name) for name in Element.__dataclass_fields__ if name not in ("children", "attributes")]
    return [values, dict(element.attributes), [as_data(child) for child in element.children]]


@given(trees)
def test_a_stored_tree_is_read_as_it_was(tree: Element) -> None:
    assert as_data(decode_tree(encode_tree(tree))) == as_data(tree)


@given(trees)
def test_a_tree_is_stored_with_the_changed_texts_and_keeps_the_others(tree: Element) -> None:
    stored = decode_tree(encode_tree(tree, lambda each: {"text": each.text.upper(), "attributes": {}}))
    assert [each.text for each in walk(stored)] == [each.text.upper() for each in walk(tree)]
    assert not any(each.attributes for each in walk(stored))
    kept = [each.name for each in fields(Element) if each.name not in ("text", "attributes", "children", "css")]
    assert [[getattr(each, name) for name in kept] for each in walk(stored)] == [
        [getattr(each, name) for name in kept] for each in walk(tree)
    ]


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"no zlib",
        zlib.compress(b""),
        zlib.compress(b"{}"),
        zlib.compress(b'[0,"button",1]'),
        zlib.compress(b'[1,"button",1,null,[0,0,0,0],"","","","","",{}]'),
        zlib.compress(b'["0","button",1,null,[0,0,0,0],"","","","","",{}]'),
        zlib.compress(b'[0,"wheel",1,null,[0,0,0,0],"","","","","",{}]'),
        zlib.compress(b"\n".join([b'[0,"button",1,null,[0,0,0,0],"","","","","",{}]'] * 2)),
        zlib.compress(b'[0,"button",1,null,[0,0,0,0],"","","","","",[]]'),
        encode_tree(Element(text="cut"))[:-3],
        zlib.compress(b"[" * 100_000),
        zlib.compress(b" " * 20_000_000),
    ],
    ids=range(13),
)
def test_damaged_trees_are_refused(stored: bytes) -> None:
    with pytest.raises(UnreadableTree):
        decode_tree(stored)


def test_larger_trees_than_devices_give_are_not_kept() -> None:
    row = Element(role=Role.CELL, text="a row")
    kept = Element(children=tuple(row for _ in range(ELEMENTS_LIMIT - 1)))
    assert len(decode_tree(encode_tree(kept)).children) == ELEMENTS_LIMIT - 1
    with pytest.raises(UnreadableTree):
        encode_tree(Element(children=tuple(row for _ in range(ELEMENTS_LIMIT))))
