"""Shares the width of a terminal among the columns of a table, so that ids and words stay whole if they can."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from mobiletest_cli.names import is_id

# Longer words may be broken, as those of branches and of classes; ids never, because people copy them.
_WORD = 20
# Between columns: as wide as they are, and when there is little room.
_WIDE_GAP, _GAP = 3, 2


def column_widths(columns: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """The width of each column, given as its texts with the header; None if all texts fit into the width as they are.

    Each has room for its longest word, and what is left goes to those that need least to show their texts in one line.
    If there is no room for all words, the columns with the longest ones lose it.
    """
    natural = [max(map(cell_len, texts)) for texts in columns]
    if sum(natural) + _WIDE_GAP * (len(columns) - 1) <= width:
        return None
    room = width - _GAP * (len(columns) - 1)
    fixed = [any(map(is_id, texts)) for texts in columns]
    widths = [most if kept else _word_width(texts) for texts, most, kept in zip(columns, natural, fixed, strict=True)]
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda index: 0 if fixed[index] else widths[index])
        if fixed[widest] or widths[widest] <= 1:
            return None  # a terminal for which no table can be drawn well
        widths[widest] -= 1
    for index in sorted(range(len(widths)), key=lambda index: natural[index] - widths[index]):
        widths[index] += min(natural[index] - widths[index], room - sum(widths))
    return widths


def _word_width(texts: Sequence[str]) -> int:
    return max(1, *(min(_WORD, cell_len(word)) for text in texts for word in text.split()))
