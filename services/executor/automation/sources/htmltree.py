"""Reads HTML into nodes as a browser would: void elements, end tags that are left out; no scripts and no styles."""

from collections import Counter
from collections.abc import Mapping

from services.executor.automation.sources.htmltokens import EndTag, Tag, tokens
from services.executor.automation.sources.nodes import Growing, Node

VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
_IGNORED = frozenset(("script", "style", "template", "noscript", "title", "meta", "link", "base", "wbr"))
_FOREIGN = frozenset(("svg", "math"))
_BLOCKS = frozenset(("address", "article", "aside", "blockquote", "div", "dl", "fieldset", "footer", "form", "header"))
_BLOCKS |= {"hr", "h1", "h2", "h3", "h4", "h5", "h6", "main", "nav", "ol", "p", "pre", "section", "table", "ul"}
_ROWS = ("tr", "tbody", "tfoot")
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
"""Which start tags end an open element that has no end tag."""

_CONTAINERS = frozenset(("ul", "ol", "menu", "dl", "table", "select", "button", "dialog"))
"""A start tag ends nothing outside of these."""


def read_html(text: str) -> Node:
    """A node "#page" with everything in it. SourceError when it is larger than the limits."""
    tree = _Tree(text)
    for token in tokens(text):
        tree.add(token)
    return tree.page


class _Tree:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._growing = Growing(self._position)
        self._growing.begin("#page", {})
        self._open = self._growing.open
        self._ignored: list[str] = []
        self._of_name: Counter[str] = Counter()
        """How many of a name are open: most end tags that end nothing are known by it at once."""
        self.page = self._open[0]

    def _position(self) -> tuple[int, int]:
        return self._text.count("\n", 0, self._at) + 1, self._at - self._text.rfind("\n", 0, self._at)

    def add(self, token: Tag | EndTag | str) -> None:
        if isinstance(token, Tag):
            self._begin(token)
        elif isinstance(token, EndTag):
            self._end(token.name)
        elif not self._ignored:
            self._growing.text(token)

    def _begin(self, tag: Tag) -> None:
        self._at = tag.at
        closed = tag.name in VOID or (tag.closed and any(node.tag in _FOREIGN for node in self._open))
        if self._ignored or tag.name in _IGNORED:
            if not closed and (not self._ignored or tag.name == self._ignored[0]):
                self._ignored.append(tag.name)
            return
        self._close_before(tag.name)
        self._growing.begin(tag.name, tag.attributes, leaf=closed)
        self._of_name[tag.name] += not closed

    def _close_before(self, name: str) -> None:
        """Close the elements that this start tag ends, up to the container around."""
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
