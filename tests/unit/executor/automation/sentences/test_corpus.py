"""Every sentence of the corpus does exactly what it says, or is refused for the right reason."""

import pytest

from services.executor.automation.sentences.grounder import ground_sentence
from tests.unit.executor.automation.sentences.corpus import CORPUS
from tests.unit.executor.automation.sentences.corpus_actions import Row
from tests.unit.executor.automation.sentences.corpus_screen import SCREEN


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: row[0] or "(empty)")
def test_each_sentence_does_what_the_table_says(row: Row) -> None:
    sentence, action, element, value = row
    found = ground_sentence(sentence, SCREEN)
    if not action:
        assert (found.action, found.reason, found.element) == ("none", element, None)
        assert found.message
    else:
        assert (found.action, found.value) == (action, value)
        assert (found.element.id if found.element else "-") == element


def test_the_corpus_has_each_sentence_once() -> None:
    assert len({row[0] for row in CORPUS}) == len(CORPUS)


def test_most_of_the_corpus_is_resolved_and_the_rest_is_refused() -> None:
    """The corpus has its share of sentences that must not be resolved; the figure is what docs report."""
    resolved = sum(1 for row in CORPUS if row[1])
    assert len(CORPUS) >= 250
    assert 0.65 <= resolved / len(CORPUS) <= 0.85
