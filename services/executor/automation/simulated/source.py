"""Writes a simulated screen as the XML that a driver of its platform gives, marked as simulated."""

import re
from xml.sax.saxutils import quoteattr

from services.executor.automation.elements import Element

_ROOTS = {"android": ("hierarchy", "class"), "ios": ("AppiumAUT", "type")}
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""What XML has no way to write."""


def raw(root: Element, platform: str) -> str:
    """The tree as UiAutomator2 (android) or XCUITest (ios) would say it; the elements' classes are the tags."""
    name, kind = _ROOTS[platform]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} simulated="true">'
    return "\n".join((head, *_lines(root, kind, "  "), f"</{name}>\n"))


def _lines(element: Element, kind: str, indent: str) -> list[str]:
    tag = element.attributes.get(kind, "node")
    said = " ".join(f"{name}={_quoted(value)}" for name, value in element.attributes.items())
    if not element.children:
        return [f"{indent}<{tag} {said}/>"]
    inside = [line for child in element.children for line in _lines(child, kind, indent + "  ")]
    return [f"{indent}<{tag} {said}>", *inside, f"{indent}</{tag}>"]


def _quoted(value: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
