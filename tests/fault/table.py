"""Prints the table of docs/faults.md from the records of `counting.record`: python -m tests.fault.table FILE."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEAD = ("Fault", "What was tried", "Tried", "Survived", "Lost", "Figures")
COUNTED = ("fault", "what", "tried", "survived", "lost")


def row(counts: Mapping[str, Any]) -> str:
    figures = ", ".join(
        f"{name.replace('_', ' ')} {shown(value)}" for name, value in counts.items() if name not in COUNTED
    )
    return "| " + " | ".join([*(str(counts[name]) for name in COUNTED), figures]) + " |"


def shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in sorted(value.items()))
    if isinstance(value, list):
        return f"{min(value):g} to {max(value):g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def table(lines: Iterable[str]) -> str:
    """A Markdown table, ordered by the faults' ids; of a test that ran more than once the last run counts."""
    last = {(counts["fault"], counts["what"]): counts for counts in map(json.loads, lines)}
    head = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    return "\n".join([*head, *(row(last[key]) for key in sorted(last))])


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).read_text().splitlines()))
