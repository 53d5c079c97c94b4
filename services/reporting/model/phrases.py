"""Counts, names and times in sentences."""

from collections.abc import Sequence
from datetime import UTC, datetime

NAMES_SHOWN = 3


def plural(count: int, one: str, many: str | None = None) -> str:
    """ "1 run", "2 runs"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def utc_minute(moment: datetime) -> str:
    """A UTC minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def quote_names(names: Sequence[str]) -> str:
    """The first names in quotation marks, and the number of the others."""
    first = [f'"{name}"' for name in names[:NAMES_SHOWN]]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def join_phrases(parts: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)
