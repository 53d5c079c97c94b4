"""Texts from outside, made well-formed where they enter."""

import json
import re
from math import isfinite
from typing import Any

import orjson

from mobiletest_automation.flows.texts import REPLACEMENT, well_formed, well_formed_json

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]+)|([0-9]+));", re.ASCII | re.IGNORECASE)


def parse_json(content: bytes | str) -> Any:
    """The JSON value, its texts well-formed.

    JSON.stringify and drivers write a lone surrogate, such as half of an emoji that was cut, as an escape: orjson
    refuses it, and with it all of the answer.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return _parse_json(well_formed(content).encode() if isinstance(content, str) else content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _parse_json(content: bytes) -> Any:
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content.decode(errors="replace")
        return well_formed_json(json.loads(text, parse_float=_finite, parse_int=_integer, parse_constant=_finite))
    return well_formed_json(value) if b"\\u0000" in content else value


def _integer(written: str) -> int | float:
    """As orjson: what has more than 64 bits is a float, because nothing stores it otherwise."""
    number = _finite(written)
    whole = int(written) if abs(number) < 2**64 else None
    return whole if whole is not None and -(2**63) <= whole < 2**63 else number


def _finite(written: str) -> float:
    number = float(written)
    if not isfinite(number):
        raise ValueError(f"{written} is not a JSON number")
    return number


def xml_characters(text: str) -> str:
    """The text with U+FFFD for the characters that XML 1.0 cannot hold."""
    return _NOT_XML.sub(REPLACEMENT, text)


def readable_xml(source: str) -> str:
    """An XML source with U+FFFD for the characters that XML 1.0 cannot hold, also where they are written as numbers."""
    return xml_characters(_REFERENCE.sub(_check_reference, source))


def _check_reference(match: re.Match[str]) -> str:
    digits = (match[1] or match[2]).lstrip("0")
    code = int(digits or "0", 16 if match[1] else 10) if len(digits) < 8 else 0
    return match[0] if code <= 0x10FFFF and not _NOT_XML.match(chr(code)) else REPLACEMENT
