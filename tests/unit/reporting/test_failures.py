"""Failures that read the same once everything accidental is replaced fall into one group."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.failures import REASON_LENGTH, fingerprint, normalise
from tests.fakes.reporting import UNHURRIED

NORMALISED = [
    ('Element "Order 1234" not found after 30 seconds', 'Element "Order 1234" not found after <time>'),
    ("\x1b[31mAssertionError\x1b[0m: expected 'Total: 12.50'", "AssertionError: expected 'Total: 12.50'"),
    (
        "java.lang.IllegalStateException: View not attached\n\tat com.app.Foo.bar(Foo.kt:42)\n"
        "\tat com.app.Main.main(Main.java:10)\nCaused by: java.io.IOException: boom\n\t... 12 more",
        "java.lang.IllegalStateException: View not attached <stack> Caused by: java.io.IOException: boom <stack>",
    ),
    (
        'Traceback (most recent call last):\n  File "/usr/lib/x.py", line 12, in f\n    raise X\n'
        "ValueError: bad value 17",
        "<stack> ValueError: bad value <n>",
    ),
    ("Session f47ac10b-58cc-4372-a567-0e02b2c3d479 is terminated", "Session <id> is terminated"),
    ("Session 'f47ac10b-58cc-4372-a567-0e02b2c3d479' is terminated", "Session '<id>' is terminated"),
    ("request id req_8f3a2b1c9d, session id=0123456789abcdef0123456789abcdef", "request id req_<id>, session id=<id>"),
    (
        "GET https://api.example.com/v1/users/123?token=abc&x=1 returned 503",
        "GET https://api.example.com/<path><query> returned <n>",
    ),
    ("connect ECONNREFUSED 127.0.0.1:4723", "connect ECONNREFUSED <address>"),
    ("EXC_BAD_ACCESS at 0x00007fff5fbff8a0", "EXC_BAD_ACCESS at <address>"),
    ("File not found: /var/mobile/Containers/x.png", "File not found: <path>"),
    ("C:\\Users\\me\\app.apk could not be installed: code -115", "<path> could not be installed: code -<n>"),
    ("Login.kt:42: assertion failed", "<path>: assertion failed"),
    (
        "Could not find com.example.app:id/login_button_12 in 3 attempts (waited 12345 ms)",
        "Could not find com.example.app:id/login_button_12 in 3 attempts (waited <time>)",
    ),
    (
        'no element by //XCUIElementTypeButton[@name="Log in 42"] at 2026-11-20T10:00:00.123Z',
        'no element by //XCUIElementTypeButton[@name="Log in 42"] at <time>',
    ),
    ("timeout of 5s exceeded on ~home_screen, 34px off", "timeout of <time> exceeded on ~home_screen, <n>px off"),
    ("couldn't find 'Login' and didn't see “Home 22”", "couldn't find 'Login' and didn't see “Home 22”"),
    ("element id=submit-42 is not tappable", "element id=submit-42 is not tappable"),
    ("and/or n/a 3/4 100%", "and/or n/a 3/4 <n>%"),
    ("  two\n lines  ", "two lines"),
    ("", ""),
]


@pytest.mark.parametrize(("message", "expected"), NORMALISED)
def test_normalised(message: str, expected: str) -> None:
    assert normalise(message) == expected


@pytest.mark.parametrize(("message", "expected"), NORMALISED)
def test_normalising_again_changes_nothing(message: str, expected: str) -> None:
    assert normalise(expected) == expected


def test_at_most_200_characters_remain() -> None:
    assert len(normalise("word " * 100)) == REASON_LENGTH


@UNHURRIED
@given(st.text(string.printable + "“”‘’\x1b", max_size=300))
def test_any_text_has_one_line_of_bounded_length(message: str) -> None:
    reason = normalise(message)
    assert "\n" not in reason
    assert len(reason) <= REASON_LENGTH


@UNHURRIED
@given(st.integers(10, 10**9), st.integers(10, 10**9), st.uuids(), st.uuids())
def test_numbers_and_ids_make_no_difference(one: int, other: int, first: object, second: object) -> None:
    assert normalise(f"Row {one} of {first} is gone") == normalise(f"Row {other} of {second} is gone")


def test_a_fingerprint_is_of_category_step_kind_and_text() -> None:
    base = fingerprint("element_not_found", "tapOn", "Element not found")
    assert base == fingerprint("element_not_found", "tapOn", "Element not found")
    others = {
        fingerprint("step_timeout", "tapOn", "Element not found"),
        fingerprint("element_not_found", "assertVisible", "Element not found"),
        fingerprint("element_not_found", "tapOn", "Element not seen"),
    }
    assert len({base, *others}) == 4
    assert len(base) == 16
