"""Checks that are made of the texts of every screen: none fails on what is there or passes on what is not."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import TypeVar

import pytest

from mobiletest_automation.screen.elements import CHECKABLE, Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_intent
from mobiletest_automation.sentences.grounding import Grounding
from mobiletest_automation.sentences.intents import Intent, as_typed, text_of
from tests.examples import examples
from tests.unit.automation.sentences.test_real_screens import CORPUS, passes, screen

Found = TypeVar("Found")

FOLDERS = (CORPUS, CORPUS.parent / "screens_dev", CORPUS.parent / "screens_blind")
PAGES = [page for folder in FOLDERS for page in sorted(folder.iterdir()) if page.suffix in (".xml", ".html")]

PRESENT = (
    *('I see "X"', "I see X", "X is visible", "Wait for X to appear", 'There is a "X"', 'The screen contains "X"'),
    *('The "X" text is shown', 'The "X" button is visible', "The X row is visible"),
)
ABSENT = (
    *('I do not see "X"', "I do not see X", "X disappears", "There should be no X", 'Wait until "X" is gone'),
    'There is no "X" button',
)
OPPOSITES = (
    ("X is on", "X is off"),
    ('"X" is checked', '"X" is not checked'),
    ("X is enabled", "X is disabled"),
    ('"X" is clickable', '"X" is greyed out'),
    ('I see "X" in the header', 'I do not see "X" in the header'),
    ('I see "X" in the dialog', 'I do not see "X" in the dialog'),
    ("The X button is visible", "The X button is not visible"),
)
STATES = (("X is on", True), ("X is off", False), ('"X" is enabled', True), ('"X" is disabled', False))
IN_ROW = ('"Y" is visible in the "X" row', 'I see "Y" in the row of "X"', 'The "X" row contains "Y"')
NOT_IN_ROW = ('I do not see "Y" in the "X" row', '"Y" is not shown next to "X"')

# `make properties` asks about more of each screen.
pytestmark = pytest.mark.hypothesis

# Of a screen, spread over it: all take half a minute.
MOST_TEXTS = max(2, examples(160) // 10)


@cache
def outline(page: Path) -> Outline:
    return Outline(screen(page))


def ground(page: Path, sentence: str) -> Grounding | None:
    meaning = parse_sentence(sentence)
    return ground_intent(meaning, outline(page)) if isinstance(meaning, Intent) else None


def answer(page: Path, template: str, name: str, other: str = "") -> bool | None:
    """Whether the check passes; None if it is refused."""
    sentence = re.sub(r"\b[XY]\b", lambda mark: name if mark[0] == "X" else other, template)
    grounding = ground(page, sentence)
    return None if grounding is None else passes(sentence, grounding)


def leaves(page: Path) -> Iterator[Element]:
    return (each for each in outline(page).visible if not each.children and not each.editable and shown(each))


def shown(element: Element) -> str:
    return element.text or element.label


def is_plain(text: str) -> bool:
    return '"' not in text and "\n" not in text and len(text) < 60 and any(map(str.isalnum, text))


def lines(element: Element) -> list[str]:
    """Flutter joins the texts of a control in one label."""
    return shown(element).split("\n")


@cache
def texts(page: Path) -> tuple[str, ...]:
    return spread(dict.fromkeys(line for each in leaves(page) for line in lines(each) if is_plain(line)), MOST_TEXTS)


def spread(values: Iterable[Found], most: int) -> tuple[Found, ...]:
    every = tuple(values)
    return every[:: -(-len(every) // most) or 1]


@cache
def everything(page: Path) -> str:
    said = (text for each in outline(page).visible for text in (each.text, each.label, each.hint, each.id))
    return "".join(filter(str.isalnum, " ".join(said).casefold()))


def absent_texts(page: Path) -> Iterable[str]:
    """Texts of the next screen that are not on this one in any way."""
    following = PAGES[(PAGES.index(page) + 1) % len(PAGES)]
    letters = {text: "".join(filter(str.isalnum, text.casefold())) for text in texts(following)}
    return [text for text in texts(following) if len(letters[text]) > 3 and letters[text] not in everything(page)]


def wrong_answers(
    questions: Callable[[Path], Iterable[tuple[str, ...]]], templates: Iterable[str], wrong: bool
) -> list[tuple[str, ...]]:
    """The screens, names and templates of checks that end as they must not."""
    return [
        (page.name, template, *names)
        for page in PAGES
        for names in questions(page)
        for template in templates
        if answer(page, template, *names) is wrong
    ]


def names_shown(page: Path) -> Iterable[tuple[str]]:
    return ((text,) for text in texts(page))


def test_what_a_screen_shows_is_never_missing() -> None:
    assert wrong_answers(names_shown, PRESENT, wrong=False) == []
    assert wrong_answers(names_shown, ABSENT, wrong=True) == []


def test_what_a_screen_does_not_show_is_never_found() -> None:
    """In quotes: without them, "Profile picture" may describe what has no such text."""

    def names(page: Path) -> Iterable[tuple[str]]:
        return ((text,) for text in absent_texts(page))

    assert wrong_answers(names, [template for template in PRESENT if '"X"' in template], wrong=True) == []
    assert wrong_answers(names, [template for template in ABSENT if '"X"' in template], wrong=False) == []


def test_opposite_checks_are_never_both_right_or_both_wrong() -> None:
    alike = [
        (page.name, one, name)
        for page in PAGES
        for name in texts(page)
        for one, other in OPPOSITES
        if None is not answer(page, one, name) is answer(page, other, name)
    ]
    assert alike == []


def controls(page: Path, checked: bool) -> Iterator[tuple[str]]:
    """The names that only one control has, which is in this state."""
    named = Counter(shown(each) for each in outline(page).visible if shown(each))
    for each in outline(page).visible:
        if each.role in CHECKABLE and each.checked is checked and named[shown(each)] == 1 and is_plain(shown(each)):
            yield (shown(each),)


@pytest.mark.parametrize("checked", [True, False])
def test_a_control_is_in_the_state_that_the_source_says(checked: bool) -> None:
    right = [template for template, state in STATES if state is checked]
    wrong = [template for template, state in STATES if state is not checked]
    assert wrong_answers(lambda page: controls(page, checked), right, wrong=False) == []
    assert wrong_answers(lambda page: controls(page, checked), wrong, wrong=True) == []


def test_a_label_has_one_value_which_is_not_its_neighbours() -> None:
    false = []
    for page, name in [(each, name) for each in PAGES for name in texts(each)]:
        value = ground(page, f'{name} is "no such text"')
        if value is None or value.element is None or not is_plain(text_of(value.element)):
            continue
        own = text_of(value.element)
        others = [] if value.element.children else [text for text in texts(page) if as_typed(text) != as_typed(own)]
        false += [(page.name, name, own)] if answer(page, 'X is "Y"', name, own) is False else []
        false += [(page.name, name, text) for text in others if answer(page, 'X is "Y"', name, text)]
    assert false == []


@cache
def rows(page: Path) -> tuple[tuple[str, ...], ...]:
    """The texts of each row that are on the screen once."""
    named = Counter(line for each in outline(page).visible for line in {each.text, each.label})
    by_row: dict[Element, list[str]] = {}
    for each in leaves(page):
        row = outline(page).row_of(each)
        if row is not None and len(outline(page).rows_around(each)) == 1 and named[shown(each)] == 1:
            by_row.setdefault(row, []).append(shown(each))
    return tuple(tuple(filter(is_plain, row)) for row in by_row.values())


def pairs_in_rows(page: Path) -> Iterable[tuple[str, str]]:
    return spread((pair for row in rows(page) for pair in permutations(row[:6], 2)), examples(100))


def pairs_of_neighbours(page: Path) -> Iterable[tuple[str, str]]:
    neighbours = pairwise(rows(page))
    pairs = ((one, other) for row, following in neighbours for one in row[:1] for other in following[:4])
    return spread(pairs, examples(100))


@pytest.mark.parametrize(("pairs", "shown"), [(pairs_in_rows, True), (pairs_of_neighbours, False)])
def test_a_row_shows_its_own_texts_and_not_those_of_the_next_one(
    pairs: Callable[[Path], Iterable[tuple[str, str]]], shown: bool
) -> None:
    assert wrong_answers(pairs, IN_ROW, wrong=not shown) == []
    assert wrong_answers(pairs, NOT_IN_ROW, wrong=shown) == []
