"""Every sentence of the corpus does exactly what it says, or is refused for the right reason."""

from services.executor.automation.sentences.grounder import ground_sentence
from tests.unit.executor.automation.sentences.corpus import CORPUS
from tests.unit.executor.automation.sentences.corpus_screen import SCREEN


def meaning(sentence: str) -> tuple[str, str, str | None]:
    """The action, the element and the value; of a sentence that is refused, no action and the reason."""
    found = ground_sentence(sentence, SCREEN)
    if found.reason is not None:
        assert (found.action, found.element, bool(found.message)) == ("none", None, True)
        return "", found.reason, None
    return found.action, found.element.id if found.element else "-", found.value


def test_each_sentence_does_what_the_table_says() -> None:
    assert [(row, did) for row in CORPUS if (did := meaning(row[0])) != row[1:]] == []


def test_the_corpus_has_each_sentence_once() -> None:
    assert len({row[0] for row in CORPUS}) == len(CORPUS)


def test_most_of_the_corpus_is_resolved_and_the_rest_is_refused() -> None:
    """The corpus has its share of sentences that must not be resolved; the figure is what docs report."""
    resolved = sum(1 for row in CORPUS if row[1])
    assert len(CORPUS) >= 250
    assert 0.65 <= resolved / len(CORPUS) <= 0.85
