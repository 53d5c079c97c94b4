"""Texts of attempts: shortened without leaving a part of a secret, and made well-formed."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class SecretPositions(Protocol):
    """Where secrets are in a text."""

    def find_across(self, text: str, position: int) -> tuple[int, int] | None:
        """Where a secret begins and ends of which this position is inside; None if there is none."""

    def find_begun(self, text: str) -> int | None:
        """Where a secret begins of which the text ends with a part; None if there is none."""


REPLACEMENT = "\ufffd"
_ILL_FORMED = re.compile("[\0\ud800-\udfff]")

_secrets: ContextVar[SecretPositions | None] = ContextVar("secrets", default=None)


@contextmanager
def splitting_no_secret(secrets: SecretPositions) -> Iterator[None]:
    """In this block, and in the tasks and threads that it starts, no text is cut inside one of these secrets.

    Texts are shortened long before they leave an attempt, which is where secrets are masked. What is left of a secret
    that was cut would not be recognised there, and shown.
    """
    token = _secrets.set(secrets)
    try:
        yield
    finally:
        _secrets.reset(token)


def cut(text: str, limit: int) -> str:
    """The beginning of the text: at most `limit` characters, fewer if a secret lies across the end."""
    if len(text) <= limit:
        return text
    secrets, end = _secrets.get(), limit
    while secrets is not None and (span := secrets.find_across(text, end)):
        end = span[0]
    return text[:end]


def cut_beginning(text: str, limit: int) -> str:
    """The end of the text: at most `limit` characters, fewer if a secret lies across the beginning."""
    if len(text) <= limit:
        return text
    secrets, begin = _secrets.get(), len(text) - limit
    while secrets is not None and (span := secrets.find_across(text, begin)):
        begin = span[1]
    return text[begin:]


def cut_elsewhere(text: str, *limits: int) -> str:
    """A text that a page has cut at one of these lengths, in UTF-16, without the beginning of a secret at its end."""
    secrets = _secrets.get()
    if secrets is None or len(text) < min(limits) // 2 or len(text.encode("utf-16-le")) // 2 not in limits:
        return text
    whole = text.removesuffix(REPLACEMENT)  # without the half of a character
    begin = secrets.find_begun(whole)
    return text if begin is None else cut(whole, begin)


def shorten(text: str, limit: int) -> str:
    """As `cut`, with dots where something is missing."""
    return text if len(text) <= limit else f"{cut(text, limit)}..."


def well_formed(text: str) -> str:
    """The text as UTF-8 can hold it and every reader takes it: U+FFFD for lone surrogates, no NUL."""
    return _ILL_FORMED.sub(_replace, text) if _ILL_FORMED.search(text) else text


def _replace(match: re.Match[str]) -> str:
    return "" if match[0] == "\0" else REPLACEMENT


def well_formed_json(value: Any) -> Any:
    """A JSON value with all its texts well-formed, keys included."""
    match value:
        case str():
            return well_formed(value)
        case Mapping():
            return {well_formed_json(key): well_formed_json(each) for key, each in value.items()}
        case list() | tuple():
            return [well_formed_json(each) for each in value]
        case _:
            return value
