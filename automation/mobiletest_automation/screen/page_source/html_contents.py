"""What is inside each node of an HTML page, from the leaves up: a text is read once, however deep it is nested."""

from collections.abc import Iterable
from dataclasses import dataclass

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.page_source.html_semantics import is_hidden
from mobiletest_automation.screen.page_source.nodes import SourceNode, SourceTooLarge

# Characters of the inner text of an element; the text directly inside an element without others is not cut.
TEXT_LIMIT = 10_000

# Characters of the inner texts of all elements together, which grow with the depth of a page.
ALL_TEXTS_LIMIT = 20_000_000

INLINE = frozenset(("a", "abbr", "b", "button", "cite", "code", "em", "i", "img", "input", "kbd", "label", "mark"))
INLINE |= {"meter", "output", "progress", "q", "s", "select", "small", "span", "strong", "sub", "sup", "svg", "td"}
INLINE |= {"textarea", "th", "time", "u"}
"""Tags that do not begin a new line."""

CONTROLS = frozenset({"input", "select", "textarea", "button"})
_PHRASING = (INLINE - CONTROLS - {"td", "th"}) | {"br"}


@dataclass(frozen=True, slots=True)
class Contents:
    """`raw` is the inner text, with a space at either end if there is one; `phrasing`: all inside is running text.

    `control` is the first control inside, `option` the first option and `chosen` the last selected one.
    """

    raw: str = ""
    phrasing: bool = True
    control: SourceNode | None = None
    option: SourceNode | None = None
    chosen: SourceNode | None = None


class PageContents:
    """The contents of all nodes of a page.

    Raises:
        SourceTooLarge: their texts are too long together.
    """

    def __init__(self, nodes: list[SourceNode]) -> None:
        """`nodes` are all nodes of the page, parents first."""
        self._contents: dict[SourceNode, Contents] = {}
        total = 0
        for node in reversed(nodes):
            contents = self._contents[node] = self._read(node)
            total += len(contents.raw)
            if total > ALL_TEXTS_LIMIT:
                raise SourceTooLarge(
                    f"the texts inside nested elements have more than {ALL_TEXTS_LIMIT} characters: send one screen"
                )

    def __getitem__(self, node: SourceNode) -> Contents:
        return self._contents[node]

    def inner_text(self, node: SourceNode) -> str:
        """The visible text inside, without the contents of fields and what attributes hide."""
        return self[node].raw.strip() if node.nodes else node.direct_text

    def _read(self, node: SourceNode) -> Contents:
        inside = [(child, self[child]) for child in node.nodes]
        return Contents(
            raw=cut(_collapse("".join(map(self._piece, node.content))), TEXT_LIMIT),
            phrasing=all(child.tag in _PHRASING and contents.phrasing for child, contents in inside),
            control=_first(child if child.tag in CONTROLS else contents.control for child, contents in inside),
            option=_first(child if child.tag == "option" else contents.option for child, contents in inside),
            chosen=_first(_chosen(child, contents) for child, contents in reversed(inside)),
        )

    def _piece(self, part: SourceNode | str) -> str:
        if isinstance(part, str):
            return part
        if part.tag in ("select", "textarea") or is_hidden(part.tag, part.attributes):
            return ""
        apart = "" if part.tag in _PHRASING and part.tag != "br" else " "
        alternative = part.attributes.get("alt", "") if part.tag == "img" else ""
        return f"{apart}{alternative}{self[part].raw}{apart}"


def _chosen(child: SourceNode, contents: Contents) -> SourceNode | None:
    """Options inside an option come after it."""
    selected = child.tag == "option" and "selected" in child.attributes
    return contents.chosen or (child if selected else None)


def _first(iterable: Iterable[SourceNode | None]) -> SourceNode | None:
    return next((each for each in iterable if each is not None), None)


def _collapse(text: str) -> str:
    """The text with each run of spaces as one, also at its ends."""
    words = " ".join(text.split())
    if not words:
        return " " if text else ""
    return f"{' ' if text[0].isspace() else ''}{words}{' ' if text[-1].isspace() else ''}"
