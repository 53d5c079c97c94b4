"""What a test's author has allowed by the words of a step: links and apps that are named in it."""

import re

_LINK = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}:/{1,2}[^\s\"'“”‘’<>]+|\bwww\.[^\s\"'“”‘’<>]+", re.IGNORECASE)
_OTHER_SCHEMES = re.compile(r"\b(?:mailto|tel|sms|data|javascript|intent|file|about|market|itms\w*):\S+", re.IGNORECASE)


def links(text: str) -> tuple[str, ...]:
    """The links in a text, without the punctuation of the sentence around them."""
    found = [*_LINK.findall(text), *_OTHER_SCHEMES.findall(text)]
    return tuple(dict.fromkeys(link.rstrip(".,;:!?)]}") for link in found))


def foreign_links(text: str, goal: str) -> tuple[str, ...]:
    """The links in the text that the goal does not name."""
    allowed = set(links(goal))
    return tuple(link for link in links(text) if link not in allowed)
