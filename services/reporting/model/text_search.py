"""How names are searched: as the catalog does it, so that searches with a classification agree."""

import re
import unicodedata

# One character may become three by case folding (U+0390), so a longer needle than this fits in no name of 200.
NEEDLE_LIMIT = 600


def fold_case(text: str) -> str:
    """The text in Unicode normal form C and without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def search_pattern(search: str) -> str | None:
    """The regular expression that finds `search` literally in a folded name; None when no name can contain it."""
    needle = fold_case(search)
    if "\x00" in needle or len(needle) > NEEDLE_LIMIT:
        return None
    return re.escape(needle)
