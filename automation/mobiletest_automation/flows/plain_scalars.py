"""What a scalar without quotes is (text, null, boolean or number) in YAML 1.2, and in YAML 1.1, which Maestro reads."""

import re
from math import isfinite

from mobiletest_automation.flows.nodes import BOOLEAN_WORDS, Scalar

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS = {
    written: truth for word, truth in BOOLEAN_WORDS.items() for written in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
# Longer integers are texts: steps are stored and sent as JSON, whose numbers are exact up to 2^53.
_EXACT_DIGITS = 15
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?")
_OLD_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0b_*(?P<binary>[01][01_]{0,60})|0x_*(?P<hexadecimal>[0-9a-fA-F][0-9a-fA-F_]{0,60})"
    r"|0_*(?P<octal>[0-7][0-7_]{0,60})|(?P<decimal>0|[1-9][0-9_]{0,60}))"
)
_BASES = {"binary": 2, "hexadecimal": 16, "octal": 8, "decimal": 10}
_OLD_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\._*[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_UNREADABLE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*")


def is_unreadable(text: str) -> bool:
    """Whether YAML 1.1 makes of it a number that Maestro refuses wherever it is: .nan, .inf, or one like 1:30.5."""
    return _UNREADABLE.fullmatch(text) is not None


def plain_value(text: str) -> Scalar:
    """The value in the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text.lstrip("+-")) <= _EXACT_DIGITS else text
    return float(text) if _FLOAT.fullmatch(text) and isfinite(float(text)) else text


def old_value(text: str) -> Scalar:
    """The value in YAML 1.1 if it is a boolean or a number there, or is a number in YAML 1.2 only; otherwise None."""
    if text in _WORDS:
        return _WORDS[text]
    integer = _OLD_INTEGER.fullmatch(text)
    if integer is not None and integer.lastgroup is not None:
        number = int(integer["sign"] + integer[integer.lastgroup].replace("_", ""), _BASES[integer.lastgroup])
        return number if abs(number) < 10**_EXACT_DIGITS else text
    if _OLD_FLOAT.fullmatch(text):
        decimal = float(text.replace("_", ""))
        return decimal if isfinite(decimal) else text
    return text if isinstance(plain_value(text), int | float) else None
