"""How a secret is spelled in the texts that leave an attempt: in logs, JSON, XML, HTML, URLs, Markdown and Base64."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from html.entities import codepoint2name
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import re2

from mobiletest_automation.flows.texts import REPLACEMENT

# Shorter texts are in every other text, and are not masked.
MIN_LENGTH = 3
# From this length, lines of a secret are masked on their own.
LINE_LENGTH = 8
# From this length, a secret is masked in capitals too: shorter ones are often words.
ANY_CASE_LENGTH = 6
# Longer texts are masked in the usual spellings only.
PATTERN_LENGTH = 80
# From this size, a secret is masked in Base64 and as hexadecimal digits.
CODE_BYTES = 6
# Characters that spell one of the secret.
LONGEST_SPELLING = 24
_PERCENT = re.compile("%[0-9A-F]{2}")
_QUOTES = tuple(
    str.maketrans({'"': double, "'": single})
    for double, single in (('"', "'"), ("&quot;", "'"), ("&quot;", "&#x27;"), ("&quot;", "&#39;"), ("&quot;", "&apos;"))
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ALPHANUMERIC = re.compile("[A-Za-z0-9]+")
# A character, or backslashes in a row: nobody knows which of them are escapes.
_SIGN = re.compile(r"\\+|.", re.DOTALL)
_BACKSLASHES = r"\\{1,8}"
_PERCENT_SIGN = "%(?:25){0,3}"
_REFERENCE = "&(?:amp;){0,3}"
_NAMES = {**codepoint2name, ord("'"): "apos"}
_UNICODE_BLANKS = "\xa0\u2000-\u200a\u202f\u205f\u3000"
# What is between words: where a text is wrapped or shown in one line, they are others.
_BLANKS = (
    rf"(?:[\s{_UNICODE_BLANKS}]+|\+|{_BACKSLASHES}(?:[nrt]|(?i:u00a0|u00(?:20|0a|0d|09)|xa0))"
    rf"|{_PERCENT_SIGN}(?i:20|0a|0d|09|c2{_PERCENT_SIGN}a0)"
    rf"|{_REFERENCE}(?i:nbsp|#(?:9|10|13|32|160)|#x0{{0,2}}(?:[9ad]|20|a0));){{1,4}}"
)


class SecretPattern:
    """Finds a secret however its signs are escaped, its words are separated and, if it is long enough, in any case.

    RE2 takes linear time for any text. The expression is compiled when a text has the longest run of letters and digits
    of the secret, which all of these spellings leave as it is.
    """

    def __init__(self, flat: str) -> None:
        self.reach = LONGEST_SPELLING * len(flat)
        self._flat = flat
        self._any_case = len(flat) >= ANY_CASE_LENGTH
        word = max(_ALPHANUMERIC.findall(flat), key=len, default="")
        self._word = word.lower() if self._any_case else word
        self._expression: Any = None

    def find(self, text: str, lowered: str) -> Iterator[tuple[int, int]]:
        """Where it begins and ends; `lowered` is the text in small letters."""
        if self._word in (lowered if self._any_case else text):
            if self._expression is None:
                self._expression = _compile(self._flat, any_case=self._any_case)
            yield from (match.span() for match in self._expression.finditer(_SURROGATE.sub(REPLACEMENT, text)))


def patterns(text: str) -> Iterator[SecretPattern]:
    """The patterns of a secret: of all of it, and of its longer lines."""
    lines = [line for line in text.splitlines() if len(line.strip()) >= LINE_LENGTH] if "\n" in text else []
    for each in (text, *lines):
        flat = normalize("NFC", " ".join(each.split()))
        if MIN_LENGTH <= len(flat) <= PATTERN_LENGTH:
            yield SecretPattern(flat)


def _compile(flat: str, *, any_case: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    signs = "".join(_following(_SIGN.findall(flat), any_case=any_case))
    return re2.compile(f"(?:{signs})+", options)  # of "aaaaaa" in millions of them, one


def _following(signs: Sequence[str], *, any_case: bool) -> Iterator[str]:
    """The patterns of characters in a row: those of a backslash may take that of the escape that follows."""
    for before, sign in zip(("", *signs), signs, strict=False):
        pattern = _sign(sign, any_case=any_case)
        yield pattern.replace(_BACKSLASHES, r"\\{0,8}") if before.startswith("\\") else pattern


@cache
def _sign(sign: str, *, any_case: bool) -> str:
    """The pattern of a character."""
    cases = dict.fromkeys((sign, sign.lower(), sign.upper()) if any_case else (sign,))
    if sign == " ":
        return _BLANKS
    if sign.startswith("\\"):
        written = rf"{_PERCENT_SIGN}5[cC]|{_REFERENCE}(?:#0{{0,4}}92|(?i:#x0{{0,4}}5c)|bsol);"
        return rf"(?:\\{{{len(sign)},}}|(?:{written}){{{len(sign)}}})"
    if sign.isascii() and sign.isalnum():
        return f"[{''.join(cases)}]"
    return f"(?:{'|'.join(spelled for each in cases for spelled in _escaped(each))})"


def _escaped(sign: str) -> Iterator[str]:
    """The patterns of a character that some texts escape; of the sharp s in capitals there are two."""
    for written in dict.fromkeys((sign, normalize("NFD", sign))):
        yield rf"\\{{0,8}}{re.escape(written)}"
    units, octets = sign.encode("utf-16-be").hex(" ", 2).split(), sign.encode().hex(" ").split()
    yield f"(?i:{''.join(f'{_BACKSLASHES}u{unit}' for unit in units)})"
    yield f"(?i:{''.join(f'{_BACKSLASHES}x{octet}' for octet in octets)})"
    yield f"(?i:{''.join(f'{_PERCENT_SIGN}{octet}' for octet in octets)})"
    if len(sign) == 1:
        yield f"(?i:{_BACKSLASHES}x{ord(sign):02x})"
        named = f"|{_NAMES[ord(sign)]}" if ord(sign) in _NAMES else ""
        yield f"{_REFERENCE}(?:#0{{0,4}}{ord(sign)}|(?i:#x0{{0,4}}{ord(sign):x}){named});"


def codes(text: str) -> Iterator[str]:
    """The text in Base64 wherever it stands among other bytes, and as hexadecimal digits."""
    content = text.encode(errors="replace")
    if len(content) < CODE_BYTES:
        return
    for before in range(3):
        first, end = (8 * before + 5) // 6, 8 * (before + len(content)) // 6
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + content).decode()[first:end]
    yield content.hex()
    yield content.hex().upper()


def spellings(text: str) -> Iterator[str]:
    """The text, it in one line and composed as in sentences, and each of its longer lines, as logs, JSON, XML, HTML and
    URLs spell them.
    """
    lines = [line.strip() for line in text.splitlines()] if "\n" in text else []
    flat = " ".join(text.split())
    for each in (text, flat, normalize("NFC", flat), *(line for line in lines if len(line) >= LINE_LENGTH)):
        if len(each) < MIN_LENGTH:
            continue
        yield each
        for quoted in (json.dumps(each), json.dumps(each, ensure_ascii=False)):
            yield from (quoted[1:-1], quoted[1:-1].replace("<", "\\u003c").replace(">", "\\u003e"))
        yield repr(each)[1:-1]
        for encoded in _percent_encoded(each):
            yield from (encoded, _PERCENT.sub(lambda code: code[0].lower(), encoded))
        for quotes in _QUOTES:
            markup = escape(each, quote=False).translate(quotes)
            yield from (markup, markup.replace("\n", "&#10;"), markup.replace("\n", "&#xA;"))


def _percent_encoded(text: str) -> tuple[str, ...]:
    """As Python, encodeURIComponent and the forms of browsers write it."""
    in_script, in_form = quote(text, safe="!'()*"), quote_plus(text, safe="*").replace("~", "%7E")
    return quote(text), quote(text, safe=""), quote_plus(text), in_script, in_form
