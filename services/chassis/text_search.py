"""How names are searched: without case, and literally. Stored names are folded, so this is part of what is stored."""

import re
import unicodedata

# Case folding can turn one character into three (U+0390), so no name, which has at most 200, contains a longer text.
NEEDLE_LIMIT = 3 * 200


def fold_case(text: str) -> str:
    """The text in Unicode normal form C and without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def search_pattern(search: str) -> str | None:
    """The regular expression that finds `search` literally in a folded name; None when no name can contain it."""
    needle = fold_case(search)
    if "\x00" in needle or len(needle) > NEEDLE_LIMIT:
        return None
    return re.escape(needle)
