"""User-entered text: Unicode normalization, length limits, and the suffixes by which names are searched."""

import re

from mobiletest_automation.flows.labels import NAME_LIMIT, InvalidLabel, clean_text
from services.catalog.model.values import InvalidValue

VERSION_LIMIT = 200
# Longer ones find hardly fewer names, but take more room.
SUFFIX_LIMIT = 12
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def name_suffixes(folded: str) -> list[str]:
    """The beginnings of what follows each character of a folded name, for finding a text anywhere in it by an index."""
    return sorted({folded[start : start + SUFFIX_LIMIT] for start in range(len(folded))})


def suffix_of(pattern: str) -> tuple[str, bool]:
    """The beginning of the text that the pattern of `search_pattern` finds, as long as a suffix, and whether it is the
    whole text.
    """
    needle = _ESCAPED.sub(r"\1", pattern)
    return needle[:SUFFIX_LIMIT], len(needle) <= SUFFIX_LIMIT


def validate_name(name: str) -> str:
    """The trimmed, normalized name.

    Raises:
        InvalidValue: unless it has 1 to 200 characters and no control characters.
    """
    return validate_text(name, "name", NAME_LIMIT)


def validate_version(version: str, field: str = "version") -> str:
    """The trimmed, normalized version.

    Raises:
        InvalidValue: unless it has 1 to 200 characters and no control characters.
    """
    return validate_text(version, field, VERSION_LIMIT)


def validate_text(text: str, field: str, limit: int, *, lines: bool = False) -> str:
    """The trimmed, normalized text.

    Line breaks and tabs are allowed with `lines`. These are the rules of rules.proto, for texts from files.

    Raises:
        InvalidValue: unless it has 1 to `limit` characters, one of which can be seen, and no control characters.
    """
    try:
        return clean_text(text, field, limit, lines=lines)
    except InvalidLabel as wrong:
        raise InvalidValue(wrong.field, wrong.message, wrong.kind) from None
