"""Addresses in the texts of comments."""

import pytest

from services.gateway.dashboard.run_comments import split_addresses


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("See https://a.example/1?x=2#3, then HTTP://b.example.", ["https://a.example/1?x=2#3", "HTTP://b.example"]),
        ("(https://a.example/x)", ["https://a.example/x"]),
        ("javascript:alert(1) ftp://a.example //a.example", []),
        ("https://a.example/\"onclick='x' <https://b.example>", ["https://a.example/", "https://b.example"]),
        ("https://a.example/\u202egnp.exe", ["https://a.example/"]),
        ("https://\nhttp://", []),
    ],
)
def test_only_what_begins_like_a_web_address_becomes_a_link(text: str, addresses: list[str]) -> None:
    parts = list(split_addresses(text))
    assert "".join(part for part, _ in parts) == text
    assert [part for part, is_address in parts if is_address] == addresses
