"""Parses HTML into nodes like a browser, with void elements and omitted end tags, in linear time.

html.parser of the standard library takes minutes for some broken pages of 4 MiB. lxml moves texts that Chromium keeps:
of `<a><table></table>Pay</a>`, which a script can build, it makes a link without a text. For 1,200 such pages its nodes
were others than Chromium's in 23, and here in none.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mobiletest_automation.screen.page_source.nodes import SourceError, SourceNode, TreeBuilder

TAGS_LIMIT = 100_000

_TEXT = re.compile(r"(?:[^<]|<(?![A-Za-z/!?]))++")
_NAME = re.compile(r"[^\s/>]++")
_GAP = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(
    r"""(?P<name>[^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"'][^\s>]*+)))?"""
)
_RAW = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style", "title", "textarea")}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag at position `at`; `closed` if it ends with "/>"."""

    name: str
    attributes: dict[str, str]
    closed: bool
    at: int


@dataclass(frozen=True, slots=True)
class EndTag:
    name: str


Token = Tag | EndTag | str


def tokenize(text: str) -> Iterator[Token]:
    """Tags and texts in order, without comments, declarations, scripts and styles."""
    at, end = 0, len(text)
    while at < end:
        if match := _TEXT.match(text, at):
            yield unescape(match[0])
            at = match.end()
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
                        yield unescape(raw)
                    at += len(raw)
        else:
            name = _NAME.match(text, at + 2) if text[at + 2 : at + 3].isalpha() and text[at + 1] == "/" else None
            at = _after(text, ">", at + 2)
            if name is not None:
                yield EndTag(name[0].lower())


def unescape(text: str) -> str:
    """The text with its character references replaced."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        raise SourceError("a character reference has thousands of digits: send what the browser returned") from None


def _after(text: str, mark: str, at: int) -> int:
    position = text.find(mark, at)
    return len(text) if position < 0 else position + len(mark)


def _tag(text: str, begun: int) -> tuple[Tag | None, int]:
    """The start tag and where it ends; None if the source ends inside it."""
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
        match = _ATTRIBUTE.match(text, at)
        if match is None:
            return None, len(text)
        value = match["double"] or match["single"] or match["bare"] or ""
        attributes.setdefault(match["name"].lower(), unescape(value))
        at = _past_open_quote(text, match.end())


def _past_open_quote(text: str, at: int) -> int:
    """An unclosed quote extends to the end of the source."""
    return len(text) if re.compile(r"""\s*+=\s*+["']""").match(text, at) else at


VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
_IGNORED = frozenset(("script", "style", "template", "noscript", "title", "meta", "link", "base", "wbr"))
_FOREIGN = frozenset(("svg", "math"))
_BLOCKS = frozenset(("address", "article", "aside", "blockquote", "div", "dl", "fieldset", "footer", "form", "header"))
_BLOCKS |= {"hr", "h1", "h2", "h3", "h4", "h5", "h6", "main", "nav", "ol", "p", "pre", "section", "table", "ul"}
_ROWS = ("tr", "tbody", "tfoot")
# Start tags that end an open element without an end tag.
_CLOSED_BY: Mapping[str, frozenset[str]] = {
    "head": frozenset(("body",)),
    "li": frozenset(("li",)),
    "option": frozenset(("option", "optgroup")),
    "optgroup": frozenset(("optgroup",)),
    "dt": frozenset(("dt", "dd")),
    "dd": frozenset(("dt", "dd")),
    "tr": frozenset(_ROWS),
    "td": frozenset(("td", "th", *_ROWS)),
    "th": frozenset(("td", "th", *_ROWS)),
    "tbody": frozenset(("tbody", "tfoot")),
    "thead": frozenset(("tbody", "tfoot")),
    "p": _BLOCKS,
}
# The elements that a start tag ends.
_ENDED_BY = {
    name: tuple(ended for ended, names in _CLOSED_BY.items() if name in names)
    for name in frozenset().union(*_CLOSED_BY.values())
}

# A start tag does not end elements outside these.
_CONTAINERS = frozenset(("ul", "ol", "menu", "dl", "table", "select", "button", "dialog"))


def read_html(text: str) -> SourceNode:
    """A node "#page" with the whole page.

    Raises:
        SourceError: it exceeds the limits.
    """
    tree = _HtmlTreeBuilder(text)
    for token in tokenize(text):
        tree.add(token)
    return tree.page


class _HtmlTreeBuilder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tags = 0
        self._growing = TreeBuilder(self._position)
        self._growing.begin("#page", {})
        self._open = self._growing.open
        self._ignored: list[str] = []
        # The number of open elements by tag, by which most unmatched end tags are found at once.
        self._of_name: Counter[str] = Counter()
        self.page = self._open[0]

    def _position(self) -> tuple[int, int]:
        return self._text.count("\n", 0, self._at) + 1, self._at - self._text.rfind("\n", 0, self._at)

    def add(self, token: Tag | EndTag | str) -> None:
        if isinstance(token, Tag):
            self._at = token.at
            self._count_tag()
            self._begin(token)
        elif isinstance(token, EndTag):
            self._end(token.name)
        elif not self._ignored:
            self._growing.text(token)

    def _count_tag(self) -> None:
        """Tags that make no node, such as those in a template, count too."""
        self._tags += 1
        if self._tags > TAGS_LIMIT:
            raise self._growing.error(f"the source has more than {TAGS_LIMIT} tags: send one screen")

    def _begin(self, tag: Tag) -> None:
        closed = tag.name in VOID or (tag.closed and any(map(self._of_name.get, _FOREIGN)))
        if self._ignored or tag.name in _IGNORED:
            if not closed and (not self._ignored or tag.name == self._ignored[0]):
                self._ignored.append(tag.name)
            return
        self._close_before(tag.name)
        self._growing.begin(tag.name, tag.attributes, leaf=closed)
        self._of_name[tag.name] += not closed

    def _close_before(self, name: str) -> None:
        """Close the elements that this start tag ends, up to the surrounding container."""
        if not any(map(self._of_name.get, _ENDED_BY.get(name, ()))):
            return
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag in _CONTAINERS:
                return
            if name in _CLOSED_BY.get(self._open[depth].tag, ()):
                self._close(depth)

    def _end(self, name: str) -> None:
        if self._ignored:
            if name == self._ignored[-1]:
                self._ignored.pop()
            return
        if self._of_name[name]:
            depth = next(d for d in range(len(self._open) - 1, 0, -1) if self._open[d].tag == name)
            self._close(depth)

    def _close(self, depth: int) -> None:
        self._of_name.subtract(node.tag for node in self._open[depth:])
        del self._open[depth:]
