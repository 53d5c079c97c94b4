"""Detects the format of a page source and reads it."""

import re
from xml.parsers import expat

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.page_source import xcuitest
from mobiletest_automation.screen.page_source.html_page import read_page
from mobiletest_automation.screen.page_source.html_parser import read_html
from mobiletest_automation.screen.page_source.nodes import (
    BYTES_LIMIT,
    SourceError,
    SourceNode,
    SourceTooLarge,
    TreeBuilder,
)
from mobiletest_automation.screen.page_source.uiautomator import read_uiautomator
from mobiletest_automation.screen.page_source.xcuitest import read_xcuitest

KINDS = "XML of XCUITest or UiAutomator2, or HTML"
_PROLOG = re.compile(r"\ufeff?\s*(?:<\?xml[^>]{0,200}\?>\s*)?")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_FIRST = re.compile(r"<(?P<doctype>!doctype\s+)?(?P<tag>[A-Za-z][\w.$:-]*)", re.IGNORECASE)
_HTML = frozenset(("html", "head", "body", "main", "div", "section", "article", "nav", "header", "footer", "form"))
_HTML |= {"fieldset", "p", "span", "a", "button", "input", "select", "textarea", "ul", "ol", "li", "table", "h1", "h2"}
_HTML |= {"h3", "h4", "h5", "h6", "label", "img", "dialog"}


def read_source(text: str, platform: str | None = None) -> Element:
    """The screen of a page source from a driver or a browser.

    `platform` is "Android" or "iOS", if known.

    Raises:
        SourceError: the text is not a page source, is malformed, too large (4 MiB, 20,000 nodes, 400 levels, 200
            attributes of a node), or of another platform.
    """
    _check_size(text)
    first = _first_tag(text)
    tag = first["tag"].lower()
    if tag == "html" or (tag in _HTML and first["doctype"] is None):
        return read_page(read_html(text))
    stripped = text.lstrip("\ufeff \t\r\n")
    root = read_xml(stripped, lines_before=text.count("\n", 0, len(text) - len(stripped)))
    return _read(root, platform)


def _check_size(text: str) -> None:
    try:
        size = len(text) if len(text) > BYTES_LIMIT else len(text.encode())
    except UnicodeEncodeError:
        raise SourceError("the source has a lone surrogate: send valid UTF-8") from None
    if size > BYTES_LIMIT:
        raise SourceTooLarge("the source is larger than 4 MiB: send one screen")


def _first_tag(text: str) -> re.Match[str]:
    """The first tag, with the document type before it."""
    begun = _PROLOG.match(text)
    at = begun.end() if begun else 0
    while comment := _COMMENT.match(text, at):
        at = comment.end()
    first = _FIRST.match(text, at)
    if first is None:
        line = text.count("\n", 0, at) + 1
        raise SourceError(
            f"not a page source, it does not begin with a tag: send {KINDS}", line, at - text.rfind("\n", 0, at)
        )
    return first


def _read(root: SourceNode, platform: str | None) -> Element:
    if root.tag == "hierarchy":
        _check_platform("Android", platform)
        return read_uiautomator(root)
    if root.tag == "AppiumAUT" or root.tag.startswith(xcuitest.PREFIX):
        _check_platform("iOS", platform)
        return read_xcuitest(root)
    raise SourceError(f"the source begins with <{cut(root.tag, 60)}>, which no known driver produces: send {KINDS}")


def _check_platform(platform_of_source: str, platform: str | None) -> None:
    if platform is not None and platform != platform_of_source:
        raise SourceError(
            f"this is a screen of {platform_of_source}, but the platform is {platform}: send a source of that platform"
        )


def read_xml(text: str, *, lines_before: int = 0) -> SourceNode:
    """The root node.

    `lines_before` is the number of lines cut off before the text, for the positions in errors.

    Raises:
        SourceError: the text is malformed, has a document type, or exceeds the limits.
    """
    parser = expat.ParserCreate("utf-8")
    growing = TreeBuilder(lambda: (parser.CurrentLineNumber + lines_before, parser.CurrentColumnNumber + 1))

    def refuse(*_: object) -> None:
        raise growing.error("the source has a document type, which is not supported: send what the driver returned")

    def end(_: str) -> None:
        growing.end()

    parser.buffer_text = True
    parser.StartElementHandler = growing.begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = growing.text
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise SourceError(
            f"the source is not well-formed XML ({reason}): send all of what the driver returned",
            error.lineno + lines_before,
            error.offset + 1,
        ) from None
    return growing.roots[0]
