"""Sentences for real screens do exactly what they say, or are refused for the right reason.

The sentences of corpus/*.yaml were written before the rules were tried on them; each file is for one page source.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.executor.automation.screen.elements import Element, walk
from services.executor.automation.screen.page_source.reader import read_source
from services.executor.automation.sentences.grounder import Grounding, ground_sentence

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Entry:
    """`action` "none" comes with a reason; `element` is named as in the corpus, `nth` of those with that name."""

    screen: str
    sentence: str
    action: str
    reason: str | None
    element: str | None
    nth: int
    value: str | None


def _entry(screen: str, row: dict[str, Any]) -> Entry:
    assert row.keys() <= {"say", "do", "why", "is", "nth", "value"}, row
    return Entry(
        screen, row["say"], row.get("do", "none"), row.get("why"), row.get("is"), row.get("nth", 0), row.get("value")
    )


def _entries() -> list[Entry]:
    files = [yaml.safe_load(path.read_text()) for path in sorted(CORPUS.glob("*.yaml"))]
    return [_entry(file["screen"], row) for file in files for row in file["sentences"]]


ENTRIES = _entries()


@cache
def screen(name: str) -> Element:
    return read_source((CORPUS / name).read_text())


def is_called(element: Element, name: str) -> bool:
    return name in (element.id, element.id.rsplit("/", 1)[-1], element.text, element.label)


def is_meant(entry: Entry, element: Element | None) -> bool:
    if entry.element is None:
        return True
    if element is None or not is_called(element, entry.element):
        return False
    alike = [
        each for each in walk(screen(entry.screen)) if is_called(each, entry.element) and each.role is element.role
    ]
    return alike[entry.nth - 1 if entry.nth else 0] is element


def did(entry: Entry) -> Grounding:
    return ground_sentence(entry.sentence, screen(entry.screen))


def is_right(entry: Entry, found: Grounding) -> bool:
    if found.action != entry.action or found.reason != entry.reason:
        return False
    return is_meant(entry, found.element) and entry.value in (None, found.value)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.screen}: {entry.sentence}")
def test_each_sentence_does_what_the_corpus_says(entry: Entry) -> None:
    found = did(entry)
    described = found.element.describe() if found.element else None
    assert is_right(entry, found), (found.action, described, found.value, found.reason, found.message)
    assert found.reason is None or found.message


def test_clear_sentences_are_resolved_and_no_action_is_wrong() -> None:
    """The figures that are reported; the corpus has its share of sentences that must be refused."""
    counts = Counter(
        (
            "clear" if entry.reason is None else "open",
            "acted" if found.reason is None else "refused",
            is_right(entry, found),
        )
        for entry in ENTRIES
        for found in [did(entry)]
    )
    clear = sum(count for (kind, _, _), count in counts.items() if kind == "clear")
    open_ = sum(count for (kind, _, _), count in counts.items() if kind == "open")
    wrong = sum(count for (_, done, right), count in counts.items() if done == "acted" and not right)
    print(f"{len(ENTRIES)} sentences: {counts['clear', 'acted', True]} of {clear} clear ones resolved,", end=" ")
    print(f"{counts['open', 'refused', True]} of {open_} open ones refused, {wrong} wrong actions")
    assert clear >= 250
    assert open_ >= 40
    assert wrong == 0
    assert counts["clear", "acted", True] == clear


def test_the_corpus_has_each_sentence_once_for_a_screen() -> None:
    twice = [said for said, count in Counter((entry.screen, entry.sentence) for entry in ENTRIES).items() if count > 1]
    assert twice == []
