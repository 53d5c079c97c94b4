"""Names and tags of tests: short texts in a normal form, without control characters."""

import re
import unicodedata

NAME_LIMIT = 200
TAGS_LIMIT = 50
TAG_LIMIT = 100
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# As the rule single_line of rules.proto has it.
_VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]",
    re.UNICODE,
)


class InvalidLabel(ValueError):
    """A text that cannot be what `field` names; `kind` is a short machine word ("too_long")."""

    def __init__(self, field: str, message: str, kind: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.kind = kind


def normalize(text: str) -> str:
    """The text in Unicode normalization form C."""
    return unicodedata.normalize("NFC", text)


def has_controls(text: str) -> bool:
    """Whether the text contains control characters."""
    return _CONTROLS.search(text) is not None


def has_visible(text: str) -> bool:
    """Whether the text has a character that can be seen."""
    return _VISIBLE.search(text) is not None


def clean_text(text: str, field: str, limit: int, *, lines: bool = False) -> str:
    """The trimmed, normalized text. Line breaks and tabs are allowed with `lines`.

    Raises:
        InvalidLabel: unless it has 1 to `limit` characters, one of which can be seen, and no control characters.
    """
    kept = normalize(text.strip())
    if not 1 <= len(kept) <= limit:
        raise InvalidLabel(field, f"must have 1 to {limit} characters after trimming", "string_length")
    if has_controls(re.sub(r"[\t\n\r]", "", kept) if lines else kept):
        raise InvalidLabel(field, "must not contain control characters", "string_single_line")
    if not has_visible(kept):
        raise InvalidLabel(field, "must contain a character that can be seen", "string_visible")
    return kept


def clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The trimmed tags without repetitions, in the order given.

    Raises:
        InvalidLabel: empty, too long or too many.
    """
    for position, tag in enumerate(tags):
        if not 1 <= len(tag.strip()) <= TAG_LIMIT or has_controls(tag.strip()) or not has_visible(tag):
            message = f"a tag must have 1 to {TAG_LIMIT} characters, one that can be seen, and no control characters"
            raise InvalidLabel(f"tags[{position}]", message, "value_error")
    kept = tuple(dict.fromkeys(tag.strip() for tag in tags))
    if len(kept) > TAGS_LIMIT:
        raise InvalidLabel("tags", f"tags must have at most {TAGS_LIMIT} entries", "too_long")
    return kept
