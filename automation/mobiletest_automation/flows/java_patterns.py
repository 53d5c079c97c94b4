"""Translates a regular expression of Java, in which flows are written, into one of RE2 that means the same.

RE2 would read some of Java's syntax as something else without an error; that is translated or refused.
"""

import re
from collections.abc import Mapping

_HORIZONTAL = r"\t \x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}"
_VERTICAL = r"\n\x0b\f\r\x{85}\x{2028}\x{2029}"
_SPACES: Mapping[str, str] = {"h": _HORIZONTAL, "v": _VERTICAL, "s": r"\s\x0b"}
# Java's classes of ASCII characters that have a namesake in RE2; Upper and Lower depend on Java's version.
_POSIX = frozenset(("ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank", "Cntrl", "XDigit", "Space"))

_DIGIT = re.compile("[0-9]")
_QUOTED = re.compile(r"\\Q.*?(?:\\E|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([pP])\{(\w+)\}|(.))", re.DOTALL | re.UNICODE)
_FLAGS = re.compile(r"\(\?[a-zA-Z]*-?[a-zA-Z]*[:)]")
_BRACKET_HINT = "write \\[ for a bracket"


class UnsupportedPattern(ValueError):
    """Java gives this part of a pattern a meaning that RE2 does not have; the message says which."""


class PlainText(ValueError):
    """The text is no pattern in Java, but one in RE2."""


def to_re2(source: str) -> str:
    """The pattern for RE2.

    Raises:
        UnsupportedPattern: RE2 cannot do what it needs.
        PlainText: it is not a pattern, but a text to find as it is.
    """
    translated: list[str] = []
    position = 0
    in_class = False
    while position < len(source):
        part = _part_at(source, position, in_class)
        position += len(part)
        if part == "+" and not in_class and _is_needlessly_possessive(source, position):
            position += 1
        if part.startswith("\\") and not part.startswith("\\Q"):
            translated.append(_translate_escape(part, in_class))
            continue
        if in_class:
            _check_class(part, source, position)
        elif part == "{" and not _DIGIT.match(source, position) and translated[-1:] != ["\\x"]:
            raise PlainText
        elif part.startswith("(?") and "U" in part:
            raise UnsupportedPattern(f"the flag U in {part} is not supported")
        in_class = part.startswith("[") or (in_class and part != "]")
        translated.append(part)
    return "".join(translated)


_PLAIN = re.compile(r"[^\W_]", re.UNICODE)


def _is_needlessly_possessive(source: str, position: int) -> bool:
    """Whether a "+" follows the one before this position and changes nothing, as in "C++ (new)".

    It changes nothing after a letter or digit, before a character that is another one, or before the end.
    """
    repeated, after = source[position - 2 : position - 1], source[position + 1 : position + 2]
    if source[position : position + 1] != "+" or not _PLAIN.fullmatch(repeated):
        return False
    if source[max(position - 3, 0) : position - 2] == "\\":
        return False
    another = after == " " or (_PLAIN.fullmatch(after) is not None and after.casefold() != repeated.casefold())
    return not after or (another and source[position + 2 : position + 3] not in ("*", "?", "{"))


def _part_at(source: str, position: int, in_class: bool) -> str:
    """What stands at a position: an escape, quoted text, flags, the beginning of a class, or a character."""
    rest = source[position : position + 2]
    if rest == "\\Q" and not in_class:
        match = _QUOTED.match(source, position)
    elif rest.startswith("\\"):
        match = _ESCAPE.match(source, position)
    elif rest == "(?" and not in_class:
        match = _FLAGS.match(source, position)
    else:
        match = None
    if match is not None:
        return match[0]
    if rest.startswith("[") and not in_class:
        begin = source[position : position + 3]
        return next(opening for opening in ("[^]", "[]", "[^", "[") if begin.startswith(opening))
    return "&&" if in_class and rest == "&&" else rest[:1]


def _check_class(part: str, source: str, position: int) -> None:
    """Without a closing bracket it is no class, and the pattern is a plain text."""
    if "]" not in source[position:]:
        return
    if part == "&&":
        raise UnsupportedPattern("&& in [...], the intersection of classes, is not supported: write \\&& for two signs")
    if part == "[":
        raise UnsupportedPattern(f"[ inside [...], a class in a class, is not supported: {_BRACKET_HINT}")


def _translate_escape(part: str, in_class: bool) -> str:
    match = _ESCAPE.fullmatch(part)
    if match is None:
        return part
    if match[1]:
        return _translate_property(part, match[1] == "P", match[2], in_class)
    letter = match[3]
    if letter in "123456789" and not in_class:
        raise UnsupportedPattern(f"\\{letter} is not supported")
    if letter == "R" and not in_class:
        return rf"(?:\r\n|[{_VERTICAL}])"
    if letter in _SPACES:
        return _SPACES[letter] if in_class else f"[{_SPACES[letter]}]"
    if letter.lower() in _SPACES and not in_class:
        return f"[^{_SPACES[letter.lower()]}]"
    return part


def _translate_property(part: str, negated: bool, name: str, in_class: bool) -> str:
    if name in _POSIX:
        members = f"[:{'^' * negated}{name.lower()}:]"
        return members if in_class else f"[{members}]"
    if name.startswith("Is"):
        return f"\\{'P' if negated else 'p'}{{{name[2:]}}}"
    return part
