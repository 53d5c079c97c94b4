"""Cuts HTML into tags and texts, as its standard says, in one pass: time grows with the length and with nothing else.

(html.parser of the standard library takes minutes for some broken pages of 4 MiB.)
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.executor.automation.sources.nodes import SourceError

_TEXT = re.compile(r"(?:[^<]|<(?![A-Za-z/!?]))++")
_NAME = re.compile(r"[^\s/>]++")
_GAP = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"'][^\s>]*+)))?"""
)
_RAW = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style", "title", "textarea")}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag; `closed` when it ends with "/>". `at` is where in the source it stands."""

    name: str
    attributes: dict[str, str]
    closed: bool
    at: int


@dataclass(frozen=True, slots=True)
class EndTag:
    name: str


Token = Tag | EndTag | str


def tokens(text: str) -> Iterator[Token]:
    """Tags and texts in order; comments, declarations and what is in scripts and styles are left out."""
    at, end = 0, len(text)
    while at < end:
        if found := _TEXT.match(text, at):
            yield unescaped(found[0])
            at = found.end()
        elif text.startswith("<!--", at):
            at = _after(text, "-->", at + 4)
        elif text[at + 1 : at + 2].isalpha():
            tag, at = _tag(text, at)
            if tag is not None:
                yield tag
                if tag.name in _RAW:
                    closing = _RAW[tag.name].search(text, at)
                    raw = text[at : closing.start() if closing else end]
                    if tag.name == "textarea":
                        yield unescaped(raw)
                    at += len(raw)
        else:
            name = _NAME.match(text, at + 2) if text[at + 2 : at + 3].isalpha() and text[at + 1] == "/" else None
            at = _after(text, ">", at + 2)
            if name is not None:
                yield EndTag(name[0].lower())


def unescaped(text: str) -> str:
    """The text with its character references replaced."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        raise SourceError("a character reference has thousands of digits: send what the browser gave") from None


def _after(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)


def _tag(text: str, begun: int) -> tuple[Tag | None, int]:
    """The start tag and where it ends; none when the source ends within it."""
    name = _NAME.match(text, begun + 1)
    assert name is not None  # noqa: S101 (there is a letter)
    attributes: dict[str, str] = {}
    at = name.end()
    while True:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if at >= len(text):
            return None, at
        if text[at] == ">":
            return Tag(name[0].lower(), attributes, text[at - 1] == "/", begun), at + 1
        found = _ATTRIBUTE.match(text, at)
        if found is None:
            return None, len(text)
        value = found["double"] or found["single"] or found["bare"] or ""
        attributes.setdefault(found["name"].lower(), unescaped(value))
        at = _past_open_quote(text, found.end())


def _past_open_quote(text: str, at: int) -> int:
    """A quote that is opened and never closed goes on to the end of the source."""
    return len(text) if re.compile(r"""\s*+=\s*+["']""").match(text, at) else at
