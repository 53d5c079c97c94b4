"""User-entered text: Unicode normalization, case folding for search, and length limits."""

import re
import unicodedata

from services.catalog.model.values import InvalidValue

NAME_LIMIT = 200
VERSION_LIMIT = 200
# Case folding can turn one character into three (U+0390), so no name contains a longer search text than this.
NEEDLE_LIMIT = 3 * NAME_LIMIT
_NUL = "\x00"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def normalize(text: str) -> str:
    """The text in Unicode normalization form C."""
    return unicodedata.normalize("NFC", text)


def fold_case(text: str) -> str:
    """The text in the form used for search: normalized and case-folded."""
    return normalize(normalize(text).casefold())


def validate_name(name: str, field: str = "name") -> str:
    """The trimmed, normalized name; InvalidValue unless it has 1 to 200 characters and no control characters."""
    return validate_text(name, field, NAME_LIMIT)


def validate_version(version: str, field: str = "version") -> str:
    """The trimmed, normalized version; InvalidValue unless it has 1 to 200 characters and no control characters."""
    return validate_text(version, field, VERSION_LIMIT)


def validate_text(text: str, field: str, limit: int, *, lines: bool = False) -> str:
    """The trimmed, normalized text; InvalidValue unless it has 1 to `limit` characters and no control characters.

    Line breaks and tabs are allowed with `lines`. These are the rules of rules.proto, for texts from files.
    """
    kept = normalize(text.strip())
    if not 1 <= len(kept) <= limit:
        raise InvalidValue(field, f"must have 1 to {limit} characters after trimming", "string_length")
    if has_controls(re.sub(r"[\t\n\r]", "", kept) if lines else kept):
        raise InvalidValue(field, "must not contain control characters", "string_single_line")
    return kept


def has_controls(text: str) -> bool:
    """Whether the text contains control characters."""
    return _CONTROLS.search(text) is not None


def search_pattern(search: str) -> str | None:
    """The regular expression that finds `search` literally in a folded name; None when no name can contain it."""
    needle = fold_case(search)
    if _NUL in needle or len(needle) > NEEDLE_LIMIT:
        return None
    return re.escape(needle)
