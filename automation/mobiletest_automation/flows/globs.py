"""Globs of paths as Maestro reads them (those of Java): `*` stays inside a folder, `**` does not."""

import re

import re2

_ESCAPED = re.compile(r"[\W_]", re.UNICODE)


class InvalidGlob(ValueError):
    """A glob that cannot be read; the message says why."""


class Glob:
    """Matches whole paths with `/` between their parts. InvalidGlob."""

    def __init__(self, text: str) -> None:
        self._regex = re2.compile(_translate(text))

    def matches(self, path: str) -> bool:
        """Whether the path fits, in time linear in its length."""
        return self._regex.fullmatch(path) is not None


def _translate(text: str) -> str:
    """The regular expression of a glob."""
    found, at, inside = "", 0, False
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*" and text.startswith("*", at):
            found, at = found + ".*", at + 1
        elif char in "*?":
            found += "[^/]*" if char == "*" else "[^/]"
        elif char == "[":
            end = text.find("]", at + 1)
            found, at = found + _class(text[at:end] if end > 0 else "/"), end + 1
        elif char == "\\":
            found, at = found + _literal(text[at : at + 1]), at + 1
        elif char == "{" and not inside:
            found, inside = found + "(?:", True
        elif inside and char in ",}":
            found, inside = found + ("|" if char == "," else ")"), char == ","
        else:
            found += _literal(char)
    if inside:
        raise InvalidGlob("the } of a { is missing")
    return f"(?s:{found})"


def _class(content: str) -> str:
    """One of several characters: `abc`, `a-z`, or with a leading `!` any other."""
    if "/" in content:
        raise InvalidGlob("the ] of a [ is missing, or there is a / between them")
    negated, members = content.startswith("!"), content.removeprefix("!")
    escaped = "".join(char if char == "-" else _literal(char) for char in members)
    return f"[^/{escaped}]" if negated else f"[{escaped}]"


def _literal(char: str) -> str:
    if not char:
        raise InvalidGlob("a character is missing after the \\ at its end")
    return _ESCAPED.sub(lambda found: f"\\x{{{ord(found[0]):x}}}", char)
