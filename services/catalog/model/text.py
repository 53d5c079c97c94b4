"""Text as people type it: normalised once, compared without regard to case."""

import re
import unicodedata

from services.catalog.model.refusals import Refused

NAME_LIMIT = 200
VERSION_LIMIT = 200
# One character may become three by case folding (U+0390), so a longer needle than this fits in no name.
NEEDLE_LIMIT = 3 * NAME_LIMIT
_NUL = "\x00"


def normalised(text: str) -> str:
    """The text in Unicode normal form C: the same letters are the same code points."""
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """The text as it is searched: normalised and without case."""
    return normalised(normalised(text).casefold())


def checked_name(name: str, field: str = "name") -> str:
    """The trimmed, normalised name; refused unless it has 1 to 200 characters and no NUL."""
    return checked_text(name, field, NAME_LIMIT)


def checked_version(version: str, field: str = "version") -> str:
    """The trimmed, normalised version string; refused unless it has 1 to 200 characters and no NUL."""
    return checked_text(version, field, VERSION_LIMIT)


def checked_text(text: str, field: str, limit: int) -> str:
    """The trimmed, normalised text; refused unless it has 1 to `limit` characters and no NUL."""
    kept = normalised(text.strip())
    if not 1 <= len(kept) <= limit:
        raise Refused(field, f"must have 1 to {limit} characters after trimming", "string_length")
    if _NUL in kept:
        raise Refused(field, "must not contain a NUL character")
    return kept


def search_pattern(search: str) -> str | None:
    """The regular expression that finds `search` literally in a folded name; None when no name can contain it."""
    needle = folded(search)
    if _NUL in needle or len(needle) > NEEDLE_LIMIT:
        return None
    return re.escape(needle)
