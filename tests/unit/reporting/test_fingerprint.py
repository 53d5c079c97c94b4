"""Failures that read the same once everything accidental is replaced fall into one group."""

import string
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from services.reporting.model import volatile_patterns
from services.reporting.model.fingerprint import REASON_LENGTH, fingerprint, normalise
from tests.fakes.reporting_attempts import NO_DEADLINE

CORPUS = Path(__file__).with_name("failure_messages.yaml")
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
    ("request id req_8f3a2b1c9d, session id=0123456789abcdef0123456789abcdef", "request id <id>, session id=<id>"),
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
    ("seen at 11-20 09:12:01.412  4711  4712 E Shop: twice", "seen at <time> <n> <n> E Shop: twice"),
    ("https://user:secret@api.acme.test:8443/v1/x.", "https://api.acme.test:<n>/<path>."),
    ("\\u001b[31mred\\u001b[0m and [32mgreen[0m, waited [30m]", "red and green, waited [<n>m]"),
    ("#12 was not found\nat checkout (3 items)", "#<n> was not found at checkout (3 items)"),
    ("1080x2400 of v2.31.0 in 1m 30s, PT1M30S, Fri, 20 Nov 2026 10:11:12 GMT", "<n> of <n> in <time>, <time>, <time>"),
    ("", ""),
]


@pytest.mark.parametrize(("message", "expected"), NORMALISED)
def test_normalise_replaces_what_differs_between_runs_and_is_idempotent(message: str, expected: str) -> None:
    assert (normalise(message), normalise(expected)) == (expected, expected)


def test_at_most_200_characters_remain() -> None:
    assert len(normalise("word" * 100)) == REASON_LENGTH


@NO_DEADLINE
@given(st.text(string.printable + "“”‘’\x1b", max_size=300) | st.text(max_size=300))
def test_any_text_has_one_line_of_bounded_length(message: str) -> None:
    reason = normalise(message)
    assert len(reason.splitlines()) <= 1
    assert len(reason) <= REASON_LENGTH
    assert "\x1b" not in reason


@NO_DEADLINE
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


@pytest.fixture(scope="module")
def kinds() -> list[dict[str, Any]]:
    """Messages that have to fall into one group, and what the executor says beside them."""
    listed: list[dict[str, Any]] = yaml.safe_load(CORPUS.read_text(encoding="utf-8"))
    return listed


def test_each_group_of_the_corpus_has_a_fingerprint_of_its_own(kinds: list[dict[str, Any]]) -> None:
    fingerprints = {
        kind["group"]: {fingerprint(kind["category"], kind["step"], normalise(said)) for said in kind["messages"]}
        for kind in kinds
    }
    assert {group: distinct for group, distinct in fingerprints.items() if len(distinct) != 1} == {}
    groups = Counter(fingerprint for (fingerprint,) in fingerprints.values())
    assert [group for group, (fingerprint,) in fingerprints.items() if groups[fingerprint] > 1] == []


def test_normalising_the_corpus_again_changes_nothing(kinds: list[dict[str, Any]]) -> None:
    changed = {}
    for kind in kinds:
        reasons = {normalise(message) for message in kind["messages"]}
        again = {normalise(reason) for reason in reasons if len(reason) < REASON_LENGTH - 10}
        changed[kind["group"]] = again - reasons
    assert {group: texts for group, texts in changed.items() if texts} == {}


def _accidents() -> dict[str, st.SearchStrategy[str]]:
    """What differs from run to run, by the placeholder that has to stand for it."""
    hexadecimal = st.text("0123456789abcdef", min_size=16, max_size=40).filter(lambda it: not it.isdigit())
    numbers = st.integers(10, 10**12).map(str)
    moments = st.datetimes().map(lambda at: at.replace(year=2026))
    names = st.text(string.ascii_letters, min_size=1, max_size=9)
    return {
        "<id>": st.uuids().map(str) | hexadecimal.filter(lambda it: not it.isalpha()),
        "<n>": numbers | st.floats(10, 1e6).map("{:.2f}".format) | st.integers(1000, 10**9).map("{:,}".format),
        "<address>": st.integers(0, 2**48).map(hex)
        | st.ip_addresses(v=4).map(str)
        | st.ip_addresses(v=4).map("{}:80".format),
        "<time>": moments.map(lambda at: at.isoformat() + "Z")
        | moments.map("{:%a, %d %b %Y %H:%M:%S GMT}".format)
        | moments.map("{:%d/%b/%Y:%H:%M:%S +0000}".format)
        | moments.map("{:%H:%M:%S}".format)
        | st.tuples(numbers, st.sampled_from(["ms", " ms", "s", " seconds", " minutes", " SECONDS"])).map("".join),
        "<path>": st.lists(names, min_size=2, max_size=6).map(lambda parts: "/" + "/".join(parts) + ".png")
        | st.lists(names, min_size=1, max_size=6).map(lambda parts: "C:\\" + "\\".join(parts)),
    }


SENTENCES = [
    "Could not reach {}, giving up",
    "Step failed ({}) and the test ended",
    "error={}; see the log",
    '"Pay 12 €" was not there: {}',
    "{} is not what com.acme:id/row_12 shows",
]


@NO_DEADLINE
@given(st.data(), st.sampled_from(sorted(_accidents())), st.sampled_from(SENTENCES))
def test_volatile_parts_become_placeholders_anywhere_in_the_message(
    data: st.DataObject, placeholder: str, sentence: str
) -> None:
    accident = data.draw(_accidents()[placeholder])
    assert normalise(sentence.format(accident)) == sentence.format(placeholder)


@NO_DEADLINE
@given(st.text(string.ascii_letters + string.digits + " €:,.!?-+%", min_size=1, max_size=60).map(str.strip))
@example("10.0.0.1")
def test_quoted_text_stays(text: str) -> None:
    """Except for ids and addresses in it."""
    whole = " ".join(f'Button "{text}" and label “{text}” were not found after 30 s'.split())
    if not volatile_patterns.IDS.search(text) and not volatile_patterns.NETWORK.search(text):
        assert normalise(whole) == whole.replace("30 s", "<time>")
