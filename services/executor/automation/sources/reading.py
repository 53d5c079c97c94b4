"""Recognises what kind of page source a text is, and reads it."""

import re

from services.executor.automation.elements import Element
from services.executor.automation.sources import fake, xcuitest
from services.executor.automation.sources.fake import read_fake
from services.executor.automation.sources.htmltree import read_html
from services.executor.automation.sources.nodes import BYTES_LIMIT, Node, SourceError
from services.executor.automation.sources.page import read_page
from services.executor.automation.sources.uiautomator import read_uiautomator
from services.executor.automation.sources.xcuitest import read_xcuitest
from services.executor.automation.sources.xmltree import read_xml

KINDS = "XML of XCUITest, UiAutomator2 or Appium's fake driver, or HTML"
_PROLOG = re.compile(r"\ufeff?\s*(?:<\?xml[^>]{0,200}\?>\s*)?")
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_FIRST = re.compile(r"<(?P<doctype>!doctype\s+)?(?P<tag>[A-Za-z][\w.$:-]*)", re.IGNORECASE)
_HTML = frozenset(("html", "head", "body", "main", "div", "section", "article", "nav", "header", "footer", "form"))
_HTML |= {"fieldset", "p", "span", "a", "button", "input", "select", "textarea", "ul", "ol", "li", "table", "h1", "h2"}
_HTML |= {"h3", "h4", "h5", "h6", "label", "img", "dialog"}


def read_source(text: str, platform: str | None = None) -> Element:
    """The screen that a page source describes, from a driver or a browser.

    `platform` is "Android" or "iOS" where it is known. SourceError (with line and column) for what is no page source,
    not well-formed, too large (4 MiB, 20,000 nodes, 400 levels) or of another platform than the one given.
    """
    _measure(text)
    first = _first(text)
    tag = first["tag"].lower()
    if tag == "html" or (tag in _HTML and first["doctype"] is None):
        return read_page(read_html(text))
    stripped = text.lstrip("\ufeff \t\r\n")
    root = read_xml(stripped, lines_before=text.count("\n", 0, len(text) - len(stripped)))
    return _read(root, platform)


def _measure(text: str) -> None:
    try:
        size = len(text) if len(text) > BYTES_LIMIT else len(text.encode())
    except UnicodeEncodeError:
        raise SourceError("the source has half of a surrogate pair, which is no character: send UTF-8") from None
    if size > BYTES_LIMIT:
        raise SourceError("the source is larger than 4 MiB: send one screen")


def _first(text: str) -> re.Match[str]:
    """The first tag, or the document type before it."""
    begun = _PROLOG.match(text)
    at = begun.end() if begun else 0
    while comment := _COMMENT.match(text, at):
        at = comment.end()
    first = _FIRST.match(text, at)
    if first is None:
        line = text.count("\n", 0, at) + 1
        raise SourceError(
            f"this is no page source: it begins with no tag; send {KINDS}", line, at - text.rfind("\n", 0, at)
        )
    return first


def _read(root: Node, platform: str | None) -> Element:
    if root.tag == "hierarchy":
        _agree("Android", platform)
        return read_uiautomator(root)
    if _has(root, xcuitest.PREFIX):
        _agree("iOS", platform)
        return read_xcuitest(root)
    if root.tag in ("AppiumAUT", "app") or root.tag.startswith(fake.PREFIX):
        return read_fake(root)
    raise SourceError(f"the source begins with <{root.tag[:60]}>, which is of no driver that is known: send {KINDS}")


def _has(root: Node, prefix: str) -> bool:
    return root.tag.startswith(prefix) or (
        root.tag == "AppiumAUT" and any(n.tag.startswith(prefix) for n in root.nodes)
    )


def _agree(found: str, platform: str | None) -> None:
    if platform is not None and platform != found:
        raise SourceError(f"this is a screen of {found}, but the platform is {platform}: send the source that fits")
